"""Text of strangers is spelt out: whatever goes in, nothing that acts comes out."""

import json

from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.text.visible import visible, visible_data, visible_json

ANY_TEXT = st.text(st.characters(), max_size=40)


@given(ANY_TEXT)
def test_visible_text_is_printable(text):
    """Every character that comes out can be seen, on one line; printable text stays as it was."""
    shown = visible(text)

    assert shown.isprintable()
    assert not text.isprintable() or shown == text


@given(ANY_TEXT)
def test_json_keeps_its_meaning(text):
    """What cannot be seen is escaped, and comes back from JSON as it was."""
    written = visible_json({text: [text]})

    assert json.loads(written) == {text: [text]}
    assert [c for c in written if c in "\x1b\x9b\x7f\u202e\u2028\ufeff"] == []
    written.encode()


def test_long_text_is_cut():
    """A megabyte of name is not printed."""
    assert visible("x" * 10_000_000, 10) == "x" * 10 + "…"
    assert visible("\x1b" * 3, 2) == "\\x1b\\x1b…"


def test_data_is_visible_through_and_through():
    """Keys, values, lists and tuples alike; numbers are left alone."""
    assert visible_data({"\n": ("\t", [1, None, {"\r": 2.5}])}) == {
        "\\n": ["\\t", [1, None, {"\\r": 2.5}]]
    }
