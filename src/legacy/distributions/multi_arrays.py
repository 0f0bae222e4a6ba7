"""A nested action on numpy arrays: one distribution a leaf, inputs side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from ...core.types import Array
from .action_leaves import flatten_actions, nest_leaves
from .families import Categorical, Family, MultiCategorical


@dataclass(frozen=True)
class MultiAction(Family):
    """Independent distributions for the leaves of a Dict or Tuple space, in leaf order.

    Example:
        >>> from gymnasium.spaces import Discrete, Tuple
        >>> space = Tuple([Discrete(2), Discrete(3)])
        >>> both = MultiAction((Categorical(2), Categorical(3)), space)
        >>> [int(a[0]) for a in both.deterministic(np.array([[0.0, 1, 5, 0, 0]], np.float32))]
        [1, 0]
    """

    children: tuple[Family, ...]
    space: Space[Any]

    @property
    def size(self) -> int:  # type: ignore[override]  # that of all children together
        """The inputs of all children together."""
        return sum(child.size for child in self.children)

    @override
    def parameters(self, inputs: Array) -> tuple[Array, ...]:
        edges = np.cumsum([child.size for child in self.children])[:-1]
        return tuple(np.split(inputs, edges, axis=-1))

    @override
    def mode(self, *inputs: Array) -> Any:
        pairs = zip(self.children, inputs, strict=True)
        return nest_leaves(self.space, [child.deterministic(part) for child, part in pairs])

    @override
    def draw(self, rng: Any, *inputs: Array) -> Any:
        pairs = zip(self.children, inputs, strict=True)
        return nest_leaves(self.space, [child.sample(part, rng) for child, part in pairs])

    @override
    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        """Independent draws, nested like the space, and their summed log-probabilities."""
        pairs = zip(self.children, self.parameters(inputs), strict=True)
        drawn = [child.sample_with_logp(part, rng) for child, part in pairs]
        actions = nest_leaves(self.space, [one for one, _ in drawn])
        return actions, np.sum([logp for _, logp in drawn], axis=0)

    @override
    def logp(self, inputs: Array, actions: Any) -> Array:
        """Summed log-probabilities; actions are nested, or one array of all columns."""
        is_flat = isinstance(actions, np.ndarray)
        leaves = self._columns(actions) if is_flat else flatten_actions(actions)
        triples = zip(self.children, self.parameters(inputs), leaves, strict=True)
        terms = [child.logp(part, _row_shape(child, leaf)) for child, part, leaf in triples]
        total: Array = np.sum(terms, axis=0)
        return total

    def _columns(self, actions: Array) -> list[Array]:
        widths = [_columns_of(child) for child in self.children]
        return np.split(actions, np.cumsum(widths)[:-1], axis=-1)


def _columns_of(child: Family) -> int:
    if isinstance(child, Categorical):
        return 1
    if isinstance(child, MultiCategorical):
        return len(child.lens)
    return int(child.deterministic(np.zeros((1, child.size), np.float32)).shape[-1])


def _row_shape(child: Family, leaf: Array) -> Array:
    leaf = np.asarray(leaf)
    return leaf[..., 0] if isinstance(child, Categorical) and leaf.ndim > 1 else leaf
