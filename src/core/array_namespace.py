"""The little that numpy and torch spell differently, so that one formula serves both.

Which of the two an argument belongs to is found without importing torch: where torch is not
loaded, nothing can be a tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .importing.torch_needed import torch_needed
from .types import Array


def is_tensor(value: Any) -> bool:
    """True if `value` is a torch tensor.

    Example:
        >>> is_tensor(np.zeros(2))
        False
    """
    if type(value) is np.ndarray:  # the usual answer, at a third of the time
        return False
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def namespace(value: Any) -> Any:
    """The module whose functions fit `value`: torch for a tensor, else numpy."""
    if type(value) is np.ndarray:
        return np
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(value, torch.Tensor) else np


def as_array(value: Any) -> Any:
    """`value` itself if it is an array or a tensor, else a numpy array of it."""
    return value if isinstance(value, np.ndarray) or is_tensor(value) else np.asarray(value)


def to_numpy(value: Any) -> Any:
    """`value` as a numpy array, off its device and out of its graph."""
    return value.detach().cpu().numpy() if is_tensor(value) else np.asarray(value)


def constant(value: Any, like: Any) -> Any:
    """`value` in the namespace and on the device of `like`; its dtype stays its own.

    Python's own numbers and None serve both as they are.
    """
    if not isinstance(value, (np.ndarray, np.generic)) or not is_tensor(like):
        return value
    # torch warns about memory it may not write to and knows no negative strides.
    return sys.modules["torch"].as_tensor(np.array(value), device=like.device)


def cast(value: Any, dtype: npt.DTypeLike) -> Any:
    """`value` as `dtype`, given in numpy's words; no copy where it has that dtype already."""
    if is_tensor(value):
        return value.to(getattr(sys.modules["torch"], np.dtype(dtype).name))
    return np.asarray(value).astype(dtype, copy=False)


def cast_like(value: Any, like: Any) -> Any:
    """`value` in the dtype of `like`."""
    if value.dtype == like.dtype:
        return value
    return value.to(like.dtype) if is_tensor(value) else value.astype(like.dtype, copy=False)


def clip(value: Any, low: Any, high: Any) -> Any:
    """`value` between two bounds, each a number or an array that broadcasts against it."""
    if isinstance(value, np.ndarray) and isinstance(low, np.ndarray):
        return np.minimum(np.maximum(value, low), high)  # np.clip without its layers of Python
    if is_tensor(value):
        return value.clamp(constant(low, value), constant(high, value))
    return np.clip(value, low, high)


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    """Several arrays or several tensors as one, along an existing axis."""
    if is_tensor(parts[0]):
        return sys.modules["torch"].cat(list(parts), dim=axis)
    return np.concatenate(parts, axis=axis)


def on_device(value: Array, device: Any) -> Any:
    """A numpy constant as a tensor on `device`: what a compiled formula carries along."""
    with torch_needed(f"computing on {device}"):
        import torch

    return torch.as_tensor(np.array(value), device=device)
