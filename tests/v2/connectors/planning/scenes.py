"""Episodes and modules for planned execution, and what "the same" means."""

import copy

import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.v2 import (
    MultiAgentEpisode,
    MultiRLModule,
    RLModule,
    RLModuleSpec,
    SingleAgentEpisode,
    TorchCategorical,
    TorchDiagGaussian,
)

OBS = Box(-100.0, 100.0, (3,), np.float32)
CHOICE = Discrete(3)
REACH = Box(-2.0, 4.0, (2,), np.float32)


class Module(RLModule):
    """A module whose outputs tests make up; its settings say whether it has a state."""

    def is_stateful(self):
        return bool(self.model_config.get("has_state"))

    def get_initial_state(self):
        return {"h": np.zeros(4, np.float32), "c": np.ones(4, np.float32)}

    def get_inference_action_dist_cls(self):
        return TorchCategorical if isinstance(self.action_space, Discrete) else TorchDiagGaussian

    get_exploration_action_dist_cls = get_inference_action_dist_cls


def module(has_state=False, action_space=CHOICE):
    return Module(
        observation_space=OBS, action_space=action_space, model_config={"has_state": has_state}
    )


def modules(with_state=(), action_space=CHOICE):
    """Modules p0 and p1; those of the given ids have a state."""
    return MultiRLModule(
        rl_module_specs={
            name: RLModuleSpec(
                module_class=Module,
                observation_space=OBS,
                action_space=action_space,
                model_config={"has_state": name in with_state},
            )
            for name in ("p0", "p1")
        }
    )


def _outputs(rng, has_state):
    state = {"h": rng.random(4, np.float32), "c": rng.random(4, np.float32)}
    return {"action_logp": np.float32(rng.random()), **({"state_out": state} if has_state else {})}


def single(number, steps, has_state=False, action_space=CHOICE, is_cut=False):
    """A running episode; a cut one goes on from a look-back."""
    rng = np.random.default_rng(number)
    made = SingleAgentEpisode(id_=f"e{number}", observation_space=OBS, action_space=action_space)
    made.add_env_reset(observation=rng.random(3, np.float32))
    for _ in range(steps):
        made.add_env_step(
            observation=rng.random(3, np.float32),
            action=rng.integers(3) if action_space is CHOICE else rng.random(2, np.float32),
            reward=float(rng.random()),
            extra_model_outputs=_outputs(rng, has_state),
        )
    return made.cut(len_lookback_buffer=2) if is_cut else made


def several(number, steps, has_state=False, action_space=CHOICE, done=(), agents=4):
    """A running episode of agents a0, a1, ...; module p0 or p1 by the parity of their number."""
    rng = np.random.default_rng(number)
    names = [f"a{place}" for place in range(agents)]
    made = MultiAgentEpisode(
        id_=f"m{number}",
        observation_space=Dict(dict.fromkeys(names, OBS)),
        action_space=Dict(dict.fromkeys(names, action_space)),
        agent_to_module_mapping_fn=lambda agent, episode: f"p{int(agent[1:]) % 2}",
    )
    made.add_env_reset(observations={name: rng.random(3, np.float32) for name in names})
    for step in range(steps):
        is_last = step == steps - 1
        made.add_env_step(
            observations={name: rng.random(3, np.float32) for name in names},
            actions={name: rng.integers(3) for name in names},
            rewards=dict.fromkeys(names, 1.0),
            terminateds=dict.fromkeys(done, True) if is_last else None,
            extra_model_outputs={name: _outputs(rng, has_state) for name in names},
        )
    return made


def go_on(episode, last, has_state):
    """A step or two more of an episode of agents a0, a1, a2, by what happened last."""
    rng = np.random.default_rng(9)

    def step(*seen, **ends):
        episode.add_env_step(
            observations={name: rng.random(3, np.float32) for name in seen},
            actions={name: rng.integers(3) for name in episode.get_agents_to_act()},
            rewards=dict.fromkeys(episode.get_agents_to_act(), 1.0),
            extra_model_outputs={
                name: _outputs(rng, has_state) for name in episode.get_agents_to_act()
            },
            **ends,
        )

    if last == "done":
        step("a0", "a1", "a2", terminateds={"a0": True})
        step("a1", "a2")
    elif last == "shown":
        assert episode.agent_episodes
        step("a0", "a1", "a2")
    elif last == "hangs":
        step("a1", "a2")
    elif last == "read":
        episode.get_rewards()
        step("a0", "a1", "a2")


def one_by_one(pipeline, **given):
    """What the pieces do, each called by itself."""
    batch = given.pop("batch")
    for piece in pipeline.connectors:
        batch = piece(batch=batch, data=batch, metrics=None, **given)
    return batch


def outcome(call):
    """What a call returns, or the error it raises."""
    try:
        return call()
    except Exception as error:  # whatever it is: both ways must raise the same
        return type(error), str(error)


def both(pipeline, batch, episodes, rl_module, explore=True, shared=None):
    """Run a pipeline planned and piece by piece, on copies of everything.

    Returns:
        For each way the outcome, whether it is the batch that was given, notes and episodes.
    """
    found = []
    for run in (lambda own, **given: own(**given), one_by_one):
        own, given, mine, notes = copy.deepcopy((pipeline, batch, episodes, shared or {}))
        torch.manual_seed(0)
        made = outcome(
            lambda run=run, own=own, given=given, mine=mine, notes=notes: run(
                own,
                batch=given,
                episodes=mine,
                rl_module=rl_module,
                explore=explore,
                shared_data=notes,
            )
        )
        is_error = isinstance(made, tuple)
        states = [episode.get_state() for episode in mine]
        drawn = torch.rand(())
        found.append((made, made is given, None if is_error else notes, states, drawn))
    return found


def is_same(one, other):
    """Equal in every respect: types, orders of keys, dtypes, values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, np.ndarray):
        is_alike = one.dtype == other.dtype and one.shape == other.shape
        return is_alike and np.array_equal(one, other)
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return bool(one == other)
