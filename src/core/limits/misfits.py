"""Which settings ask for a network of another shape than its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ..errors import WeightsError

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


def shape_misfit(
    expected_shapes: Shapes,
    saved_shapes: Shapes,
    what: str,
    settings: Mapping[str, Any],
    kind: type[WeightsError] = WeightsError,
) -> WeightsError | None:
    """The error for the first weight that has another shape than the settings ask for.

    Settings and spaces come by name, for the message, and so does what has them.

    Example:
        >>> print(shape_misfit({"w": (9, 2)}, {"w": (5, 2)}, "a net", {"hiddens": [9]}).expected)
        (9, 2), as hiddens=[9] says
    """
    for name, expected_shape in expected_shapes.items():
        saved_shape = saved_shapes.get(name)
        if saved_shape is not None and tuple(saved_shape) != tuple(expected_shape):
            blamed = named(_that_ask_for(expected_shape, saved_shape, settings), settings)
            says = f"as {blamed} says" if blamed else "as its settings and spaces say"
            return kind(
                f"the settings of {what} and its weights disagree: {name!r} has another shape "
                "(size mismatch)",
                expected=f"{tuple(expected_shape)}, {says}",
                found=f"weights of shape {tuple(saved_shape)}",
                hint="give the model settings it was trained with, in place of the file's.",
                weight=name,
            )
    return None


def asked_shapes(build: Callable[[], Any]) -> Shapes:
    """Names and shapes of a network's weights, without any of them being made."""
    import torch

    with torch.device("meta"):
        network = build()
    return {name: tuple(part.shape) for name, part in network.state_dict().items()}


def named(names: Iterable[str], settings: Mapping[str, Any]) -> str:
    """Settings with their values, in a line."""
    return ", ".join(f"{name}={settings[name]!r}"[:80] for name in names if name in settings)


def _that_ask_for(
    expected_shape: tuple[int, ...], saved_shape: tuple[int, ...], settings: Mapping[str, Any]
) -> list[str]:
    sizes = set(expected_shape) - set(saved_shape)
    # The gates of an LSTM lie in one weight, as means and deviations of actions do.
    sizes_asked = {size // parts for size in sizes for parts in (1, 2, 3, 4) if size % parts == 0}
    return [name for name, value in settings.items() if sizes_asked & _whole_numbers(value)]


def _whole_numbers(value: Any) -> set[int]:
    if isinstance(value, bool):
        return set()
    if isinstance(value, int):
        return {value}
    if isinstance(value, (list, tuple)):
        return {number for each in value for number in _whole_numbers(each)}
    sizes = (*(getattr(value, "shape", None) or ()), getattr(value, "n", None))
    return {int(size) for size in sizes if size is not None}
