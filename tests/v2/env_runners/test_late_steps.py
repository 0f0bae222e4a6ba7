"""Steps that go into a replay buffer past the episodes are those that episodes would have had."""

import numpy as np
import pytest
from rlconnect.core import nest
from rlconnect.core.arrays.compare import differences
from rlconnect.v2 import (
    DefaultCallbacks,
    DefaultModelConfig,
    EpisodeReplayBuffer,
    PPOConfig,
    SingleAgentEnvRunner,
)
from rlconnect.v2.env_runners.observation_watch import NonFiniteError
from rlconnect.v2.env_runners.paused import go_on, paused
from rlconnect.v2.episodes.episode_columns import EpisodeColumns

from .test_row_sampling import Spread


class Ended(DefaultCallbacks):
    """Somebody who looks at what was sampled."""

    def on_sample_end(self, *, samples, **kwargs):
        assert isinstance(samples, list)


def runner_of(env=Spread, envs=1, steps=1, callbacks=None, model=None, **settings):
    config = (
        PPOConfig()
        .environment(env)
        .env_runners(
            num_envs_per_env_runner=envs,
            rollout_fragment_length=steps,
            num_env_runners=0,
            **settings,
        )
        .rl_module(model_config=model or DefaultModelConfig(fcnet_hiddens=[8]))
        .debugging(seed=3)
    )
    return SingleAgentEnvRunner(config=config.callbacks(callbacks) if callbacks else config)


def facts(buffer, runner):
    """All that a buffer and a runner hold, with numbers for the random ids."""
    numbers = {}

    def numbered(id_):
        return numbers.setdefault(id_, len(numbers))

    held = buffer.get_state()
    running = runner.running.get_state()
    columns = held["columns"]
    ids = [numbered(id_) for id_ in columns.pop("ids")]
    for each in running["episodes"]:
        each["id_"] = numbered(each["id_"])
        for name in ("_start_time", "_last_step_time"):
            each.pop(name, None)
    before = [each[:2] for each in running.pop("before")]
    shared = [numbered(id_) for id_ in runner._shared_data["memorized_map_structure"]]
    kinds = [leaf.dtype for leaf in nest.flatten(columns["columns"])]
    held.pop("rng")
    return {
        "held": held,
        "ids": ids,
        "kinds": kinds,
        "running": running,
        "before": before,
        "shared": shared,
    }


CASES = {
    "one": {},
    "longer": {"steps": 7},
    "several": {"envs": 3},
    "several_longer": {"envs": 3, "steps": 5},
    "recurrent": {"envs": 2, "model": DefaultModelConfig(use_lstm=True, lstm_cell_size=4)},
    "no_lookback": {"steps": 2, "episode_lookback_horizon": 0},
}


def lived(is_late, settings):
    """60 samples in a buffer, asked for as columns or not, with what was counted on the way."""
    runner, buffer = runner_of(**settings), EpisodeReplayBuffer(10_000, seed=0)
    seen, kinds = [], set()
    for turn in range(60):
        asks = is_late and turn % 17 < 15
        sampled = runner.sample_columns() if asks else runner.sample()
        is_columns = isinstance(sampled, EpisodeColumns)
        kinds.add((asks, is_columns))
        (buffer.add_columns if is_columns else buffer.add)(sampled)
        if turn in (9, 22, 36):
            counted = runner.get_metrics()
            seen.append([counted[key].peek() for key in COUNTED])
            seen.append(facts(buffer, runner))
    return [*seen, facts(buffer, runner)], kinds


COUNTED = ("num_env_steps_sampled", "num_episodes", "episode_return_mean", "episode_len_max")


@pytest.mark.parametrize("name", CASES)
def test_columns_are_those_of_episodes(name):
    """Buffers, running episodes and metrics are the same, also where ways take turns."""
    late, kinds = lived(True, CASES[name])
    usual, _ = lived(False, CASES[name])

    assert (True, True) in kinds
    assert differences(late, usual, rtol=1e-6, atol=1e-6) == []


def test_a_paused_runner_goes_on_from_late_steps():
    """What a checkpoint holds of running episodes does not tell how their steps went."""
    runner, other = runner_of(), runner_of()
    for _ in range(7):
        runner.sample_columns()

    state = paused(runner)
    other.sample()
    assert go_on(other, state)

    assert other.running.ids == runner.running.ids
    for _ in range(5):
        mine, theirs = runner.sample()[-1], other.sample()[-1]
        assert mine.t == theirs.t
        assert differences(mine.observations.data, theirs.observations.data) == []


@pytest.mark.parametrize(
    "settings",
    [{"callbacks": Ended}, {"episode_lookback_horizon": 3}, {"episodes_to_numpy": False}],
)
def test_those_who_see_episodes_get_them(settings):
    """A hook, a longer look-back, or lists: episodes come, as from `sample()`."""
    runner = runner_of(**settings)

    samples = [runner.sample_columns() for _ in range(4)]

    assert all(isinstance(each, list) for each in samples)


class Broken(Spread):
    """Observations that are not finite from step 6 on."""

    steps = 0

    def step(self, action):
        self.steps += 1
        seen, *rest = super().step(action)
        return (seen * np.nan if self.steps > 5 else seen), *rest


def test_observations_that_are_not_finite_are_refused():
    """They are told with their episode, however they come."""
    runner = runner_of(Broken)

    sampled = [runner.sample_columns() for _ in range(5)]

    with pytest.raises(NonFiniteError, match="not finite") as told:
        runner.sample_columns()

    assert told.value.episode_id
    assert isinstance(sampled[-1], EpisodeColumns)
