"""Columns of recorded data, leaf by leaf."""

from rlconnect.core import nest
from rlconnect.offline.recordings import PROBABILITIES


def leaves(column, path):
    """The arrays of a column with their paths, as the recordings name them."""
    if isinstance(column, dict):
        for key, part in column.items():
            yield from leaves(part, f"{path}.{key}")
    elif isinstance(column, tuple):
        for place, part in enumerate(column):
            yield from leaves(part, f"{path}.#{place}")
    else:
        yield path, column


def assert_same_recordings(found, wanted):
    """Ids, arrays to the last bit and their dtypes, ends, and whose each is."""
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
