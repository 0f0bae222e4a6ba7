"""Which names may be those of files side by side, on which system."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

_NOT_ON_WINDOWS: Final = frozenset('<>:"|?*') | {chr(code) for code in range(32)}
_DEVICES: Final = frozenset(
    ["con", "prn", "aux", "nul"] + [f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)]
)


def names_trouble(names: Iterable[str], platform: str = sys.platform) -> str:
    """Why names cannot all be files of one folder; empty if they can.

    `platform` is the system, as `sys.platform` names it.

    Example:
        >>> names_trouble(["a:b", "c"], "win32")
        "'a:b' has ':' in it, which Windows keeps for itself"
        >>> names_trouble(["a:b", "c"], "linux")
        ''
        >>> names_trouble(["agent", "Agent"], "darwin")
        "'agent' and 'Agent' differ in case alone, which this system does not tell apart"
    """
    by_folded: dict[str, str] = {}
    for name in names:
        if not name or name in (".", "..") or {"/", "\\", "\0"} & {*name}:
            return f"{name!r} is no name of a file anywhere"
        if platform == "win32":
            reserved = next((each for each in name if each in _NOT_ON_WINDOWS), "")
            if reserved:
                return f"{name!r} has {reserved!r} in it, which Windows keeps for itself"
            if name.split(".")[0].strip().lower() in _DEVICES:
                return f"{name!r} is a device on Windows"
            if name[-1] in ". ":
                return f"{name!r} ends in {name[-1]!r}, which Windows drops"
        if platform in ("win32", "darwin"):
            other = by_folded.setdefault(name.casefold(), name)
            if other != name:
                return (
                    f"{other!r} and {name!r} differ in case alone, "
                    "which this system does not tell apart"
                )
    return ""
