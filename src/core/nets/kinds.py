"""The kinds of layers and the settings of each, as a description holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..data.checked import flag, number, whole

Check = Callable[[Any], Any]

_LARGEST: Final = 1_000_000


@dataclass(frozen=True)
class Kind:
    """A kind of layer.

    `value` checks what stands behind the kind's name, which `words` tell in errors; `settings` are
    checks of further settings. `parts` are its weights in an explicit `weights = {...}`. `inputs`
    is how many inputs it takes one by one; 0 where they are joined into one.
    """

    value: Check
    words: str
    settings: Mapping[str, Check] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    inputs: int = 0


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > 1000:
        raise ValueError("a text was expected")
    return value


def _size(value: Any) -> int:
    size = whole(value)
    if not 0 <= size <= _LARGEST:
        raise ValueError(f"{size} is not between 0 and {_LARGEST:,}")
    return size


def _step(value: Any) -> int:
    step = _size(value)
    if not step:
        raise ValueError("0 is no size")
    return step


def _axes(check: Callable[[Any], int]) -> Check:
    """One number for all axes of an image, or a list of them."""

    def checked(value: Any) -> Any:
        if isinstance(value, Sequence) and not isinstance(value, str):
            if not 0 < len(value) <= 6:
                raise ValueError(f"{len(value)} numbers")
            return [check(each) for each in value]
        return check(value)

    return checked


def _list(check: Check) -> Check:
    def checked(value: Any) -> Any:
        if not isinstance(value, Sequence) or isinstance(value, str) or not 0 < len(value) <= 32:
            raise ValueError("a list was expected")
        return [check(each) for each in value]

    return checked


def _one_of(*words: str) -> Check:
    def checked(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"one of {', '.join(words)} was expected")
        return value

    return checked


def _padding(value: Any) -> Any:
    return value if value in ("same", "valid") else _axes(_size)(value)


def _range(value: Any) -> list[float]:
    low, high = map(number, value)
    if low > high:
        raise ValueError(f"{low} lies above {high}")
    return [low, high]


def _span(value: Any) -> list[int]:
    start, stop = map(_size, value)
    return [start, stop]


def _yes(value: Any) -> bool:
    if not flag(value):
        raise ValueError("true was expected")
    return True


def _whole_axis(value: Any) -> int:
    return -1 if whole(value) == -1 else _step(value)


_WEIGHTS: Final = "the prefix of its weights' names"
_IMAGE: Final[Mapping[str, Check]] = {
    "stride": _axes(_step),
    "padding": _padding,
    "channels": _one_of("first", "last"),
}

KINDS: Final[Mapping[str, Kind]] = {
    "activation": Kind(_text, "the name of an activation"),
    "add": Kind(_list(_text), "a list of layers of one shape", inputs=-1),
    "batch_norm": Kind(
        _text,
        _WEIGHTS,
        {"epsilon": number, "channels": _one_of("first", "last")},
        ("weight", "bias", "running_mean", "running_var"),
    ),
    "clip": Kind(_range, "[lowest, highest]"),
    "convolution": Kind(
        _text, _WEIGHTS, {**_IMAGE, "dilation": _axes(_step), "groups": _step}, ("weight", "bias")
    ),
    "dense": Kind(_text, _WEIGHTS, {"turned": flag}, ("weight", "bias")),
    "divide": Kind(number, "a number"),
    "dueling": Kind(_list(_text), "[advantages, value]", {"atoms": _step}, inputs=2),
    "embedding": Kind(_text, _WEIGHTS, {}, ("weight",)),
    "expected": Kind(_range, "[lowest return, highest return]", {"atoms": _step}),
    "flatten": Kind(_yes, "true"),
    "gru": Kind(_text, _WEIGHTS, {}, ("weight_ih", "weight_hh", "bias_ih", "bias_hh")),
    "layer_norm": Kind(_text, _WEIGHTS, {"epsilon": number}, ("weight", "bias")),
    "lstm": Kind(_text, _WEIGHTS, {}, ("weight_ih", "weight_hh", "bias_ih", "bias_hh")),
    "mask": Kind(_text, "the input that is 1 where an action may be taken"),
    "multiply": Kind(_list(_text), "a list of layers of one shape", inputs=-1),
    "parameter": Kind(_text, "the name of a weight, the same for every observation"),
    "permute": Kind(_list(_size), "the axes in their new order, from 0"),
    "pool": Kind(_one_of("max", "mean"), "max or mean", {**_IMAGE, "size": _axes(_step)}),
    "reshape": Kind(_list(_whole_axis), "sizes, one of them -1"),
    "slice": Kind(_span, "[first, end]"),
    "squash": Kind(_text, _WEIGHTS, {}, ("low_action", "action_range")),
    "subtract": Kind(number, "a number"),
}
"""Every kind of layer, by the key that names it in a description."""

OUTPUTS: Final = ("logits", "value", "q")
"""Possible outputs: inputs of the action distribution, the value, values of all actions."""

INPUTS: Final = ("obs", "prev_actions", "prev_rewards")
"""Possible inputs; also the entries of a nested observation, as `obs.key`."""
