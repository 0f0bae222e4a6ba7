"""Recorded episodes as arrays: straight from rows, and the same as by way of episodes."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import PieceError
from rlconnect.offline import open_dataset
from rlconnect.offline.readers.json_lines import members_of
from rlconnect.offline.recordings import recordings

from tests.offline.columns import assert_same_recordings

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
        wanted = [each for several in recordings(by_episode) for each in several]
    except PieceError:  # of several policies
        wanted = [each for several in recordings(data.episodes(), "even") for each in several]

    found = list(data.recordings("even"))

    assert_same_recordings(found, wanted)


@st.composite
def rows(draw):
    """Columns of a file whose writer was more or less careful."""
    count = draw(st.integers(1, 14))
    of_rows = {"min_size": count, "max_size": count}
    columns = {
        "obs": [[float(row), 0.0] for row in range(count)],
        "actions": draw(st.lists(st.integers(0, 1), **of_rows)),
        "rewards": [float(row) for row in range(count)],
        "action_prob": [0.5] * count,
        "eps_id": sorted(draw(st.lists(st.integers(0, 4), **of_rows))),
        "terminateds": draw(st.lists(st.booleans(), **of_rows)),
        "truncateds": draw(st.lists(st.booleans(), **of_rows)),
        "t": draw(st.lists(st.integers(0, 3), **of_rows)),
        "agent_index": draw(st.lists(st.integers(0, 1), **of_rows)),
    }
    columns["new_obs"] = [[row + 0.5, 1.0] for row in range(count)]
    kept = draw(st.sets(st.sampled_from(["eps_id", "truncateds", "t", "new_obs"])))
    gone = {"agent_index"} if draw(st.booleans()) else set()
    for name in {"eps_id", "truncateds", "t", "new_obs"} - kept | gone:
        if draw(st.booleans()):
            del columns[name]
    return count, columns


@settings(deadline=None)
@given(rows(), st.sets(st.integers(1, 13)))
def test_whole_episodes_at_once_are_those_that_are_made_one_by_one(tmp_path_factory, held, cuts):
    """Wherever lines cut, whatever columns are missing, and if ids are used again."""
    count, columns = held
    bounds = [0, *sorted(cut for cut in cuts if cut < count), count]
    lines = [
        {"type": "SampleBatch", **{name: values[a:b] for name, values in columns.items()}}
        for a, b in pairwise(bounds)
    ]
    file = tmp_path_factory.mktemp("rows") / "output.json"
    file.write_text("\n".join(map(json.dumps, lines)))
    data = open_dataset(file)

    found = list(data.recordings("default_policy"))

    wanted = recordings(data.episodes(), "default_policy")
    assert_same_recordings(found, [each for several in wanted for each in several])


MEMBERS = st.recursive(
    st.none() | st.integers(-9, 9) | st.text('ab[]{},:" ', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("k{", max_size=2), inner),
)


@given(st.dictionaries(st.text("ab", min_size=1, max_size=2), MEMBERS, max_size=5))
def test_members_stand_where_they_are_found(tree):
    """All of them and nothing else, or nothing is told where texts lie deeper."""
    text = json.dumps(tree)

    places = members_of(text.encode())

    is_plain = tree and all(isinstance(value, (str, list)) for value in tree.values())
    has_deeper = any('"' in json.dumps(v) for v in tree.values() if isinstance(v, list))
    assert (places is not None) == (bool(is_plain) and not has_deeper and "\\" not in text)
    if places is not None:
        assert {n.decode(): json.loads(text[place]) for n, place in places.items()} == tree
