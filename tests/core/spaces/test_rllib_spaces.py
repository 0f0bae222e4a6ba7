"""RLlib's own spaces, under RLlib's constructor signatures."""

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.core.spaces.rllib_spaces import FlexDict, Repeated, Simplex


def test_simplex_samples_are_shares():
    """A point's last axis sums to one, in the dtype asked for."""
    space = Simplex((4, 3), np.array([1.0, 2.0, 5.0]), np.float64)
    space.seed(1)

    point = space.sample()

    assert space.contains(point)
    assert point.dtype == np.float64
    assert np.allclose(point.sum(axis=-1), 1.0)


@pytest.mark.parametrize(
    "point",
    [
        np.array([0.5, 0.6, 0.0], np.float32),
        np.array([1.5, -0.5, 0.0], np.float32),
        np.array([0.5, 0.5], np.float32),
        np.array([1, 0, 0]),
        [1.0, 0.0, 0.0],
        np.array([np.nan, 0.5, 0.5]),
    ],
)
def test_simplex_refuses_what_are_no_shares(point):
    """Wrong sum, a negative share (which Ray lets pass), wrong shape or type."""
    assert not Simplex((3,)).contains(point)


def test_simplex_is_compared_by_content():
    """Shape, dtype and concentration make it."""
    assert Simplex([3]) == Simplex((3,))
    assert Simplex((3,)) != Simplex((3,), np.array([1, 1, 2]))
    assert Simplex((3,)) != Simplex((3,), dtype=np.float64)
    assert Simplex((3,)) != gym.spaces.Box(0, 1, (3,))


@pytest.mark.parametrize(("shape", "concentration"), [((), None), ((3,), [1, 2])])
def test_simplex_refuses_contradictions(shape, concentration):
    """It needs an axis and one concentration per share."""
    with pytest.raises(ValueError, match="Simplex needs"):
        Simplex(shape, concentration)


def test_simplex_points_survive_json():
    """to_jsonable and from_jsonable are inverse."""
    space = Simplex((2, 3))
    points = [space.sample() for _ in range(3)]

    back = space.from_jsonable(space.to_jsonable(points))

    assert all(np.array_equal(one, other) for one, other in zip(points, back, strict=True))


def test_repeated_holds_short_lists_of_its_child():
    """Any length up to the longest, the empty list too; tuples are no lists."""
    space = Repeated(gym.spaces.Discrete(3), max_len=2)

    assert space.contains([])
    assert space.contains([2, 0])
    assert not space.contains((2, 0))
    assert not space.contains([0, 0, 0])
    assert not space.contains([3])
    assert all(space.contains(space.sample()) for _ in range(10))
    assert Repeated(gym.spaces.Discrete(3), max_len=0).sample() == []


def test_repeated_is_compared_by_content():
    """Ray compares by identity, so that a saved space never equals itself; ours does."""
    assert Repeated(gym.spaces.Discrete(3), 2) == Repeated(gym.spaces.Discrete(3), 2)
    assert Repeated(gym.spaces.Discrete(3), 2) != Repeated(gym.spaces.Discrete(3), 3)


def test_a_flex_dict_grows():
    """Parts may be added later; the order is that of adding."""
    space = FlexDict({"z": gym.spaces.Discrete(2)})

    space["a"] = gym.spaces.Discrete(3)

    assert list(space.spaces) == ["z", "a"]
    assert space.contains({"z": 1, "a": 2})
    assert space.contains(space.sample())


def test_a_flex_dict_holds_spaces_only():
    """Other values, and two ways to say the same, are refused; nothing is left behind."""
    space = FlexDict(a=gym.spaces.Discrete(2))

    with pytest.raises(TypeError, match="must be a space"):
        space["b"] = 3
    with pytest.raises(ValueError, match="not both"):
        FlexDict({"a": gym.spaces.Discrete(2)}, b=gym.spaces.Discrete(2))
    assert list(space.spaces) == ["a"]
