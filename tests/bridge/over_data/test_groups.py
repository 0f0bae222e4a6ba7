"""Recorded episodes some at a time, as policies watch them."""

import numpy as np
from rlconnect.bridge.over_data.watched import groups_of
from rlconnect.offline.recordings import Recordings

from tests.offline.columns import assert_same_recordings


def test_groups_end_at_the_episode_that_is_enough(rng):
    """However the episodes came, and with what comes of them taken one by one."""
    lengths = rng.integers(1, 9, 40)
    steps, seen = lengths.sum(), lengths.sum() + 40
    whole = Recordings(
        [str(place) for place in range(40)],
        lengths,
        {"a": rng.normal(size=(seen, 2)), "b": rng.normal(size=seen)},
        rng.integers(0, 3, steps),
        rng.normal(size=steps),
        rng.integers(0, 2, 40).astype(bool),
        {"action_prob": rng.random(steps) + 0.1},
        ["x"] * 40,
    )
    singles = list(whole)

    parts = [whole.part(0, 7), whole.part(7, 8), whole.part(8, 40)]
    for given_parts in ([whole], parts, map(Recordings.of, singles)):
        groups = list(groups_of(given_parts, 20))

        assert_same_recordings([each for group in groups for each in group], singles)
        for group in groups[:-1]:
            assert len(group.rewards) >= 20 > len(group.rewards) - group.lengths[-1]
    assert whole.times.tolist() == [t for length in lengths for t in range(length)]
    bandit = list(whole.rows())
    assert [len(each) for each in bandit] == [1] * steps
    assert bandit[int(lengths[0])].id == "1, step 0"
    np.testing.assert_array_equal(
        bandit[int(lengths[0]) - 1].observations["a"], singles[0].observations["a"][-2:]
    )


def test_episodes_of_other_shapes_are_groups_of_their_own():
    """They are not joined, so that a policy tells by their shape that they are not its own."""
    first, other = (
        Recordings(["0"], np.ones(1, int), np.zeros(shape), *[np.zeros(1)] * 3, {}, [""])
        for shape in ((2, 3), (2, 4))
    )

    assert [group.observations.shape for group in groups_of([first, first, other])] == [
        (4, 3), (2, 4)
    ]  # fmt: skip
