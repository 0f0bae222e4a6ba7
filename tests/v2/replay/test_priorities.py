"""Steps are drawn in proportion to their priorities."""

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError, EpisodeError
from rlconnect.v2 import PrioritizedEpisodeReplayBuffer
from rlconnect.v2.replay.prioritized_episode_buffer import Priorities

from tests.v2.replay.replay_cases import check_steps, episode, filled


def test_sums_find_what_a_plain_sum_finds(rng):
    """For any size and any zeros between, the levels say what cumsum and searchsorted say."""
    for size in (1, 2, 63, 64, 65, 5000):
        values = rng.random(size) * (rng.random(size) < 0.3)
        values[rng.integers(size)] = 2.5
        priorities = Priorities(size)
        priorities.set(np.arange(size), values)
        marks = rng.random(300) * priorities.total

        found = priorities.find(marks)

        np.testing.assert_array_equal(found, np.searchsorted(values.cumsum(), marks, "right"))
        assert priorities.total == pytest.approx(values.sum())
        assert priorities.smallest == values[values > 0].min()


def test_what_has_no_priority_is_never_found():
    """Not at the edges either, where rounding puts a mark past the end."""
    priorities = Priorities(200)
    priorities.set(np.array([70, 130]), np.array([0.1, 0.2]))

    found = priorities.find(np.array([0.0, 0.1, np.nextafter(0.30000000000000004, 0), 0.31]))

    assert set(found) <= {70, 130}


def test_draws_follow_the_priorities():
    """Chi-square over 196 steps, 40,000 draws.

    A step drawn half as often as it should be adds 51 or more where its priority is the mean; the
    bound is 100 above the mean of 195. Seeded.
    """
    buffer = filled(PrioritizedEpisodeReplayBuffer, episodes=28, alpha=0.6)
    given = {}
    while len(given) < 196:
        drawn = buffer.sample(50)
        errors = [0.1 + (7 * int(started) + len(id_)) % 11 for id_, started in _places(drawn)]
        buffer.update_priorities(errors)
        given.update(zip(_places(drawn), errors, strict=True))

    drawn = buffer.sample(40_000)

    places = {place: number for number, place in enumerate(given)}
    seen = np.bincount([places[each] for each in _places(drawn)], minlength=196)
    chances = np.array([*given.values()]) ** 0.6
    expected = 40_000 * chances / chances.sum()
    assert ((seen - expected) ** 2 / expected).sum() < 195 + 100


def test_weights_make_up_for_the_priorities():
    """The weight of a step is (p N)^-beta, in proportion to that of the least likely one."""
    buffer = filled(PrioritizedEpisodeReplayBuffer, episodes=28, alpha=0.5)
    given = {}
    while len(given) < 196:
        drawn = buffer.sample(50)
        errors = np.array([1.0 + int(started) for _, started in _places(drawn)])
        buffer.update_priorities(errors)
        given.update(zip(_places(drawn), errors, strict=True))

    drawn = buffer.sample(64, beta=0.4)

    chances = np.array([given[each] for each in _places(drawn)]) ** 0.5
    np.testing.assert_allclose(
        drawn.columns["weights"], (chances / min(given.values()) ** 0.5) ** -0.4, rtol=1e-6
    )


def test_new_steps_have_the_highest_priority_there_was():
    """So that each is drawn once soon; `weight` says another one."""
    buffer = filled(PrioritizedEpisodeReplayBuffer, alpha=1.0)
    buffer.sample(4)
    buffer.update_priorities([3.0, 1.0, 2.0, 9.0])

    buffer.add(episode("new", 5))
    buffer.add(episode("other", 5), weight=4.0)

    for id_, priority in (("new", 9.0), ("other", 4.0)):
        rows = buffer._held[id_].row_numbers(0, -1)
        np.testing.assert_array_equal(buffer._priorities.get(rows), priority)


def test_steps_that_are_gone_have_no_priority():
    """After many rounds the sum is that of what is there; updates that come late change nothing."""
    buffer = filled(PrioritizedEpisodeReplayBuffer, episodes=28, alpha=1.0)
    buffer.sample(50)
    for number in range(28):
        buffer.add(episode(f"new {number}", 7))
    buffer.update_priorities(np.full(50, 5.0))

    drawn = buffer.sample(200, n_step=1)

    held = np.flatnonzero(buffer._rows.after >= 0)
    assert np.flatnonzero(buffer._priorities.sums[0]).tolist() == held.tolist()
    check_steps(drawn, 0.99)
    assert all(id_.startswith("new") for id_ in drawn.ids)


def test_priorities_that_do_not_fit_are_told():
    """One for each step that was drawn last, once."""
    buffer = filled(PrioritizedEpisodeReplayBuffer)
    buffer.sample(5)

    with pytest.raises(EpisodeError, match="5 numbers"):
        buffer.update_priorities([1.0])
    buffer.update_priorities([1.0] * 5)
    with pytest.raises(EpisodeError, match="0 numbers"):
        buffer.update_priorities([1.0] * 5)


def test_what_cannot_be_drawn_is_told():
    """Steps that nothing holds enough of, and sequences."""
    buffer = filled(PrioritizedEpisodeReplayBuffer)

    with pytest.raises(EpisodeError, match="has 9 steps"):
        buffer.sample(4, n_step=9)
    with pytest.raises(ConfigError, match="no sequences"):
        buffer.sample(4, batch_length_T=20)


def _places(drawn):
    return [*zip(drawn.ids, map(int, drawn.started), strict=True)]
