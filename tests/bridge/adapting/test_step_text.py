"""Steps as people type them: read back as they were, never run."""

import pytest
from rlconnect.bridge.adapting.step_text import step_text, steps_from_text
from rlconnect.core.adapters import At, DropFeatures, OneHot, RenameKeys, Scale
from rlconnect.core.errors import PieceError, UnknownNameError

from tests.core.adapters.test_steps import CASES


@pytest.mark.parametrize("step", [case for case, _ in CASES if not isinstance(case, At)])
def test_every_step_reads_back(step):
    """What `step_text` writes, `steps_from_text` reads."""
    assert steps_from_text([step_text(step)]) == (step,)


def test_positional_values_bare_names_and_semicolons():
    """The short forms mean what a person expects."""
    assert steps_from_text(["drop_features([4, 5]); one_hot", "rename_keys({'a': 'b'})"]) == (
        DropFeatures([4, 5]),
        OneHot(),
        RenameKeys({"a": "b"}),
    )
    assert steps_from_text(["scale(2, offset=-1)"]) == (Scale(2, -1),)
    assert steps_from_text([""]) == ()


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("drop_features([4", PieceError, "no adapter step"),
        ("drop_features(__import__('os').getpid())", PieceError, "plain values"),
        ("scale(1, 2, 3)", PieceError, "settings"),
        ("scale(**{})", PieceError, "settings"),
        ("a.b(1)", PieceError, "no adapter step"),
        ("scal(1)", UnknownNameError, "scale"),
        ("qqq", UnknownNameError, "there are"),
    ],
)
def test_what_is_no_step_is_told(text, error, match):
    """Nothing but names and plain values is read."""
    with pytest.raises(error, match=match):
        steps_from_text([text])
