"""Results of `train()` as text, as Ray Tune's `pretty_print` shows them."""

from __future__ import annotations

from typing import Any

from ...core.text.visible import visible


def pretty_print(result: dict[str, Any], exclude: set[str] | None = None) -> str:
    """A result of `train()` as indented lines, without the settings.

    Args:
        result: The result.
        exclude: Keys at its top to leave out.

    Example:
        >>> print(pretty_print({"b": {"c": 2.0}, "a": [1], "config": {}}), end="")
        a:
        - 1
        b:
          c: 2.0
    """
    left_out = {"config", "hist_stats"} | (exclude or set())
    shown = {key: value for key, value in result.items() if key not in left_out}
    return "".join(f"{line}\n" for line in _lines(shown, 0))


def _lines(value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    lines = []
    for key in sorted(value, key=str):
        item, name = value[key], visible(key)
        item = item.tolist() if hasattr(item, "tolist") else item
        if isinstance(item, dict) and item:
            lines += [f"{pad}{name}:", *_lines(item, depth + 1)]
        elif isinstance(item, (list, tuple)) and item:
            lines += [f"{pad}{name}:", *(f"{pad}- {_word(word)}" for word in item)]
        else:
            lines.append(f"{pad}{name}: {_word(item)}")
    return lines


def _word(item: Any) -> str:
    if item is None or isinstance(item, bool):
        return {None: "null", True: "true", False: "false"}[item]
    text = str(item)
    return visible(text, len(text))
