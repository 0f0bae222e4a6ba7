"""What old sources do with RLlib's names comes out as on real Ray."""

import json

import pytest
import rlconnect.legacy

from tests.legacy.recorded_cases import assert_alike, pairs_of, recorded_cases

pytest.importorskip("torch")  # cases of every kind lie in one file

cases, RECORDED = recorded_cases("old_names")
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


@pytest.mark.parametrize(("group", "name"), pairs_of(RECORDED, OWN_WAY))
def test_as_on_ray(group, name):
    """Columns, dtypes, numbers, texts and refusals are those of Ray 2.60."""
    assert_alike(FOUND[group][name], RECORDED[group][name])
