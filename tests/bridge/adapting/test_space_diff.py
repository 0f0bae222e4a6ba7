"""What changed between two spaces is told in words, and the proposed steps lead across."""

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.bridge.adapting.space_diff import diff_spaces
from rlconnect.core.adapters import (
    AdapterChain,
    At,
    Cast,
    ConcatKeys,
    DropFeatures,
    DropKeys,
    ExtendAction,
    InsertFeatures,
    MapActions,
    NestUnder,
    OneHot,
    PickKey,
    RenameKeys,
    Scale,
    SelectFeatures,
    SplitFeatures,
    StackFrames,
    UnOneHot,
)
from rlconnect.core.errors import SpaceError
from rlconnect.core.spaces.fit import open_ended


def box(*bounds, dtype=np.float32):
    low, high = zip(*bounds, strict=True)
    return spaces.Box(np.array(low, dtype), np.array(high, dtype), dtype=dtype)


A, B, C, D = (-1, 1), (-2, 2), (0, 3), (-4, 5)
ATARI = spaces.Box(0, 255, (84, 84, 3), np.uint8)

LEADING = [
    (box(A, B, C), box(A, B, D, C), [DropFeatures((2,))], True),
    (box(A, B, C), box(B, C, A), [SelectFeatures((2, 0, 1))], True),
    (box(A, A), box(A, A, A), [DropFeatures((2,))], False),
    (box(A, B, C), box(A, C), [InsertFeatures((1,), (0.0,))], False),
    (box(A, A), spaces.Box(-1, 1, (2,), np.float64), [Cast("float32")], True),
    (box((-1, 1), (0, 10)), box((-1, 1), (0, 1000)), [Scale((1.0, 0.01), (0.0, 0.0))], False),
    (spaces.Box(0, 1, (3,)), spaces.Discrete(3), [OneHot()], True),
    (spaces.Discrete(3), spaces.Box(0, 1, (3,)), [UnOneHot(0)], True),
    (spaces.Dict({"o": box(A, B)}), box(A, B), [NestUnder("o")], True),
    (box(A, B), spaces.Dict({"o": box(A, B)}), [PickKey(("o",))], True),
    (box(A, B), spaces.Dict({"o": box(A, B), "t": box(C)}), [PickKey(("o",))], False),
    (box(A, B, C), spaces.Dict({"x": box(A, B), "y": box(C)}), [ConcatKeys(("x", "y"))], True),
    (
        spaces.Dict({"x": box(A, B), "y": box(C)}),
        box(A, B, C),
        [SplitFeatures({"x": 2, "y": 1})],
        False,
    ),
    (
        spaces.Dict({"x": box(A), "y": box(B)}),
        spaces.Dict({"x": box(A), "z": box(B), "w": box(C)}),
        [DropKeys(("w",)), RenameKeys({"z": "y"})],
        True,
    ),
    (
        spaces.Dict({"x": box(A, B), "y": box(B)}),
        spaces.Dict({"x": box(A, D, B), "y": box(B)}),
        [At(("x",), DropFeatures((1,)))],
        True,
    ),
    (
        spaces.Tuple((box(A), spaces.Box(0, 1, (2,)))),
        spaces.Tuple((box(A), spaces.Discrete(2))),
        [At((1,), OneHot())],
        True,
    ),
    (spaces.Box(0, 255, (64, 64, 1), np.uint8), ATARI, None, True),
    (spaces.Box(0, 1, (3, 42, 42)), ATARI, None, True),
    (spaces.Box(0, 255, (84, 84, 1), np.uint8), spaces.Box(0, 1, (84, 84, 1)), None, True),
    (
        spaces.Box(0, 255, (84, 84, 4), np.uint8),
        spaces.Box(0, 255, (84, 84, 1), np.uint8),
        [StackFrames(4)],
        False,
    ),
    (
        spaces.Box(0, 255, (84, 84, 1), np.uint8),
        spaces.Box(0, 255, (84, 84, 4), np.uint8),
        [SelectFeatures((3,))],
        False,
    ),
]


@pytest.mark.parametrize(("old", "new", "steps", "is_sure"), LEADING)
def test_observation_steps_lead_to_what_the_policy_knows(old, new, steps, is_sure):
    """The steps, bound to the new space, give the old one's shape and dtype."""
    diff = diff_spaces(old, new)

    bound = AdapterChain(obs=diff.steps).bind(new, spaces.Discrete(2))

    assert steps is None or list(diff.steps) == steps
    assert diff.is_sure == is_sure, str(diff)
    assert type(bound.observation_space) is type(old)
    assert bound.observation_space.shape == old.shape
    if isinstance(old, spaces.Box):
        assert bound.observation_space.dtype == old.dtype
    if steps is not None and not any(isinstance(step, Scale | InsertFeatures) for step in steps):
        assert bound.observation_space == old or isinstance(steps[0], OneHot | StackFrames)


