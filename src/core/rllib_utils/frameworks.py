"""Frameworks that may be there or not, and their tensors as numpy arrays: RLlib's names for it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from .. import array_namespace as xp
from .. import nest
from ..types import Nest


def try_import_torch(error: bool = False) -> tuple[Any, Any]:
    """The modules `torch` and `torch.nn`; None for both, or an `error`, where torch is missing.

    Example:
        >>> torch, nn = try_import_torch()
    """
    torch = _module("torch", error)
    return torch, None if torch is None else import_module("torch.nn")


def try_import_tf(error: bool = False) -> tuple[Any, Any, int | None]:
    """TensorFlow as `(tf.compat.v1, tf, 2)`; three times None, or an `error`, without it.

    Nothing here needs it: weights that TensorFlow saved run in torch.
    """
    tf = _module("tensorflow", error)
    return (None, None, None) if tf is None else (tf.compat.v1, tf, 2)


def try_import_tfp(error: bool = False) -> Any:
    """TensorFlow Probability; None, or an `error`, where it is not installed."""
    return _module("tensorflow_probability", error)


def try_import_jax(error: bool = False) -> tuple[Any, Any]:
    """The modules `jax` and `flax`; None, or an `error`, for each that is not installed."""
    return _module("jax", error), _module("flax", error)


def convert_to_numpy(x: Nest, reduce_type: bool = True) -> Nest:
    """Every tensor of a nest as a numpy array; other leaves stay.

    With `reduce_type` float64 becomes float32 and int64 int32, as in RLlib.

    Example:
        >>> convert_to_numpy({"a": np.zeros(2), "b": 1})
        {'a': array([0., 0.], dtype=float32), 'b': 1}
    """

    def converted(leaf: Any) -> Any:
        if xp.is_tensor(leaf):
            leaf = leaf.detach().cpu()
            leaf = leaf.numpy() if leaf.ndim else leaf.item()
        if reduce_type and isinstance(leaf, np.ndarray):
            kind = _REDUCED.get(leaf.dtype.char)
            return leaf if kind is None else leaf.astype(kind)
        return leaf

    return nest.map_structure(converted, x)


_REDUCED = {"d": np.float32, "q": np.int32, "l": np.int32}


def _module(name: str, error: bool) -> Any:
    return import_module(name) if error or find_spec(name) is not None else None
