"""A nested action on numpy arrays: one distribution a leaf, inputs side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from .action_leaves import flatten_actions, nest_leaves
from .array_formulas import Array
from .arrays import ArrayDistribution, Categorical, MultiCategorical


@dataclass(frozen=True)
class MultiAction:
    """Independent distributions for the leaves of a Dict or Tuple space, in leaf order.

    Example:
        >>> from gymnasium.spaces import Discrete, Tuple
        >>> space = Tuple([Discrete(2), Discrete(3)])
        >>> both = MultiAction((Categorical(2), Categorical(3)), space)
        >>> [int(a[0]) for a in both.deterministic(np.array([[0.0, 1, 5, 0, 0]], np.float32))]
        [1, 0]
    """

    children: tuple[ArrayDistribution, ...]
    space: Space[Any]

    @property
    def size(self) -> int:
        """The inputs of all children together."""
        return sum(child.size for child in self.children)

    def _parts(self, inputs: Array) -> list[Array]:
        edges = np.cumsum([child.size for child in self.children])[:-1]
        return np.split(inputs, edges, axis=-1)

    def deterministic(self, inputs: Array) -> Any:
        """Each child's own deterministic action, nested like the space."""
        pairs = zip(self.children, self._parts(inputs), strict=True)
        return nest_leaves(self.space, [child.deterministic(part) for child, part in pairs])

    def sample(self, inputs: Array, rng: np.random.Generator) -> Any:
        """Independent draws, nested like the space."""
        pairs = zip(self.children, self._parts(inputs), strict=True)
        return nest_leaves(self.space, [child.sample(part, rng) for child, part in pairs])

    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        """Independent draws, nested like the space, and their summed log-probabilities."""
        pairs = zip(self.children, self._parts(inputs), strict=True)
        drawn = [child.sample_with_logp(part, rng) for child, part in pairs]
        actions = nest_leaves(self.space, [one for one, _ in drawn])
        return actions, np.sum([logp for _, logp in drawn], axis=0)

    def logp(self, inputs: Array, actions: Any) -> Array:
        """Summed log-probabilities; actions are nested, or one array of all columns."""
        leaves = (
            self._columns(actions) if isinstance(actions, np.ndarray) else flatten_actions(actions)
        )
        triples = zip(self.children, self._parts(inputs), leaves, strict=True)
        result: Array = np.sum(
            [child.logp(part, _row_shape(child, leaf)) for child, part, leaf in triples], axis=0
        )
        return result

    def _columns(self, actions: Array) -> list[Array]:
        widths = [_columns_of(child) for child in self.children]
        return np.split(actions, np.cumsum(widths)[:-1], axis=-1)


def _columns_of(child: ArrayDistribution) -> int:
    if isinstance(child, Categorical):
        return 1
    if isinstance(child, MultiCategorical):
        return len(child.lens)
    return int(child.deterministic(np.zeros((1, child.size), np.float32)).shape[-1])


def _row_shape(child: ArrayDistribution, leaf: Array) -> Array:
    leaf = np.asarray(leaf)
    return leaf[..., 0] if isinstance(child, Categorical) and leaf.ndim > 1 else leaf
