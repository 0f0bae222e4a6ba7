"""A buffer of recorded episodes: what comes again is left out, and chosen stretches are given."""

import numpy as np
import pytest
from rlconnect.core.errors import EpisodeError
from rlconnect.v2.recorded.episode_buffer import RecordedEpisodeBuffer

from tests.v2.replay.replay_cases import check_steps, episode


def test_what_comes_again_is_left_out():
    """By id and first step, in one call and in several; what goes on is one episode."""
    buffer = RecordedEpisodeBuffer(seed=0)

    buffer.add([episode("a", 7), episode("a", 7), episode("b", 3, is_done=False)])
    buffer.add(iter([episode("b", 3, is_done=False), episode("b", 4, 3), episode("a", 7)]))
    buffer.add(episode("b", 4, 3))

    assert [(each.id_, len(each)) for each in buffer.episodes] == [("a", 7), ("b", 7)]
    check_steps(buffer.sample(200, sample_episodes=True), 0.99)


def test_a_stretch_after_a_gap_is_an_episode_of_its_own():
    """So is what begins where an episode of that id has ended; each is there once."""
    buffer = RecordedEpisodeBuffer(seed=0)

    for _ in range(2):
        buffer.add([episode("a", 3), episode("a", 2, 5), episode("a", 4, 3)])

    found = {each.id_: (each.t_started, len(each)) for each in buffer.episodes}
    assert found == {"a": (0, 3), "a@5": (5, 2), "a@3": (3, 4)}
    drawn = buffer.sample(300, sample_episodes=True)
    assert {*drawn.columns["obs"][:, 0]} == set(range(7))


def test_the_oldest_go_and_may_come_again():
    """An episode that had to go is no longer known."""
    buffer = RecordedEpisodeBuffer(capacity=10, seed=0)

    buffer.add([episode("a", 7), episode("b", 6)])
    kept = [each.id_ for each in buffer.episodes]
    buffer.add(episode("a", 7))

    assert (kept, [each.id_ for each in buffer.episodes]) == (["b"], ["a"])


def test_every_step_is_as_likely():
    """Chi-square over 20 steps of episodes of two lengths, 20,000 draws.

    One that is drawn a fifth too seldom adds 40; the bound is 41 above the mean of 19. Seeded.
    """
    buffer = RecordedEpisodeBuffer(seed=1)
    buffer.add([episode("a", 3), episode("b", 17)])

    drawn = buffer.sample(20_000, sample_episodes=True)

    places = [
        {"a": 0, "b": 3}[id_] + int(at) for id_, at in zip(drawn.ids, drawn.started, strict=True)
    ]
    seen = np.bincount(places, minlength=20)
    assert ((seen - 1000) ** 2 / 1000).sum() < 60


def test_chosen_stretches_are_given():
    """As steps and as sequences; what is not there is told."""
    buffer = RecordedEpisodeBuffer(seed=0)
    buffer.add([episode("a", 7), episode("b", 5)])

    steps = buffer.picked([("b", 2, 1), ("a", 6, 1)], is_sequence=False)
    first, second = buffer.picked([("b", 1, 3), ("a", 5, 2)], is_sequence=True)

    assert steps.columns["new_obs"][:, 0].tolist() == [3.0, 7.0]
    assert first.get_rewards().tolist() == [1.0, 2.0, 3.0]
    assert not first.is_done
    assert second.is_terminated
    assert second.extra_model_outputs["weights"].raw.tolist() == [1.0, 1.0]
    for pick in (("c", 0, 1), ("b", 4, 2)):
        with pytest.raises(EpisodeError, match="to pick"):
            buffer.picked([pick], is_sequence=True)
