"""RLlib's marks change nothing and refuse nothing."""

import pytest
from rlconnect.core.rllib_utils import annotations


def test_override_does_not_check():
    """A base class that lost the method does not break an import."""

    def method():
        return 1

    assert annotations.override(dict)(method) is method


@pytest.mark.parametrize(
    "name", ["PublicAPI", "DeveloperAPI", "OldAPIStack", "OverrideToImplementCustomLogic"]
)
def test_marks_work_with_and_without_arguments(name):
    """Bare, and called first."""
    mark = getattr(annotations, name)

    assert mark(dict) is dict
    assert mark(stability="beta")(dict) is dict
