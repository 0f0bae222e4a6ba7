"""Runners in the middle of their episodes, as data."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import CorruptCheckpointError, RlconnectError
from rlconnect.v2 import PPOConfig, SingleAgentEnvRunner
from rlconnect.v2.env_runners.paused import go_on, paused

_WRONG = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.sampled_from(["who", 0.5, np.arange(3)]),
    st.just([]),
    st.just({}),
)


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

    assert [each.id_ for each in fresh._running.episodes] == [
        each.id_ for each in runner._running.episodes
    ]
    assert not fresh._needs_initial_reset


@pytest.mark.parametrize("missing", ["own", "running", "envs"])
def test_a_state_without_a_part_is_damaged(runner: Any, missing: str) -> None:
    """The error names what is not there."""
    state = {key: part for key, part in paused(runner).items() if key != missing}

    with pytest.raises(CorruptCheckpointError, match=f"no '{missing}'"):
        go_on(_runner(), state)


def _damaged(data: Any, draw: Any) -> Any:
    if not isinstance(data, (dict, list)) or not data or draw(st.integers(0, 9)) == 0:
        return draw(_WRONG)
    if isinstance(data, list):
        at = draw(st.integers(0, len(data) - 1))
        return [*data[:at], _damaged(data[at], draw), *data[at + 1 :]]
    key = draw(st.sampled_from(sorted(data)))
    return {**data, key: _damaged(data[key], draw)}


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.data())
def test_any_damage_is_read_or_told(runner: Any, data: Any) -> None:
    """A state with a part of it exchanged goes on, begins anew, or is a typed error."""
    fresh = _runner()
    with contextlib.suppress(RlconnectError):
        go_on(fresh, _damaged(paused(runner), data.draw))
