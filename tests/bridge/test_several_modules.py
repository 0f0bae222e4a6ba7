"""Modules of several agents whose mapping was code: what acts, and what asks for a mapping."""

import numpy as np
import pytest
import rlconnect
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.bridge import Actor
from rlconnect.core.errors import UnknownNameError
from rlconnect.v2 import PPOConfig, RLModuleSpec
from rlconnect.v2.connectors.common.agent_to_module_mapping import AgentMapping, LostMapping
from rlconnect.v2.connectors.env_to_module.env_to_module_pipeline import env_to_module_pipeline
from rlconnect.v2.connectors.env_to_module.mean_std_filter import MeanStdFilter
from rlconnect.v2.connectors.module_to_env.module_to_env_pipeline import module_to_env_pipeline
from rlconnect.v2.modules.multi_spec import MultiRLModuleSpec

BOX, TWO = Box(-1, 1, (4,), np.float32), Discrete(2)
AGENTS = ("a0", "a1")


def checkpoint(folder, names, mapping, *, filtered=False):
    """An env runner's parts as a training run with that mapping leaves them."""
    spaces = Dict(dict.fromkeys(AGENTS, BOX)), Dict(dict.fromkeys(AGENTS, TWO))
    spec = PPOConfig().get_default_rl_module_spec()
    specs = {
        name: RLModuleSpec(spec.module_class, BOX, TWO, catalog_class=spec.catalog_class)
        for name in names
    }
    module = MultiRLModuleSpec(rl_module_specs=specs).build()
    custom = [MeanStdFilter(multi_agent=True)] if filtered else []
    agents = AgentMapping(specs, mapping)
    parts = {
        "env_to_module_connector": env_to_module_pipeline(*spaces, custom=custom, agents=agents),
        "rl_module": module,
        "module_to_env_connector": module_to_env_pipeline(*spaces, is_multi_agent=True),
    }
    for name, part in parts.items():
        part.save_to_path(folder / name)
    return module


def which(agent_id, episode=None, **kwargs):
    """A mapping that nobody can load."""
    return "even" if agent_id == "a0" else "odd"


def seen(rng):
    return {agent: rng.uniform(-1, 1, 4).astype(np.float32) for agent in AGENTS}


def test_one_module_needs_no_mapping(tmp_path, rng):
    """Whoever plays, it plays."""
    checkpoint(tmp_path, ["shared"], lambda *args, **kwargs: "shared")

    actions = rlconnect.load(tmp_path).act(seen(rng))

    assert set(actions) == set(AGENTS)


@pytest.mark.parametrize("mapping", [{"a0": "even", "a1": "odd"}, which], ids=["dict", "function"])
@pytest.mark.parametrize("filtered", [False, True])
def test_a_mapping_is_given(tmp_path, rng, mapping, filtered):
    """A dict or a function says who plays whom; pieces by agent are told too."""
    checkpoint(tmp_path, ["even", "odd"], which, filtered=filtered)

    loaded = rlconnect.load(tmp_path, policy_mapping_fn=mapping)
    obs = seen(rng)
    actions = loaded.act(obs)

    assert {agent: int(loaded[which(agent)].act(obs[agent])) for agent in AGENTS} == {
        agent: int(action) for agent, action in actions.items()
    }
    assert Actor.from_checkpoint(tmp_path, policy_mapping_fn=mapping).act(obs) == actions


def test_without_one_the_error_says_how_to_give_it(tmp_path, rng):
    """It loads; who asks which module plays an agent is told what to pass."""
    checkpoint(tmp_path, ["even", "odd"], which)

    loaded = rlconnect.load(tmp_path)

    assert loaded["odd"].act(np.zeros(4, np.float32)) in TWO
    with pytest.raises(UnknownNameError, match="policy_mapping_fn"):
        loaded.act(seen(rng))
    with pytest.raises(UnknownNameError, match="policy_mapping_fn"):
        LostMapping("__main__.<lambda>")("a0")


def test_modules_with_the_names_of_agents_need_none(tmp_path, rng):
    """Then each agent is played by its own."""
    checkpoint(tmp_path, AGENTS, lambda agent_id, *args, **kwargs: agent_id, filtered=True)

    assert set(rlconnect.load(tmp_path).act(seen(rng))) == set(AGENTS)


def test_what_an_actor_of_several_saved_opens_as_one(tmp_path):
    """open_checkpoint() shows its players by their ids, and so does whoever loads one."""
    checkpoint(tmp_path / "runner", ["even", "odd"], which)
    loaded = rlconnect.load(tmp_path / "runner", policy_mapping_fn=which)

    loaded.save(tmp_path / "saved")
    loaded["odd"].save(tmp_path / "one")

    assert list(rlconnect.open_checkpoint(tmp_path / "saved").modules) == ["even", "odd"]
    assert list(rlconnect.load(tmp_path / "saved")) == ["even", "odd"]
    assert list(rlconnect.load(tmp_path / "one")) == ["odd"]
