"""The known name that somebody may have meant, in time that no file can stretch."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

LONGEST_NAME: Final = 200
"""No name of ours comes near; what is longer is not looked at letter by letter."""


def near_names(word: str, known: Iterable[str], n: int = 1, cutoff: float = 0.6) -> list[str]:
    """Names close to a word, the closest first; none where the word is no name at all.

    `word` may come from a file. `cutoff` is how alike they are, from 0 to 1; case does not count.

    Example:
        >>> near_names("KepFeatures", ["KeepFeatures", "DropFeatures"])
        ['KeepFeatures']
        >>> near_names("K" * 1_000_000, ["KeepFeatures"])
        []
    """
    if len(word) > LONGEST_NAME:
        return []
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), names, n, cutoff)
    return [names[each] for each in near]


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """The hint of an error about a word that is unknown: the nearest that is, or something else.

    Example:
        >>> did_you_mean("KepFeatures", ["KeepFeatures", "DropFeatures"])
        "did you mean 'KeepFeatures'?"
    """
    near = near_names(word, known)
    return f"did you mean {near[0]!r}?" if near else otherwise
