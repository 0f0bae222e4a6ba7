"""A sample of what `make fuzz` does for hours: every attack ends in a value or an error of ours."""

import tempfile
from collections import Counter

import pytest

from tests.fuzz.cases import Cases

pytestmark = pytest.mark.torch

CASES = 40


def test_attacks_end_in_values_or_errors_of_ours(scratch, watch, monkeypatch):
    """Changed checkpoints and states execute nothing, write nothing, and stumble over nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("RLCONNECT_TRACEBACK", "1")
    cases = Cases(11, scratch, watch)

    outcomes = [cases.run(number) for number in range(CASES)]

    assert not [outcome for outcome in outcomes if outcome.is_finding]
    # A fuzzer whose files were all whole, or all refused at once, would prove nothing.
    ends = Counter(outcome.kind for outcome in outcomes)
    assert ends["value"] > CASES // 5
    assert ends["typed"] > CASES // 5
    assert ends["unwritten"] < CASES // 20
