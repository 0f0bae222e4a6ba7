"""Which distribution fits an action space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Space

from ...core.errors import SpaceError
from ...core.importing.torch_needed import torch_needed

if TYPE_CHECKING:
    from ..distributions.base import Distribution


class UnsupportedSpaceException(SpaceError, NotImplementedError):
    """No default network or distribution fits a space; RLlib's name for it."""


def distribution_class(action_space: Space[Any]) -> type[Distribution]:
    """The default distribution class of an action space.

    Discrete: categorical. Box of floats with one axis or none: diagonal normal. MultiDiscrete:
    one categorical per choice. Dict and Tuple: one of these per leaf.

    Raises:
        UnsupportedSpaceException: None fits.
    """
    with torch_needed("a distribution class"):
        from ..distributions.torch_continuous import TorchDiagGaussian
        from ..distributions.torch_discrete import TorchCategorical, TorchMultiCategorical

    if isinstance(action_space, spaces.Discrete):
        return TorchCategorical
    if isinstance(action_space, spaces.Box):
        _check_box(action_space)
        return TorchDiagGaussian
    if isinstance(action_space, spaces.MultiDiscrete):
        lens = np.asarray(action_space.nvec).ravel()
        return TorchMultiCategorical.get_partial_dist_cls(input_lens=[int(n) for n in lens])
    if isinstance(action_space, (spaces.Dict, spaces.Tuple)):
        return _multi(action_space)
    raise UnsupportedSpaceException(
        f"no default distribution for actions of {action_space!r}",
        expected="Discrete, MultiDiscrete, Box of floats, or a Dict or Tuple of these",
        hint="set `self.action_dist_cls` in setup() of a custom module.",
    )


def _check_box(space: spaces.Box) -> None:
    if not np.issubdtype(space.dtype, np.floating):
        raise UnsupportedSpaceException(
            "actions in a Box of integers have no default distribution",
            expected="MultiDiscrete or a Box of floats",
            found=repr(space),
        )
    if len(space.shape) > 1:
        raise UnsupportedSpaceException(
            f"actions of several axes {space.shape} have no default distribution",
            expected="a flat Box",
            found=repr(space),
            hint="flatten the action space, or set `self.action_dist_cls` in a custom module.",
        )


def _multi(space: spaces.Dict | spaces.Tuple[Any]) -> type[Distribution]:
    from ...core import nest
    from ...core.formulas.actions import get_base_struct_from_space
    from ..distributions.torch_multi import TorchMultiDistribution

    struct = get_base_struct_from_space(space)
    leaves = nest.flatten(struct)
    classes = [distribution_class(leaf) for leaf in leaves]
    lens = [kind.required_input_dim(leaf) for kind, leaf in zip(classes, leaves, strict=True)]
    return TorchMultiDistribution.get_partial_dist_cls(
        child_distribution_cls_struct=nest.unflatten_as(struct, classes), input_lens=lens
    )
