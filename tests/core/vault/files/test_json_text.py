"""JSON that people can diff is written, JSON that strangers built is refused."""

import json
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.files import json_text
from rlconnect.core.vault.files.json_text import format_json, parse_json

TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=120),
    lambda inner: (
        st.lists(inner, max_size=30)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=5)
    ),
    max_leaves=40,
)


@given(TREES)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_format_is_json(tree):
    """What is written is JSON of the same tree, in the same order."""
    text = format_json(tree)

    assert parse_json(text.encode(), "x.json") == tree
    assert json.dumps(json.loads(text)) == json.dumps(tree)
    assert text.endswith("\n")
    assert not any(line != line.rstrip() for line in text.split("\n"))


def test_one_entry_stands_on_one_line():
    """Entries have lines of their own; short lists and tags do not fill a page."""
    tree = {"a": 1, "b": [1, 2], "c": [{"d": []}], "e": {"$tuple": [1]}, "f": list(range(60))}

    lines = format_json(tree).split("\n")

    assert lines[:11] == [
        "{",
        '  "a": 1,',
        '  "b": [1, 2],',
        '  "c": [',
        "    {",
        '      "d": []',
        "    }",
        "  ],",
        '  "e": {"$tuple": [1]},',
        '  "f": [',
        "    0,",
    ]
    assert max(map(len, lines)) < 100


def test_array_rows_stay_on_one_line():
    """The numbers of one row belong together, however many they are."""
    tree = {"$inline": [list(range(80)), list(range(80))], "dtype": "int64", "shape": [2, 80]}

    lines = format_json(tree).split("\n")

    assert lines[1] == '  "$inline": ['
    assert json.loads(lines[2].rstrip(",")) == list(range(80))
    assert lines[4] == "  ],"


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "expecting value"),
        (b"{", "expecting property name"),
        (b'{"a": 1, "a": 2}', "'a' stands twice"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b"[-Infinity]", "Infinity is no JSON number"),
        (b"[1e999]", "beyond a float"),
        (b'["\xff"]', "not UTF-8"),
        (b"[1] [2]", "extra data"),
        (b"\xef\xbb\xbf[]", "line 1"),
        ('["x"]'.encode("utf-16"), "not UTF-8"),
        (b'["\\"', "unterminated string"),
    ],
)
def test_what_is_no_strict_json_is_damage(data, match):
    """Each text that two readers could read differently is refused, and why is said."""
    with pytest.raises(CorruptCheckpointError, match=match):
        parse_json(data, "x.json")


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"[" * 100_000, "nested 100,000 deep"),
        (b'{"a":' * 100_000, "nested 100,000 deep"),
        (b'"\\"[' + b'"' + b"[" * 300, "nested 300 deep"),
        (b"[" + b"9" * 1_000_000 + b"]", "integer of 1,000,000 digits"),
        (b"[" + b"[]," * 3_000_000 + b"[]]", "steps to decode|bytes"),
        (b"[" + b"0," * 3_000_000 + b"0]", "steps to decode|bytes"),
    ],
    ids=["lists", "objects", "after a string", "digits", "empty lists", "numbers"],
)
def test_bombs_are_refused_before_they_unfold(data, match):
    """Depth, digits and number of values are known before anything is built."""
    with pytest.raises(LimitExceededError, match=match):
        parse_json(data, "x.json")


def test_brackets_in_text_are_text():
    """Only structure counts as depth, whatever strings hold."""
    tree = {"a": "[" * 5000, 'b"\\': '{"' * 5000, "c": "\\"}

    assert parse_json(format_json(tree).encode(), "x.json") == tree


@pytest.mark.parametrize("count", range(4))
def test_escapes_count_across_the_parts_a_long_text_is_measured_in(monkeypatch, count):
    """A quote behind backslashes is judged right wherever the measuring cuts."""
    text = json.dumps({"a": "\\" * count + '"[[[["', "b": ["\\", '\\"']}).encode()
    for chunk in range(1, 12):
        monkeypatch.setattr(json_text, "_CHUNK", chunk)

        assert parse_json(text, "x.json", Limits(max_depth=2)) == json.loads(text)
        with pytest.raises(LimitExceededError, match="nested 2 deep"):
            parse_json(text, "x.json", Limits(max_depth=1))


BRACKETED = st.recursive(
    st.none() | st.integers(-9, 9) | st.text('ab[]{},"\\', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("k{", max_size=2), inner),
)


@given(BRACKETED, st.integers(1, 12))
def test_long_texts_are_counted_alike_both_ways(tree, depth):
    """Taking brackets out in pairs and looking at each byte charge and refuse the same."""
    text = json.dumps(tree).encode()
    ways = []
    for short, quick in ((-1, json_text._quick_count), (-1, lambda *_: None)):
        budget = Budget(Limits(max_depth=depth))
        with mock.patch.multiple(json_text, _SHORT=short, _quick_count=quick):
            try:
                json_text.check_text(text, "x.json", budget)
                ways.append((budget.left, budget.operations))
            except LimitExceededError:
                ways.append(None)

    assert ways[0] == ways[1]


def test_limits_can_be_moved():
    """A caller who trusts a file may read what the defaults refuse."""
    data = b"[" * 250 + b"]" * 250

    with pytest.raises(LimitExceededError):
        parse_json(data, "x.json")
    assert parse_json(data, "x.json", Limits(max_depth=300)) != []
    with pytest.raises(LimitExceededError, match="too long for a JSON file"):
        parse_json(data, "x.json", Limits(max_json_bytes=10))