def test_names_decide_what_bounds_cannot():
    """With names, alike features are told apart: dropped, reordered and missing ones."""
    old = spaces.Box(-1, 1, (3,))
    new = spaces.Box(-1, 1, (3,))

    diff = diff_spaces(old, new, old_names=["x", "v", "wind"], new_names=["v", "gps", "x"])

    bound = AdapterChain(obs=diff.steps).bind(new, spaces.Discrete(2))
    assert bound.observe(np.array([0.5, 9.0, 0.25], np.float32)).tolist() == [0.25, 0.5, 0.0]
    assert [change.kind for change in diff.changes] == ["added", "reordered", "removed"]
    assert not diff.is_sure
    assert "wind" in str(diff)
    assert "gps" in str(diff)


@pytest.mark.parametrize(
    ("old", "new", "steps", "is_sure"),
    [
        (spaces.Discrete(2), spaces.Discrete(3), [MapActions((0, 1), 3, 0)], False),
        (spaces.Discrete(2), spaces.Discrete(3, start=1), [MapActions((1, 2), 3, 1)], False),
        (box(A), box(A, D), [ExtendAction((0.0,))], False),
        (box(A, B), box(A), None, False),
        (box((-2, 2)), box((-1, 1)), [Scale(0.5, 0.0)], False),
        (box(A, B), box(A, B, dtype=np.float64), None, True),
        (box((-2, 2)), spaces.Discrete(5), None, False),
    ],
)
def test_action_steps_lead_to_what_the_environment_takes(old, new, steps, is_sure):
    """The steps, bound to the policy's space, give the environment's."""
    diff = diff_spaces(old, new, kind="action")

    bound = AdapterChain(action=diff.steps).bind(box(A), old)

    assert steps is None or list(diff.steps) == steps
    assert diff.is_sure == is_sure
    assert bound.action_space.shape == new.shape
    assert bound.action_space.dtype == new.dtype
    if isinstance(new, spaces.Discrete):
        assert bound.action_space == new


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (spaces.Discrete(3), spaces.Discrete(2), "action"),
        (spaces.Discrete(3), box(A), "action"),
        (box(A), spaces.MultiBinary(3), "observation"),
        (box(A, B), spaces.Dict({"x": box(A)}), "observation"),
    ],
)
def test_what_no_rule_maps_is_a_question(old, new, kind):
    """Nothing is made up: where only a person knows, the diff asks."""
    diff = diff_spaces(old, new, kind=kind)

    assert diff
    assert not diff.is_sure
    assert diff.questions


def test_equal_spaces_do_not_differ():
    """No change, no step, nothing to ask."""
    diff = diff_spaces(ATARI, ATARI)

    assert not diff
    assert diff.is_sure
    assert str(diff) == "no difference"


def test_names_that_do_not_fit_are_refused():
    """One name for each feature, each once."""
    with pytest.raises(SpaceError, match="names do not fit"):
        diff_spaces(box(A, B), box(A, B, C), old_names=["x"], new_names=["x", "y", "z"])


def ended(end, dtype=np.float32):
    """CartPole's space as its author wrote it: two of the four numbers end at `end`."""
    high = np.array([4.8, end, 0.4, end], dtype)
    return spaces.Box(-high, high, dtype=dtype)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda box: box,
        lambda box: spaces.Dict({"o": box}),
        lambda box: spaces.Tuple((box, spaces.Discrete(2))),
    ],
)
@pytest.mark.parametrize("kind", ["observation", "action"])
def test_a_bound_at_the_end_of_float32_is_infinite(wrap, kind):
    """gym's CartPole ends at 3.4e38 where gymnasium 1.0's is infinite: nothing changed."""
    gym_s, gymnasium_s = wrap(ended(np.finfo(np.float32).max)), wrap(ended(np.inf))

    diff = diff_spaces(gym_s, gymnasium_s, kind=kind)

    assert not diff
    assert not diff_spaces(gymnasium_s, gym_s, kind=kind)
    assert diff.old is gym_s
    assert diff_spaces(wrap(ended(3e38)), gymnasium_s, kind=kind)


def test_a_space_keeps_the_order_of_its_keys_where_a_bound_becomes_infinite():
    """The old stack lays out parts in the space's own order."""
    space = spaces.Dict([("z", ended(np.finfo(np.float32).max)), ("a", spaces.Discrete(2))])

    assert list(open_ended(space).spaces) == ["z", "a"]


def test_another_dtype_is_a_change_however_equal_the_bounds():
    """Spaces that say they are equal but for their dtype differ in it."""
    diff = diff_spaces(ended(np.finfo(np.float32).max), ended(np.inf, np.float64))

    assert diff.steps == (Cast("float32"),)
