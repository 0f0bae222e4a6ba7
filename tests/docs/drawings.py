"""Pipelines as boxes, drawn from the lists that the library builds them by."""

import re

import numpy as np
from gymnasium.spaces import Box, Discrete
from rlconnect.adapters import AdapterChain, DropFeatures, ExtendAction
from rlconnect.core.adapters.drawing import drawn as drawn_adapter
from rlconnect.core.pages.document import inside
from rlconnect.legacy import (
    ConnectorContext,
    Policy,
    get_action_connectors_from_config,
    get_agent_connectors_from_config,
)
from rlconnect.v2 import PPOConfig
from rlconnect.v2.connectors.env_to_module import env_to_module_pipeline as env_to_module
from rlconnect.v2.connectors.learner import learner_connector_pipeline as learner
from rlconnect.v2.connectors.module_to_env import module_to_env_pipeline as module_to_env

from .reference import first_sentence

PLACE = re.compile(r"<!-- drawing: (\w+) -->")
FOR_SEVERAL = {"AgentToModuleMapping", "ModuleToAgentUnmapping"}


def drawn(text):
    """A page with its drawings in their places."""
    return PLACE.sub(lambda found: DRAWINGS[found[1]](), text)


def boxes(pieces, links, begins, ends, phases=None):
    """A pipeline as a list of boxes.

    Args:
        pieces: Classes; None stands where the user's own come.
        links: The page of the reference that each is on.
        begins: What comes in.
        ends: What goes out.
        phases: What the batch is behind each.
    """
    rows = [f'<li class="end">{begins}</li>']
    for number, piece in enumerate(pieces):
        if piece is None:
            rows.append('<li class="yours">your own pieces</li>')
            continue
        name = piece.__name__
        only = " <small>several agents only</small>" if name in FOR_SEVERAL else ""
        phase = f"<br><code>{phases[number]}</code>" if phases else ""
        what = re.sub("`(.+?)`", r"<code>\1</code>", first_sentence(piece))
        rows.append(f'<li><a href="{links[name]}"><b>{name}</b></a>{only}<br>{what}{phase}</li>')
    rows.append(f'<li class="end">{ends}</li>')
    return '<ol class="pipeline">' + "".join(rows) + "</ol>"


def _links(front):
    from .reference import served

    return {each.name: "../../" + each.link.replace(".md", "/") for each in served(front)}


def legacy_agent():
    policy = Policy(Box(-1, 1, (3,)), Box(-1, 1, (1,)), {"seed": 0})
    config = {"clip_rewards": True, "observation_filter": "MeanStdFilter"}
    found = get_agent_connectors_from_config(ConnectorContext.from_policy(policy), config)
    return boxes(
        map(type, found.connectors), _links("legacy"), "an environment's observation", "the network"
    )


def legacy_action():
    policy = Policy(Box(-1, 1, (3,)), Box(-1, 1, (1,)), {"seed": 0})
    context = ConnectorContext.from_policy(policy)
    found = get_action_connectors_from_config(context, {"clip_actions": True})
    kinds = map(type, found.connectors)
    return boxes(kinds, _links("legacy"), "the network's action", "the environment")


def before_module():
    return boxes([None, *env_to_module.ORDER], _links("v2"), "episodes", "the module's batch")


def behind_module():
    pieces = [*module_to_env.BEFORE, None, *module_to_env.AFTER]
    return boxes(pieces, _links("v2"), "the module's outputs", "the environment")


def learning():
    """PPO's learner pipeline, with what its batch is behind each piece."""
    config = PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
    algorithm = config.debugging(seed=0).build_algo()
    own = algorithm.learner_group._learner
    call = {
        "rl_module": own.module,
        "episodes": algorithm.env_runner.sample(num_episodes=2),
        "explore": None,
        "shared_data": {},
    }
    batch, phases, pieces = {}, [], own._learner_connector.connectors
    for piece in pieces:
        batch = piece(batch=batch, **call)
        phases.append(phase_of(batch))
    algorithm.stop()
    kinds = [type(piece) for piece in pieces]
    assert [kind for kind in kinds if kind in learner.ORDER] == [
        kind for kind in learner.ORDER if kind.__name__ not in FOR_SEVERAL
    ]
    return boxes(kinds, _links("v2"), "sampled episodes", "the train batch", phases)


def phase_of(batch):
    """What a batch looks like, in a line."""
    if not batch:
        return "empty"
    name, value = next(iter(batch.items()))
    if isinstance(value, dict) and name == "default_policy":
        column, array = next((each for each in value.items() if each[0] == "obs"), None) or next(
            iter(value.items())
        )
        return f"{{module: {{{column}: {type(array).__name__} {tuple(array.shape)}, ...}}}}"
    name, value = ("obs", batch["obs"]) if "obs" in batch else (name, value)
    if isinstance(value, dict):
        return f"{{{name}: {{episode: {len(next(iter(value.values())))} items, ...}}, ...}}"
    return f"{{{name}: {type(value).__name__}, ...}}"


def adapting():
    """What the commands of the page do in a CartPole with two features and an action more."""
    chain = AdapterChain(obs=[DropFeatures([4, 5])], action=[ExtendAction([0])])
    wide = Box(-np.inf, np.inf, (6,), np.float32)
    return inside(drawn_adapter(chain.bind(wide, Discrete(2))))


DRAWINGS = {
    "adapting": adapting,
    "legacy_agent": legacy_agent,
    "legacy_action": legacy_action,
    "env_to_module": before_module,
    "module_to_env": behind_module,
    "learner": learning,
}
