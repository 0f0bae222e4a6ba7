"""Actions against their space: RLlib's numbers and dtypes, batched and on tensors alike."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Tuple
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import SpaceError
from rlconnect.core.formulas import actions
from rlconnect.core.formulas.actions import ActionPlan

GOLDEN = Path(__file__).parents[2] / "golden" / "formulas"
CASES = runpy.run_path(str(GOLDEN / "cases.py"))
RECORDED = np.load(GOLDEN / "actions.npz")
NESTED = Dict(b=Box(-2, 2, (2,), np.float32), a=Tuple((Discrete(3), Box(0, 4, (), np.float64))))


# To normalise what has no bound RLlib divides by infinity; see the test of unbounded spaces.
COMPARABLE = [
    name
    for name in RECORDED.files
    if name.count("/") == 2
    and not (name.startswith("half_bounded") and name.endswith("normalize_action"))
]


@pytest.mark.parametrize("name", COMPARABLE)
def test_actions_are_rllibs(name):
    """Values and dtype equal RLlib's for every kind of space, one action or many."""
    space, action, function = name.split("/")
    expected = RECORDED[name]

    result = getattr(actions, function)(CASES["ACTIONS"][action], CASES["ACTION_SPACES"][space])

    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def test_a_box_with_one_unbounded_side_is_not_stretched():
    """There is no range to stretch over, or to shrink, so the action stays what it is."""
    space = CASES["ACTION_SPACES"]["half_bounded"]
    action = np.array([0.5, -3], np.float32)

    assert actions.unsquash_action(action, space) is action
    assert actions.normalize_action(action, space) is action


def test_nested_actions_keep_their_form_and_the_given_ones_their_values():
    """Every Box leaf is stretched where it sits; nothing is written into what was given."""
    action = {"b": np.array([0.5, -3], np.float32), "a": (np.int64(1), np.float64(0.5))}

    result = actions.unsquash_action(action, actions.get_base_struct_from_space(NESTED))

    np.testing.assert_array_equal(result["b"], np.array([1, -2], np.float32))
    assert result["a"] == (1, 3.0)
    np.testing.assert_array_equal(action["b"], np.array([0.5, -3], np.float32))


def test_a_struct_is_made_of_plain_dicts_and_tuples():
    """The struct of a space holds its leaves, and is its own struct."""
    struct = actions.get_base_struct_from_space(NESTED)

    assert type(struct) is dict
    assert struct["a"] == (Discrete(3), Box(0, 4, (), np.float64))
    assert actions.get_base_struct_from_space(struct) == struct


def test_an_action_built_otherwise_than_its_space_is_refused():
    """A leaf that is missing is named as a space error, not found out by broadcasting."""
    with pytest.raises(SpaceError, match="structures differ"):
        actions.clip_action({"b": np.zeros(2)}, NESTED)


@given(st.integers(1, 4), st.lists(st.floats(-1, 1, width=32), min_size=6, max_size=6))
def test_a_batch_is_its_actions_one_by_one(rows, numbers):
    """Leading axes are free: the batched result holds the single results."""
    plan = ActionPlan(CASES["ACTION_SPACES"]["uneven"])
    batch = np.resize(np.array(numbers, np.float32), (rows, 3, 2))

    result = plan.unsquash(batch)

    singles = [[plan.unsquash(action) for action in row] for row in batch]
    np.testing.assert_array_equal(result, np.array(singles))


@pytest.mark.parametrize("formula", ["clip", "unsquash", "normalize"])
def test_one_number_is_of_the_type_of_many(formula):
    """A Box of no axes gives one action in the dtype it gives a batch."""
    one = getattr(ActionPlan(Box(-2, 2, (), np.float32)), formula)
    batch = np.array([-0.5, 0.5], np.float32)

    assert one(batch).dtype == np.float32
    assert np.asarray(one(batch[0])).dtype == np.float32
    assert np.asarray(one(np.asarray(batch[0]))).dtype == np.float32


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=2))
def test_normalizing_undoes_unsquashing(numbers):
    """What [-1, 1] is stretched to comes back."""
    plan = ActionPlan(CASES["ACTION_SPACES"]["uneven"])

    back = plan.normalize(plan.unsquash(np.array(numbers, np.float32)))

    np.testing.assert_allclose(back, numbers, atol=1e-6)


@pytest.mark.parametrize("space", ["float32", "uneven", "float64", "int32", "half_bounded"])
@pytest.mark.parametrize("formula", ["clip", "unsquash", "normalize"])
def test_tensors_give_the_same_numbers(space, formula):
    """Torch and numpy agree, with the constants moved ahead of time or not."""
    torch = pytest.importorskip("torch")
    plan = ActionPlan(CASES["ACTION_SPACES"][space])
    batch = np.array([[0.5, -3], [0.1, 0.9]], np.float32)
    expected = getattr(plan, formula)(batch)

    for one in (plan, plan.on("cpu")):
        result = getattr(one, formula)(torch.from_numpy(batch.copy()))

        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "is_nested",
    [
        pytest.param(False, marks=pytest.mark.torch("2.9")),  # older: no weak reference to a plan
        pytest.param(True, marks=pytest.mark.torch("2.13")),  # older: cannot trace optree
    ],
)
def test_a_plan_compiles_into_one_graph(is_nested):
    """The compiled path holds no branch on data."""
    torch = pytest.importorskip("torch")
    plan = ActionPlan(NESTED if is_nested else NESTED["b"]).on("cpu")
    action = torch.tensor([[0.5, -3.0]])
    if is_nested:
        action = {"b": action, "a": (torch.tensor([1]), torch.tensor([0.5]))}

    compiled = torch.compile(plan.unsquash, backend="eager", fullgraph=True)

    torch.testing.assert_close(compiled(action), plan.unsquash(action))


def test_flattening_keeps_what_is_flat_and_joins_what_is_not():
    """Leaves in the order of sorted keys; an array, or a number, stays itself."""
    array = np.zeros((2, 3))
    nested = {"b": np.ones((2, 3)), "a": (1, np.array([2, 3], np.int32))}

    assert actions.flatten_to_single_ndarray(array) is array
    assert actions.flatten_to_single_ndarray(3) == 3
    np.testing.assert_array_equal(actions.flatten_to_single_ndarray(nested), RECORDED["flat"])
