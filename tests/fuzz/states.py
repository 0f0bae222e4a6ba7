"""Objects with a state: what makes one, what its state is, and what takes a state over."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    Sequence,
    Text,
    Tuple,
)

from tests.fuzz.samples import GOLDEN, running

OBS, ACT = Box(-1.0, 1.0, (3,), np.float32), Discrete(2)


@dataclass(frozen=True)
class Stateful:
    """Something that takes a state over.

    Attributes:
        state: The state, as it should be.
        take: Takes one over.
    """

    state: Any
    take: Any


def _of(made):
    return Stateful(made.get_state(), made.set_state)


def _pieces():
    from rlconnect import v2

    obs = Box(-1.0, 1.0, (3,), np.float32)
    stacked = v2.FrameStackingEnvToModule(Box(-1.0, 1.0, (3, 1), np.float32), ACT, num_frames=2)
    found = {"MeanStdFilter": v2.MeanStdFilter(obs, ACT), "FrameStacking": stacked}
    found["pipeline"] = v2.EnvToModulePipeline(
        obs, ACT, connectors=[v2.MeanStdFilter(), v2.NumpyToTensor()]
    )
    return found


def _v2_connectors():
    pieces = _pieces()
    return {f"v2 piece {name}": (lambda p=piece: _of(p)) for name, piece in pieces.items()}


@cache
def _run():
    algo = running().build_algo()
    algo.train()
    return algo


def _algorithm():
    return Stateful(_run().get_state(), lambda state: running().build_algo().set_state(state))


def _part(name):
    def make():
        part = dict(_run().get_checkpointable_components())[name]
        return Stateful(part.get_state(), part.set_state)

    return make


def _learner():
    return _of(_run().learner_group._learner)


def _module():
    from rlconnect.v2 import RLModule

    module = RLModule.from_checkpoint(GOLDEN / "recordings/new/2.60.0-ppo_module")
    return _of(module)


def _metrics():
    from rlconnect.v2.metrics.metrics_logger import MetricsLogger

    made = MetricsLogger(root=True)
    for kind in ("mean", "ema", "min", "max", "sum", "lifetime_sum", "item", "item_series"):
        for value in (1.0, 2.5):
            made.log_value(("a", kind), value, reduce=kind)
    made.log_value("w", 1.0, reduce="mean", window=4)
    made.log_value("p", 1.0, reduce="percentiles", window=4)
    made.peek()
    return Stateful(made.get_state(), lambda state: _used_metrics(state))


def _used_metrics(state):
    from rlconnect.v2.metrics.metrics_logger import MetricsLogger

    made = MetricsLogger(root=True)
    made.set_state(state)
    made.peek()
    made.reduce()
    return made


def _episode():
    from rlconnect.v2 import SingleAgentEpisode

    made = SingleAgentEpisode(observation_space=OBS, action_space=ACT)
    made.add_env_reset(np.zeros(3, np.float32))
    for step in range(3):
        made.add_env_step(np.full(3, step, np.float32), 1, 1.0)
    return Stateful(made.get_state(), SingleAgentEpisode.from_state)


def _multi_agent_episode():
    from rlconnect.v2 import MultiAgentEpisode

    made = MultiAgentEpisode()
    made.add_env_reset(observations={"a": 0, "b": 1})
    made.add_env_step({"a": 1}, {"a": 0, "b": 1}, {"a": 1.0, "b": 0.0})
    return Stateful(made.get_state(), MultiAgentEpisode.from_state)


def _buffer():
    from rlconnect.v2.episodes.lookback_buffer import InfiniteLookbackBuffer

    made = InfiniteLookbackBuffer([1, 2, 3], lookback=1)
    return Stateful(made.get_state(), InfiniteLookbackBuffer.from_state)


def _config():
    from rlconnect.v2.config.algorithm_config import AlgorithmConfig

    return Stateful(running().get_state(), AlgorithmConfig.from_state)


def _policies():
    names = {
        "lstm": "recordings/legacy/2.7.2/ppo_lstm_prev/algo_checkpoint",
        "filter": "recordings/legacy/2.7.2/ppo_pendulum_norm_meanstd/algo_checkpoint",
        "adapted": "recordings/legacy/2.10.0/ppo_adapt_cartpole/algo_checkpoint",
        "dqn": "recordings/legacy/2.7.2/dqn_c51/algo_checkpoint",
        "complex": "recordings/legacy/2.7.2/ppo_dict_obs_complex/algo_checkpoint",
    }
    found = {}
    for name, path in names.items():
        found[f"policy {name} from_state"] = lambda p=path: _policy_state(p, made_anew=True)
        found[f"policy {name} set_state"] = lambda p=path: _policy_state(p, made_anew=False)
        found[f"policy {name} set_weights"] = lambda p=path: _policy_weights(p)
        found[f"policy {name} connectors"] = lambda p=path: _policy_connectors(p)
    return found


@cache
def _policy(path):
    from rlconnect.bridge.loading.natives import natives_in

    return next(iter(natives_in(GOLDEN / path).policies.values()))


def _policy_state(path, made_anew):
    from rlconnect.legacy.policy.policy import Policy

    policy = _policy(path)
    return Stateful(policy.get_state(), Policy.from_state if made_anew else policy.set_state)


def _policy_weights(path):
    policy = _policy(path)
    return Stateful(policy.get_weights(), policy.set_weights)


def _policy_connectors(path):
    policy = _policy(path)
    return Stateful(
        {"connector_configs": policy.get_state()["connector_configs"]}, policy.restore_connectors
    )


def _exploration(path):
    def make():
        exploration = _policy(path).exploration
        return Stateful(exploration.get_state(), exploration.set_state)

    return make


def _old_filter():
    from rlconnect.legacy.observations.filters import MeanStdFilter

    made = MeanStdFilter((3,))
    made(np.ones(3))
    return Stateful(made.to_state(), made.set_state)


def _running_stat():
    from rlconnect.core.formulas.running_stat import RunningStat

    made = RunningStat((3,))
    made.push(np.ones(3))
    return Stateful(made.to_state("v2"), RunningStat.from_state)


def _actor():
    from rlconnect.bridge.actor.actor import Actor

    made = Actor.from_policy(_policy("recordings/legacy/2.7.2/ppo_lstm_prev/algo_checkpoint"))
    space = made.observation_space
    made.act(np.stack([space.sample(), space.sample()]))
    return Stateful(made.state_dict(), made.load_state_dict)


def _random():
    from rlconnect.v2.algorithms.random_states import random_state_of, set_random_state

    return Stateful(random_state_of(None), lambda state: set_random_state(None, state))


def _plain():
    from rlconnect.core.data.plain_data import from_data, to_data

    value = {"a": [1, 2.5, (3, None)], "b": np.arange(3), 4: {5, 6}, "n": 2**80}
    return Stateful(to_data(value), lambda data: from_data(data, "sample"))


SPACES = Dict(
    {
        "box": Box(-1.0, np.array([1.0, 2.0], np.float32)),
        "choice": Tuple([Discrete(3, start=1), MultiDiscrete([2, 3]), MultiBinary(2)]),
        "text": Text(5, charset="abc"),
        "many": Sequence(Discrete(2)),
        "graph": Graph(Box(0, 1, (2,)), Discrete(2)),
        # gymnasium 0.29 has no such space
        **(
            {"one": spaces.OneOf([Discrete(2), Box(0, 1, (1,))])}
            if hasattr(spaces, "OneOf")
            else {}
        ),
    }
)

RAY_SPACES = Dict({key: SPACES[key] for key in ("box", "choice", "text")})


def _space(name):
    def make():
        from rlconnect.core.spaces import own_layout, ray_layouts

        writers = {
            "data": (own_layout.space_to_data, own_layout.space_from_data),
            "ray": (ray_layouts.space_to_dict, ray_layouts.space_from_dict),
            "gym": (ray_layouts.gym_space_to_dict, ray_layouts.gym_space_from_dict),
        }
        write, read = writers[name]
        return Stateful(write(SPACES if name == "data" else RAY_SPACES), read)

    return make


def all_states():
    """Makers of everything that takes a state, by name."""
    return {
        **_v2_connectors(),
        "algorithm": _algorithm,
        "env runner": _part("env_runner"),
        "learner group": _part("learner_group"),
        "learner": _learner,
        "module": _module,
        "metrics": _metrics,
        "episode": _episode,
        "multi-agent episode": _multi_agent_episode,
        "lookback buffer": _buffer,
        "config": _config,
        **_policies(),
        "exploration dqn": _exploration("recordings/legacy/2.7.2/dqn_c51/algo_checkpoint"),
        "exploration td3": _exploration("recordings/legacy/2.7.2/td3/algo_checkpoint"),
        "old filter": _old_filter,
        "running stat": _running_stat,
        "actor": _actor,
        "random": _random,
        "plain data": _plain,
        **{f"space {name}": _space(name) for name in ("data", "ray", "gym")},
    }
