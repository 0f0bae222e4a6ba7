"""Know what an object was constructed with, and when its construction is over.

RLlib reads constructor arguments from stack frames. Here every constructor of a class tree is
wrapped once, when its class is made; the outermost call of an object's construction counts.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

_VAR: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def recorded(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap a constructor: remember its arguments, and call `_finish_construction` at its end."""

    @functools.wraps(init)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        attributes = vars(self)
        if "_constructed_with" in attributes:  # a constructor called by a constructor
            init(self, *args, **kwargs)
            return
        attributes["_constructed_with"] = (args, kwargs)
        init(self, *args, **kwargs)
        self._finish_construction()

    return construct


def arguments_of(constructed: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments an object was constructed with: by name, with the defaults of its class."""
    args, kwargs = vars(constructed)["_constructed_with"]
    signature = inspect.signature(type(constructed).__init__)
    bound = signature.bind(constructed, *args, **kwargs)
    bound.apply_defaults()
    parameters = list(signature.parameters.values())[1:]
    spread = next((p for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
    by_place: tuple[Any, ...] = ()
    if spread is not None and bound.arguments[spread.name]:
        by_place = bound.args[1:]
        first = parameters.index(spread)
        parameters = parameters[first + 1 :]
    named = {p.name: bound.arguments[p.name] for p in parameters if p.kind not in _VAR}
    rest = next((p for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD), None)
    return by_place, {**named, **(bound.arguments[rest.name] if rest is not None else {})}
