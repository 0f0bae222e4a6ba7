"""Recorded episodes as arrays: straight from rows, and the same as by way of episodes."""

from pathlib import Path

import pytest
from rlconnect.core import nest
from rlconnect.core.errors import PieceError
from rlconnect.offline import open_dataset
from rlconnect.offline.recordings import PROBABILITIES, recordings

GOLDEN = Path(__file__).parents[2] / "golden/offline"
CASES = sorted(
    path.parent
    for path in GOLDEN.glob("[0-9]*/*/data")
    if not path.parent.name.startswith(("minari", "columns", "episodes"))
)


@pytest.mark.filterwarnings("ignore:.*read:UserWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_rows_make_the_recordings_that_their_episodes_make(case):
    """Ids, arrays to the last bit and their dtypes, ends, and whose each is."""
    data = open_dataset(case / "data")
    by_episode = data.episodes()
    try:
        wanted = list(recordings(by_episode))
    except PieceError:  # of several policies
        wanted = list(recordings(data.episodes(), "even"))

    found = list(data.recordings("even"))

    assert len(found) == len(wanted)
    for mine, own in zip(found, wanted, strict=True):
        assert (mine.id, mine.agent, mine.is_terminated) == (own.id, own.agent, own.is_terminated)
        for name in ("observations", "actions", "rewards"):
            mine_leaves = nest.flatten_with_path(getattr(mine, name))
            own_leaves = nest.flatten_with_path(getattr(own, name))
            assert [path for path, _ in mine_leaves] == [path for path, _ in own_leaves]
            for (_, got), (_, due) in zip(mine_leaves, own_leaves, strict=True):
                assert got.dtype == due.dtype
                assert (got == due).all()
        for name in PROBABILITIES:
            assert (name in mine.outputs) == (name in own.outputs)
            if name in own.outputs:
                assert (mine.outputs[name] == own.outputs[name]).all()
