"""Plain data as TOML, and back."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from typing import Any, Final

from .budget import MAX_DEPTH

_MOST_PARTS: Final = 64
_STRING: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'[^']*'""")
_FLOAT: Final = re.compile(r"\d\.\d")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def parse_toml(text: str) -> dict[str, Any]:
    """The data in a TOML text.

    Raises:
        ValueError: It is no TOML, or takes too long to read: the time grows with the square of the
            parts of a key.
    """
    for line in text.split("\n"):
        if line.count(".") > _MOST_PARTS:
            line = _STRING.sub("s", line.replace('"""', "").replace("'''", ""))
            if _FLOAT.sub("", line).count(".") > _MOST_PARTS:
                raise ValueError(f"a key of more than {_MOST_PARTS} parts")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level: list[Any] = [table]
    for _ in range(MAX_DEPTH):
        if not level:
            return table
        parts = [part.values() if isinstance(part, dict) else part for part in level]
        level = [each for part in parts for each in part if isinstance(each, (dict, list))]
    raise ValueError(f"it is nested more than {MAX_DEPTH} deep")


def toml_value(value: Any) -> str:
    """Plain data as TOML writes it.

    Example:
        >>> toml_value({"lr": 1e-5, "a key": [True, float("inf")]})
        '{ lr = 1e-05, "a key" = [true, inf] }'
    """
    if isinstance(value, Mapping):
        if not value:
            return "{}"
        pairs = ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # "inf" and "nan", with their sign
    # TOML's basic strings escape as JSON's do, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(key: str) -> str:
    """A key as TOML writes it: in quotes where it has to be."""
    return key if _BARE.fullmatch(key) else toml_value(key)
