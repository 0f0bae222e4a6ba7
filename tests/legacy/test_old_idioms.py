"""What old sources and their tests do with the old stack comes out as on real Ray."""

import importlib.util
import json
from pathlib import Path

import pytest
import rlconnect.legacy
from rlconnect.legacy import registry

FOLDER = Path(__file__).parents[1] / "golden" / "old_idioms"
RECORDED = json.loads((FOLDER / "recorded.json").read_text())
spec = importlib.util.spec_from_file_location("old_idioms_cases", FOLDER / "cases.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)


def found():
    """What comes out here; names the cases register are forgotten, other tests have theirs."""
    held = dict(registry._ADDED)
    try:
        return json.loads(json.dumps(cases.run(rlconnect.legacy)))
    finally:
        registry._ADDED.clear()
        registry._ADDED.update(held)


FOUND = found()
OWN_WAY = {
    "agent": {"filtered std only"},  # one value varies by its square, as in Ray 2.7.2
    "batch": {"sequence slice ends"},  # Ray ignores a stop counted from the end
    "collector": {
        "future",  # Ray's first rows lie before the episode
        "memory acted",  # Ray reads the ring of a state nobody has built yet out of order
    },
    "distribution": {"categorical arrays"},  # arrays of actions are taken, too
    "filter": {"filter std", "stat one"},  # as for the connector
}
"""Where rlconnect goes its own way, and why."""
PAIRS = [
    (group, name)
    for group, recorded in RECORDED.items()
    for name, value in recorded.items()
    if not str(value).startswith("raised") and name not in OWN_WAY.get(group, ())
]


def numbers_rounded(value):
    """The same data with numbers to five digits."""
    if isinstance(value, dict):
        return {key: numbers_rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [numbers_rounded(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


@pytest.mark.parametrize(("group", "name"), PAIRS)
def test_as_on_ray(group, name):
    """Columns, dtypes, numbers, texts and refusals are those of Ray 2.60."""
    assert numbers_rounded(FOUND[group][name]) == numbers_rounded(RECORDED[group][name])
