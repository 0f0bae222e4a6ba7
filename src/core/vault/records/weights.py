"""The weights of one policy or module: names, shapes and dtypes at once, numbers on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...errors import UnknownNameError


class WeightTable(Mapping[str, "np.ndarray[Any, Any]"]):
    """Arrays by name; they may stay in a file until they are used.

    Of arrays that are not loaded yet `shapes` has shape and dtype, and `load` loads one. `named` is
    False where the file holds a bare list (TensorFlow eager) and the names are just positions.

    Example:
        >>> table = WeightTable({"fc.weight": np.zeros((2, 3), np.float32)})
        >>> table.describe("fc.weight"), table.parameter_count
        (((2, 3), 'float32'), 6)
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray[Any, Any]] | None = None,
        *,
        shapes: Mapping[str, tuple[tuple[int, ...], str]] | None = None,
        load: Callable[[str], np.ndarray[Any, Any]] | None = None,
        named: bool = True,
    ) -> None:
        self._arrays = dict(arrays or {})
        self._load = load
        self._facts = {name: (a.shape, str(a.dtype)) for name, a in self._arrays.items()}
        self._facts.update(shapes or {})
        self.named = named

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        if name in self._arrays:
            return self._arrays[name]
        if name not in self._facts or self._load is None:
            raise UnknownNameError(
                f"no weights named {name!r}",
                found=", ".join(list(self._facts)[:8]) or "none at all",
            )
        return self._load(name)

    def __contains__(self, name: object) -> bool:
        return name in self._facts

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def describe(self, name: str) -> tuple[tuple[int, ...], str]:
        """Shape and dtype of one array, without loading it."""
        return self._facts[name]

    @property
    def parameter_count(self) -> int:
        """Numbers in all arrays together."""
        return sum(int(np.prod(shape, dtype=np.int64)) for shape, _ in self._facts.values())

    def __repr__(self) -> str:
        return f"WeightTable({len(self)} arrays, {self.parameter_count:,} numbers)"
