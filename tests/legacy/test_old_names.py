"""What old sources do with RLlib's names comes out as on real Ray."""

import importlib.util
import json
from pathlib import Path

import pytest
import rlconnect.legacy

FOLDER = Path(__file__).parents[1] / "golden" / "old_names"
RECORDED = json.loads((FOLDER / "recorded.json").read_text())
spec = importlib.util.spec_from_file_location("old_names_cases", FOLDER / "cases.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)
FOUND = json.loads(json.dumps(cases.run(rlconnect.legacy)))
OWN_WAY = {
    # Refusals are of another kind, each with a reason in its message.
    "batch": {
        "concat unlike",
        "by id",  # Ray goes on to cut rows where batch[1:3] meant sequences
        "intercepted",  # Ray forgets the interceptor for columns written later
        "slice stepped",  # Ray ignores the step
    },
    "collector": {"refused"},  # of another kind
    "connector": {
        "indexed",
        "unknown",
        "buffer",  # Ray's state is a pickle
        "to numpy acts",  # float64 arrays stay
    },
    "filter": {"by no name", "pushed"},  # float64 statistics
    "space": {"repeated", "gym repeated"},  # Ray's Repeated equals only itself
    "torch": {"model"},  # weights come in another order
}
"""Where rlconnect goes its own way, and why."""
PAIRS = [
    (group, name)
    for group, recorded in RECORDED.items()
    for name, value in recorded.items()
    if not str(value).startswith("raised") and name not in OWN_WAY.get(group, ())
]


def numbers_rounded(value):
    """The same data with numbers to six digits."""
    if isinstance(value, dict):
        return {key: numbers_rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [numbers_rounded(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


@pytest.mark.parametrize(("group", "name"), PAIRS)
def test_as_on_ray(group, name):
    """Columns, dtypes, numbers, texts and refusals are those of Ray 2.60."""
    assert numbers_rounded(FOUND[group][name]) == numbers_rounded(RECORDED[group][name])
