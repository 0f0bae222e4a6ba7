"""Small conversions of lists, dicts and classes, under RLlib's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any


def force_list(elements: Any = None, to_tuple: bool = False) -> Any:
    """A list, or a tuple, of one thing, several or none.

    Example:
        >>> force_list(3), force_list((1, 2)), force_list()
        ([3], [1, 2], [])
    """
    kind = tuple if to_tuple else list
    if elements is None:
        return kind()
    return kind(elements) if isinstance(elements, (list, tuple, set)) else kind([elements])


def force_tuple(elements: Any = None) -> Any:
    """A tuple of one thing, several or none."""
    return force_list(elements, to_tuple=True)


def flatten_dict(nested: Mapping[Any, Any], sep: str = "/", env_steps: int = 0) -> dict[str, Any]:
    """Nested dicts and lists as one dict, keys and positions joined; empty ones vanish.

    Example:
        >>> flatten_dict({"a": {"b": 1}, "c": [2, 3]})
        {'a/b': 1, 'c/0': 2, 'c/1': 3}
    """
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, (list, tuple)):
            value = dict(enumerate(value))
        if isinstance(value, Mapping):
            flat.update((f"{key}{sep}{rest}", v) for rest, v in flatten_dict(value, sep).items())
        else:
            flat[str(key)] = value
    return flat


def unflatten_dict(flat: Mapping[str, Any], sep: str = "/") -> dict[str, Any]:
    """The inverse of `flatten_dict`.

    Example:
        >>> unflatten_dict({"a/b": 1, "c": 2})
        {'a': {'b': 1}, 'c': 2}
    """
    nested: dict[str, Any] = {}
    for path, value in flat.items():
        *outer, last = path.split(sep)
        inner = nested
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return nested


def add_mixins(base: type, mixins: Sequence[type] | None, reversed: bool = False) -> type:
    """`base` with other classes mixed in, the first one first in line.

    With `reversed` they stand behind `base`, the last one first, so that `base` wins.
    """
    for mixin in (mixins or ())[::-1]:
        bases = (base, mixin) if reversed else (mixin, base)
        base = type("new_base", bases, {})
    return base


@contextmanager
def NullContextManager(*args: Any, **kwargs: Any) -> Iterator[None]:
    """A `with` block that does nothing, whatever it is given."""
    yield


class LambdaDefaultDict(dict[Any, Any]):
    """A dict whose missing values are made from their keys by `default_factory`.

    Example:
        >>> LambdaDefaultDict(lambda name: name.upper())["a"]
        'A'
    """

    def __init__(self, default_factory: Any, *args: Any, **kwargs: Any) -> None:
        if not callable(default_factory):
            raise TypeError(
                f"a LambdaDefaultDict needs a function, found {type(default_factory).__name__}."
            )
        super().__init__(*args, **kwargs)
        self.default_factory = default_factory

    def __missing__(self, key: Any) -> Any:
        self[key] = self.default_factory(key)
        return self[key]
