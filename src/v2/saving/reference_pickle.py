"""Pickles that name classes and functions by reference, ours by the names RLlib gives them.

Written for Ray to read; rlconnect itself reads pickles through the vault, which runs nothing.
"""

from __future__ import annotations

import io
import pickle
from types import FunctionType
from typing import Any, ClassVar

from .class_names import saved_name


def dump(value: Any) -> bytes:
    """The pickle of plain data, arrays, spaces and references to classes and functions."""
    file = io.BytesIO()
    _Writer(file, protocol=4).dump(value)
    return file.getvalue()


# Only Python's own pickler, not the C one, lets a reference be written that it cannot look up.
_Pickler: Any = vars(pickle)["_Pickler"]


class _Writer(_Pickler):  # type: ignore[misc]  # it has no types
    dispatch: ClassVar[dict[Any, Any]] = {**_Pickler.dispatch}

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a reference; RLlib's names, local ones and a script's need not be importable."""
        qualified = getattr(obj, "__qualname__", "")
        module, own_name = saved_name(obj) if qualified and not name else ("", "")
        is_ours = module != getattr(obj, "__module__", None)
        is_at_hand = "<" not in qualified and module != "__main__"  # in a trial's process, say
        if not own_name or (is_at_hand and not is_ours):
            super().save_global(obj, name)
            return
        self.save(module)
        self.save(own_name)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)

    dispatch[FunctionType] = save_global
