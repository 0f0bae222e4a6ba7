r"""Text of strangers, made safe for a terminal: what cannot be seen is spelt out.

A policy may be named by an escape sequence that clears the screen, or by one that makes text run
backwards. Every character that is not printable becomes its escape: `\x1b`, `\u202e`, `\n`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

MOST_SHOWN: Final = 300
_LISTED: Final = "\n    "
# Control, format and private characters, separators of lines, halves of surrogate pairs.
_UNSEEN_IN_JSON: Final = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff0-\uffff]"
)


def visible(text: object, most: int = MOST_SHOWN) -> str:
    r"""`text` on one line of printable characters, cut after `most`.

    Example:
        >>> print(visible("agent\x1b[2J\n"))
        agent\x1b[2J\n
    """
    full = str(text)
    cut = full[:most]
    if cut.isprintable():
        return f"{cut}…" if len(full) > most else cut
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)
    return f"{shown}…" if len(full) > most else shown


def visible_lines(text: str) -> str:
    r"""`text` with all but its own line breaks visible: those before four spaces, as lists have.

    Example:
        >>> print(visible_lines("its weights:\n    w\x1b[2J  (2,)\nhint: none"))
        its weights:
            w\x1b[2J  (2,)\nhint: none
    """
    if text.isprintable():
        return text
    return _LISTED.join(visible(line, len(line)) for line in text.split(_LISTED))


def visible_data(value: Any) -> Any:
    r"""Plain data with every text made visible, keys included.

    Example:
        >>> visible_data({"a": ["\x07", 1]})
        {'a': ['\\x07', 1]}
    """
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible_data(key): visible_data(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible_data(part) for part in value]
    return value


def visible_html(text: object) -> str:
    r"""`text` as HTML shows it: no tag, no character that acts.

    Example:
        >>> visible_html("<b>\x1b\u202e")
        '&lt;b&gt;\\x1b\\u202e'
    """
    from html import escape  # only reports need it, errors are everywhere

    return escape(visible(text, most=2000))


def visible_json(data: Any) -> str:
    r"""Data as indented JSON, readable in any script, without one character that acts.

    Example:
        >>> print(visible_json({"naïve": "\x9b1m"}))
        {
          "naïve": "\u009b1m"
        }
    """
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    return _UNSEEN_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
