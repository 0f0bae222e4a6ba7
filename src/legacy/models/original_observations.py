"""Flattened observations as the nest they were made from, for models that do it by hand."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Space

from .flat_layout import flat_layout, restore


def restore_original_dimensions(obs: Any, obs_space: Space[Any], tensorlib: Any = "torch") -> Any:
    """Turn what a preprocessor flattened `(B, size)` back into its nest.

    Args:
        obs: Array or tensor; returned as it is where the space was not nested.
        obs_space: Of the flattened observations; its `original_space` is the nested one.
        tensorlib: Taken for Ray's signature.

    Example:
        >>> from gymnasium.spaces import Box, Discrete, Tuple
        >>> import numpy as np
        >>> flat = Box(-1, 1, (3,))
        >>> flat.original_space = Tuple([Discrete(2), Box(-1, 1, (1,))])
        >>> restore_original_dimensions(np.array([[0.0, 1.0, 0.5]]), flat)
        [array([[0., 1.]]), array([[0.5]])]
    """
    original = getattr(obs_space, "original_space", None)
    return obs if original is None else restore(obs, flat_layout(original))


def flatten(obs: Any, framework: str = "torch") -> Any:
    """Every item of a batch as one row.

    Args:
        obs: Array or tensor `(B, ...)`.
        framework: Taken for Ray's signature.
    """
    return obs.reshape(obs.shape[0], -1)
