"""Which kind of network the old stack chose for what a policy sees; no torch."""

from __future__ import annotations

from typing import Any, Literal

from gymnasium.spaces import Box, Dict, Space, Tuple

from .leaves import leaf_spaces


def network_kind(obs_space: Space[Any]) -> Literal["dense", "image", "nested"]:
    """Choose the kind of network for an observation space.

    Images get convolutions, vectors dense layers, anything else (and vectors made from a nested
    space with an image or matrix inside) one trunk per component.

    Example:
        >>> network_kind(Box(0, 255, (84, 84, 3))), network_kind(Dict(a=Box(0, 1, (2,))))
        ('image', 'nested')
    """
    if not isinstance(obs_space, Box):
        return "nested"
    if len(obs_space.shape) == 3:
        return "image"
    original = getattr(obs_space, "original_space", obs_space)
    has_matrix = isinstance(original, (Dict, Tuple)) and any(
        isinstance(leaf, Box) and len(leaf.shape) >= 2 for leaf in leaf_spaces(original)
    )
    return "nested" if len(obs_space.shape) != 1 or has_matrix else "dense"
