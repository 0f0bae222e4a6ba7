"""Runners in the middle of their episodes, as data."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import CorruptCheckpointError, RlconnectError
from rlconnect.v2 import PPOConfig, SingleAgentEnvRunner
from rlconnect.v2.env_runners.paused import go_on, paused

from tests.core.damaged_data import damaged


def _runner() -> Any:
    config = PPOConfig().environment("CartPole-v1").rl_module(model_config={"fcnet_hiddens": [4]})
    return SingleAgentEnvRunner(config=config.env_runners(num_envs_per_env_runner=2))


@pytest.fixture(scope="module")
def runner() -> Any:
    """One that has sampled."""
    made = _runner()
    made.sample(num_timesteps=6)
    return made


def test_a_runner_goes_on_where_another_was(runner: Any) -> None:
    """Environments and episodes are those of the other one."""
    fresh = _runner()

    assert go_on(fresh, paused(runner))

    assert [each.id_ for each in fresh.running.episodes] == [
        each.id_ for each in runner.running.episodes
    ]
    assert not fresh._needs_initial_reset


def test_episodes_of_explored_and_greedy_steps_go_on() -> None:
    """Their log-probabilities have two shapes, of which the look-back keeps both."""
    config = PPOConfig().environment("MountainCarContinuous-v0")
    config.env_runners(episode_lookback_horizon=10)
    first, second = SingleAgentEnvRunner(config=config), SingleAgentEnvRunner(config=config)
    first.sample(num_timesteps=6, explore=True)
    first.sample(num_timesteps=3, explore=False)

    assert go_on(second, paused(first))

    (episode,) = second.sample(num_timesteps=10, explore=False)
    assert episode.get_extra_model_outputs("action_logp").shape == (10, 1)


@pytest.mark.parametrize("missing", ["own", "running", "envs"])
def test_a_state_without_a_part_is_damaged(runner: Any, missing: str) -> None:
    """The error names what is not there."""
    state = {key: part for key, part in paused(runner).items() if key != missing}

    with pytest.raises(CorruptCheckpointError, match=f"no '{missing}'"):
        go_on(_runner(), state)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.data())
def test_any_damage_is_read_or_told(runner: Any, data: Any) -> None:
    """A state with a part of it exchanged goes on, begins anew, or is a typed error."""
    fresh = _runner()
    with contextlib.suppress(RlconnectError):
        go_on(fresh, damaged(paused(runner), data.draw))
