"""What old sources and their tests do with the old stack comes out as on real Ray."""

import json

import pytest
import rlconnect.legacy
from rlconnect.legacy.connectors import registry

from tests.legacy.recorded_cases import assert_alike, pairs_of, recorded_cases

pytest.importorskip("torch")  # most of them are about tensors

cases, RECORDED = recorded_cases("old_idioms")


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
DRAWN = ("categorical sampled", "multi categorical sampled")


def marked(group, name):
    """Older torch draws others under the same seed."""
    return pytest.param(group, name, marks=[pytest.mark.torch("2.9")] if name in DRAWN else [])


@pytest.mark.parametrize(("group", "name"), [marked(*pair) for pair in pairs_of(RECORDED, OWN_WAY)])
def test_as_on_ray(group, name):
    """Columns, dtypes, numbers, texts and refusals are those of Ray 2.60."""
    assert_alike(FOUND[group][name], RECORDED[group][name])
