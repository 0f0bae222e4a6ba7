"""ES and ARS: a network of the catalog, all its weights in one flat vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import WeightsError
from ..distributions.choice import by_space
from .catalog_networks import network_of_catalog
from .family import Blueprint, Family

if TYPE_CHECKING:
    from .head import PolicyHead


def _head(plan: Blueprint) -> PolicyHead:
    from .head import EvolutionHead

    return plan.head(EvolutionHead, plan.distribution.size, algorithm=plan.algorithm)


def unflattened(model: Any, vector: Any) -> dict[str, Any]:
    """One vector cut into the network's weights, names in sorted order.

    Raises:
        WeightsError: The vector is longer or shorter than all weights together.
    """
    named = dict(sorted(model.state_dict().items()))
    total = sum(value.numel() for value in named.values())
    if vector.shape != (total,):
        raise WeightsError(
            f"a flat vector of weights does not fit {type(model).__name__}",
            expected=f"{total} numbers for {', '.join(named)}",
            found=f"shape {vector.shape}",
        )
    edges = np.cumsum([value.numel() for value in named.values()])[:-1]
    parts = np.split(vector, edges)
    return {
        name: part.reshape(tuple(value.shape))
        for (name, value), part in zip(named.items(), parts, strict=True)
    }


FAMILY = Family(
    _head, network_of_catalog, lambda space, algorithm, config: by_space(space, fixed=True)
)
