"""Heads of ES and ARS, which keep all their weights in one flat vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor, nn

from ...core.errors import WeightsError
from .head import PolicyHead


class EvolutionHead(PolicyHead):
    """The network's outputs are the distribution's inputs; there are no fetches of its own."""

    def load_weights(self, weights: Any) -> None:
        """Put weights into the network: by name, or one vector in sorted order of the names."""
        if not isinstance(weights, Mapping):
            weights = unflattened(self.model, np.asarray(weights))
        super().load_weights(weights)


def unflattened(model: nn.Module, vector: Any) -> dict[str, Any]:
    """One vector cut into the network's weights, names in sorted order.

    Raises:
        WeightsError: The vector is longer or shorter than all weights together.
    """
    named: dict[str, Tensor] = {
        name: model.state_dict()[name] for name in sorted(model.state_dict())
    }
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
