"""Errors name whose observation it was; those that are not about it stay as they are."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import PieceError, SpaceError
from rlconnect.legacy import Policy
from rlconnect.legacy.policy.refusals import Asked, nan_refusal, no_numbers, odd_shape, told

FITTING = np.zeros(2, np.float32)


@pytest.fixture
def policy():
    return Policy(Box(-1, 1, (2,), np.float32), Discrete(2), {"seed": 0}, name="mine")


def test_a_foreign_error_about_a_fitting_observation_is_left_alone(policy):
    """Nothing is wrong with the observation, so the error is somebody else's."""
    error = ValueError("from elsewhere")

    assert told(policy, [Asked("e", "a", FITTING)], error) is error


def test_a_foreign_error_of_another_kind_is_left_alone(policy):
    """Only the errors numpy and torch raise for odd values are explained."""
    error = RuntimeError("from elsewhere")

    assert told(policy, [Asked("e", "a", np.zeros(3))], error) is error


def test_an_error_of_ours_keeps_its_kind_and_facts(policy):
    """It is told with policy, environment and agent, and nothing of it is lost."""
    error = PieceError("broken", expected="x", found="y", hint="mend it.", part=3)

    better = told(policy, [Asked("e", "a", FITTING)], error)

    assert type(better) is PieceError
    assert (better.expected, better.found, better.hint, better.part) == ("x", "y", "mend it.", 3)
    assert "policy 'mine', environment 'e', agent 'a'" in str(better)


def test_the_slot_with_the_odd_shape_is_blamed_before_one_out_of_bounds(policy):
    """Values out of bounds pass now and then; a shape never does."""
    asked = [Asked("e", 0, FITTING + 9), Asked("e", 1, np.zeros(3)), Asked("e", 2, FITTING)]

    better = told(policy, asked, ValueError("cannot stack"))

    assert isinstance(better, SpaceError)
    assert better.agent_id == 1


def test_nan_without_a_cause_in_columns_or_weights_is_still_told(policy):
    """Numbers too large for float32 leave no trace but the NaN."""
    error = nan_refusal(policy, {"obs": FITTING[None]}, np.array([[np.nan]]))

    assert "no finite answer" in str(error)


def test_small_errors_name_what_was_expected(policy):
    """Kinds and shapes are told in the terms of the caller."""
    assert "complex128" in str(no_numbers(np.zeros(1, complex)))
    assert "(B, 2)" in str(odd_shape(policy, np.zeros((1, 3))))
