"""Integers as rows of zeros with a single one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .. import array_namespace as xp
from ..errors import SpaceError


def one_hot(
    x: Any,
    depth: int | spaces.Space[Any] = 0,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: npt.DTypeLike = np.float32,
    *,
    space: spaces.Space[Any] | None = None,
) -> Any:
    """One-hot rows of integers, on a new last axis.

    Args:
        x: Integers of any shape, numpy or torch.
        depth: Length of a row; 0 means one more than the largest integer in `x`. A space here
            is what RLlib's function of this name for torch takes: see `one_hot_in_space`.
            With a length rows are arrays, of tensors, too, as in RLlib's function for numpy.
        on_value: Written where the integer points.
        off_value: Written everywhere else.
        dtype: Of the result, in numpy's words.
        space: The space, by name.

    Raises:
        SpaceError: An integer does not fit into `depth`, or `x` holds no integers.

    Example:
        >>> one_hot(np.array([0, 2]), depth=3)
        array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    if space is None and isinstance(depth, spaces.Space):
        space = depth
    if space is not None:
        return one_hot_in_space(x, space)
    depth = int(depth)  # type: ignore[arg-type]  # a space went another way
    indices = as_indices(xp.to_numpy(x) if xp.is_tensor(x) else x)
    depth = depth or (int(indices.max()) + 1 if indices.size else 0)
    check_indices(indices, depth)
    out = np.full((indices.size, depth), off_value, dtype)
    out[np.arange(indices.size), indices.reshape(-1)] = on_value
    return out.reshape((*indices.shape, depth))


def one_hot_in_space(x: Any, space: spaces.Space[Any]) -> Any:
    """One-hot rows for values of a Discrete or MultiDiscrete space.

    The parts of a MultiDiscrete are concatenated; arrays become float32, tensors int64. As in
    RLlib, values index a row directly, whatever the space's `start`: modules return 0 to n - 1.
    Values of the space beyond that range are taken modulo n.

    Example:
        >>> one_hot_in_space(np.array([1, 0]), spaces.MultiDiscrete([2, 3]))
        array([0., 1., 1., 0., 0.], dtype=float32)
    """
    if isinstance(space, spaces.Discrete):
        rows = (x if xp.is_tensor(x) else as_indices(x))[..., None]
        sizes, start = np.array([space.n]), np.array([space.start])
    elif isinstance(space, spaces.MultiDiscrete):
        rows = x if xp.is_tensor(x) else as_indices(x)
        sizes = space.nvec.reshape(-1)
        start = np.ravel(getattr(space, "start", 0)) + np.zeros_like(sizes)
        rows = rows.reshape((*rows.shape[: rows.ndim - space.nvec.ndim], sizes.size))
    else:
        raise SpaceError(
            "this space has no one-hot form",
            expected="Discrete or MultiDiscrete",
            found=str(space),
        )
    is_shifted = bool(start.any())
    if xp.is_tensor(rows):
        if is_shifted:
            rows = rows % xp.constant(sizes, rows)
        parts = [index_rows(rows[..., i], int(size)) for i, size in enumerate(sizes)]
        return xp.cast(xp.concatenate(parts, -1), np.int64)
    if is_shifted:
        least = np.minimum(start, 0)
        check_indices(rows - least, sizes + np.abs(start))
        rows = rows % sizes
    check_indices(rows, sizes)
    out = np.zeros((*rows.shape[:-1], int(sizes.sum())), np.float32)
    np.put_along_axis(out, rows + (np.cumsum(sizes) - sizes), 1.0, axis=-1)
    return out


def index_rows(indices: Any, size: int) -> Any:
    """One-hot rows of a tensor as booleans: a comparison, so compilers fuse it."""
    torch = xp.namespace(indices)
    return indices.long()[..., None] == torch.arange(size, device=indices.device)


def as_indices(x: Any) -> npt.NDArray[Any]:
    """`x` as an array of integers, refused where it holds anything else."""
    indices = np.asarray(x)
    if indices.dtype.kind not in "iu":
        if indices.dtype.kind == "b" or indices.size == 0:
            return indices.astype(np.int64)
        raise SpaceError(
            "only integers have a one-hot form", expected="integers", found=str(indices.dtype)
        )
    return indices


def check_indices(indices: npt.NDArray[Any], sizes: Any) -> None:
    """Refuse indices below 0 or not below their size."""
    if indices.size and (indices.min() < 0 or (indices >= sizes).any()):
        is_outside = (indices < 0) | (indices >= sizes)
        raise outside(indices[is_outside].reshape(-1)[0], sizes)


def outside(index: Any, sizes: Any) -> SpaceError:
    """The error for an index that points out of its row."""
    return SpaceError(
        "an index does not fit its one-hot row",
        expected=f"0 <= index < {sizes}",
        found=str(index),
    )


def one_hot_multidiscrete(x: Any, depths: Any) -> Any:
    """Concatenate the one-hot rows of several integers, as float32.

    Args:
        x: Integers, their last axis as long as `depths`.
        depths: How many values each may take.

    Example:
        >>> one_hot_multidiscrete(np.array([0, 2]), [2, 3])
        array([1., 0., 0., 0., 1.], dtype=float32)
    """
    return xp.cast(one_hot_in_space(x, spaces.MultiDiscrete(np.asarray(depths))), np.float32)
