"""A trainer config gives the exploration Ray builds from it, with Ray's schedule values."""

import json
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.errors import ConfigError, UnknownNameError
from rlconnect.legacy.distributions.families import Categorical, Deterministic
from rlconnect.legacy.exploration.config import exploration_for
from rlconnect.legacy.exploration.exploration import ArraySource, EpsilonGreedy
from rlconnect.legacy.exploration.noise import (
    GaussianNoise,
    OrnsteinUhlenbeckNoise,
    PerWorkerOrnsteinUhlenbeckNoise,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "exploration" / "schedules.json"
RECORDED = json.loads(GOLDEN.read_text(encoding="utf-8"))
BOX = Box(np.float32([-2, 0]), np.float32([3, 1]))


@pytest.mark.parametrize("row", RECORDED["rows"], ids=lambda row: row["type"])
def test_schedules_have_rays_values(row):
    """Epsilon or noise scale is Ray's at every recorded timestep, and is in the saved state."""
    space = Discrete(3) if row["space"] == "discrete" else BOX
    config = {
        "exploration_config": {"type": row["type"], **row["config"]},
        "num_workers": row["num_workers"],
        "worker_index": row["worker_index"],
    }
    exploration = exploration_for(space, config)
    dist = Categorical(3) if row["space"] == "discrete" else Deterministic(2)
    rng = np.random.default_rng(0)
    values = []

    for step in RECORDED["steps"]:
        source = ArraySource(dist, np.zeros((2, dist.size), np.float32), rng)
        exploration.choose(source, explore=True, timestep=step, rng=rng)
        values.append(next(iter(exploration.get_state().values())))

    np.testing.assert_allclose(values, row["values"], rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "space", "built"),
    [
        ("EpsilonGreedy", Discrete(2), EpsilonGreedy),
        ("ray.rllib.utils.exploration.epsilon_greedy.EpsilonGreedy", Discrete(2), EpsilonGreedy),
        (EpsilonGreedy, Discrete(2), EpsilonGreedy),
        ("GaussianNoise", BOX, GaussianNoise),
        ("PerWorkerOrnsteinUhlenbeckNoise", BOX, PerWorkerOrnsteinUhlenbeckNoise),
    ],
)
def test_types_are_recognised_as_name_path_or_class(kind, space, built):
    """`type` may be a class name, a dotted path or the class itself."""
    assert type(exploration_for(space, {"exploration_config": {"type": kind}})) is built


def test_nothing_said_means_sampling():
    """Without an exploration config a policy samples from its distribution."""
    for config in (None, {}, {"exploration_config": {}}):
        assert type(exploration_for(Discrete(2), config)).__name__ == "StochasticSampling"


def test_wrappers_act_through_their_sub_exploration():
    """Curiosity and ParameterNoise explore as what they wrap; the noise's size is kept."""
    sub = {"type": "SoftQ", "temperature": 4.0}
    curious = exploration_for(
        Discrete(2), {"exploration_config": {"type": "Curiosity", "sub_exploration": sub}}
    )
    noisy = exploration_for(
        Discrete(2),
        {"exploration_config": {"type": "ParameterNoise", "sub_exploration": sub}},
        {"cur_stddev": 0.25},
    )

    assert curious.prepare(np.float32([2.0])) == 0.5
    assert noisy.prepare(np.float32([2.0])) == 0.5
    assert noisy.get_state() == {"cur_stddev": 0.25}


def test_parameter_noise_brings_a_sub_exploration_for_its_space():
    """Without one named it is epsilon-greedy for choices, wandering noise for a Box."""
    config = {"exploration_config": {"type": "ParameterNoise", "random_timesteps": 10}}

    assert exploration_for(Discrete(2), config).sub.epsilon_schedule.value(12) == 0.01
    assert isinstance(exploration_for(BOX, config).sub, OrnsteinUhlenbeckNoise)
    with pytest.raises(ConfigError, match="sub_exploration"):
        exploration_for(Dict(a=BOX), config)


def test_saved_state_is_gone_on_from():
    """The last timestep and the wandering state come from the checkpoint."""
    state = {"cur_scale": 0.02, "last_timestep": np.int64(7), "ou_state": np.float32([0.5, -1.0])}
    config = {"exploration_config": {"type": "OrnsteinUhlenbeckNoise"}}

    exploration = exploration_for(BOX, config, state)

    assert exploration.last_timestep == 7
    np.testing.assert_array_equal(exploration.ou_state, state["ou_state"])


def test_unknown_kinds_are_named():
    """A type nobody knows is an error with the nearest name."""
    with pytest.raises(UnknownNameError, match="EpsilonGreedy"):
        exploration_for(Discrete(2), {"exploration_config": {"type": "EpsilonGredy"}})


class Calm(EpsilonGreedy):
    """A user's own: never explores."""

    def choose(self, source, **how):
        return super().choose(source, **{**how, "explore": False})


def test_a_class_of_ones_own_is_built_with_its_settings():
    """Settings of its kind arrive, left-overs of another kind do not."""
    config = {"exploration_config": {"type": Calm, "initial_epsilon": 0.5, "stddev": 1.0}}

    exploration = exploration_for(Discrete(2), config)

    assert type(exploration) is Calm
    assert exploration.cur_epsilon == 0.5


def test_a_class_that_policies_would_not_ask_is_refused():
    """Overriding Ray's torch-only hook would change nothing here, so it is not passed over."""
    mine = type("Mine", (EpsilonGreedy,), {"get_exploration_action": lambda self, **how: None})

    with pytest.raises(ConfigError, match="Mine overrides get_exploration_action"):
        exploration_for(Discrete(2), {"exploration_config": {"type": mine}})


def test_an_absent_class_acts_while_nothing_is_explored():
    """A class of the author's own stays a name: the best action is there, exploring is refused."""
    absent = exploration_for(
        Discrete(2), {"exploration_config": {"type": "theirs.noise.Wild", "depth": 3}}
    )
    rng = np.random.default_rng(0)
    source = ArraySource(Categorical(2), np.float32([[0.0, 1.0]]), rng)

    actions, _ = absent.choose(source, explore=False, timestep=None, rng=rng)

    assert actions.tolist() == [1]
    with pytest.raises(UnknownNameError, match=r"(?s)theirs\.noise\.Wild.*explore=False"):
        absent.choose(source, explore=True, timestep=None, rng=rng)
