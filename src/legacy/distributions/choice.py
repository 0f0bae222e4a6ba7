"""Which action distribution an old-stack policy acts with, as plain data.

A `DistributionChoice` names the kind and its settings once; `arrays()` gives the numpy
distribution of it, `torch_class()` the torch class that is built from `(inputs, model)`. Torch is
imported only by the latter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space, Tuple
from typing_extensions import override

from ...core import nest
from ...core.errors import SpaceError, UnknownNameError
from ...core.importing.torch_needed import torch_needed
from ...core.types import Array
from .action_leaves import leaf_spaces, nest_leaves
from .families import FAMILIES, Categorical, DiagGaussian, Family, MultiCategorical
from .registered import CUSTOM_DISTRIBUTIONS


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
        leaves = self._columns(actions) if is_flat else nest.flatten(actions)
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


@dataclass(frozen=True)
class DistributionChoice:
    """The choice of a distribution that has not been built yet.

    Args:
        kind: One of `FAMILIES`, "multi_action" or "custom".
        size: How many inputs one action needs.
        space: The action space it acts in.
        children: The choices for the leaves of a nested space.
        custom: The custom class, for kind "custom".
        settings: Arguments of the torch class, in addition to `(inputs, model)`.

    Example:
        >>> distribution_for(Discrete(3)).kind
        'categorical'
    """

    kind: str
    size: int
    space: Space[Any]
    children: tuple[DistributionChoice, ...] = ()
    custom: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def arrays(self) -> Family:
        """The numpy distribution; a custom one has none and raises UnknownNameError."""
        if self.kind == "multi_action":
            return MultiAction(tuple(child.arrays() for child in self.children), self.space)
        if self.kind == "multi_categorical":
            shape = self.space.shape if isinstance(self.space, Box) else None
            return MultiCategorical(self.settings["input_lens"], shape)
        if self.kind == "diag_gaussian":
            return DiagGaussian(self.size, scalar=self.space.shape == ())
        if self.kind in FAMILIES:
            family: Family = FAMILIES[self.kind](self.size)
            return family
        raise UnknownNameError(
            f"the custom action distribution {self.custom!r} has no numpy form.",
            hint="act through its torch class.",
        )

    def torch_class(self) -> Any:
        """The factory of the torch distribution, to be called with `(inputs, model)`."""
        if self.kind == "custom":
            return self.custom
        with torch_needed("a distribution class"):
            from .torch_multi import TORCH_CLASSES

        torch_class = TORCH_CLASSES[self.kind]
        if self.kind == "multi_action":
            return partial(
                torch_class,
                child_distributions=[child.torch_class() for child in self.children],
                input_lens=[child.size for child in self.children],
                action_space=self.space,
            )
        return partial(torch_class, **self.settings) if self.settings else torch_class


def distribution_for(
    action_space: Space[Any],
    model_config: Mapping[str, Any] | None = None,
    *,
    deterministic: bool = False,
    custom_distributions: Mapping[str, Any] | None = None,
) -> DistributionChoice:
    """The distribution of an action space, whatever the algorithm.

    `deterministic` chooses the fixed distribution for real-valued leaves, as DDPG does;
    `custom_distributions` has classes for names that `custom_action_dist` may hold.
    """
    custom = (model_config or {}).get("custom_action_dist")
    if custom:
        return _custom(action_space, model_config or {}, custom, custom_distributions or {})
    return by_space(action_space, deterministic)


def by_space(space: Space[Any], fixed: bool = False) -> DistributionChoice:
    """The distribution of a space; where `fixed`, the deterministic one of real numbers."""
    if isinstance(space, Discrete):
        return DistributionChoice("categorical", int(space.n), space)
    if isinstance(space, MultiDiscrete):
        lens = tuple(int(n) for n in space.nvec.flatten())
        return DistributionChoice(
            "multi_categorical", sum(lens), space, settings={"input_lens": lens}
        )
    if isinstance(space, Box):
        return _box(space, fixed)
    if isinstance(space, (Dict, Tuple)):
        children = tuple(by_space(leaf) for leaf in leaf_spaces(space))
        size = sum(child.size for child in children)
        return DistributionChoice("multi_action", size, space, children)
    if is_simplex(space):
        return DistributionChoice("dirichlet", int(np.prod(space.shape or ())), space)
    raise SpaceError(
        "no action distribution covers this action space",
        expected="Discrete, MultiDiscrete, Box, Simplex, or a Dict or Tuple of them",
        found=str(space),
        hint="Ray has none for it either; a custom_action_dist may.",
    )


def _box(space: Box, fixed: bool) -> DistributionChoice:
    parts = int(np.prod(space.shape))
    if np.issubdtype(space.dtype or np.float32, np.signedinteger):
        options = int(space.high.max()) - int(space.low.min()) + 1
        lens = (options,) * parts
        return DistributionChoice(
            "multi_categorical",
            sum(lens),
            space,
            settings={"input_lens": lens, "action_space": space},
        )
    if len(space.shape) > 1:
        raise SpaceError(
            "no action distribution covers this action space",
            expected="a Box of one axis",
            found=str(space),
            hint="flatten it, make it a Tuple, or name a custom_action_dist.",
        )
    if fixed:
        return DistributionChoice("deterministic", parts, space)
    return DistributionChoice("diag_gaussian", 2 * parts, space, settings={"action_space": space})


def _custom(
    space: Space[Any],
    model_config: Mapping[str, Any],
    custom: Any,
    registered: Mapping[str, Any],
) -> DistributionChoice:
    chosen: Any = (
        custom if isinstance(custom, type) else {**CUSTOM_DISTRIBUTIONS, **registered}.get(custom)
    )
    if chosen is None:
        raise UnknownNameError(
            f"the policy acts with the custom action distribution {custom!r}, which is not here.",
            hint=f"pass its class: custom_distributions={{{custom!r}: YourClass}}, or register it.",
            name=custom,
        )
    if chosen.__name__ in {"TorchMultiActionDistribution", "MultiActionDistribution"}:
        return by_space(space)
    size = int(chosen.required_model_output_shape(space, dict(model_config)))
    return DistributionChoice("custom", size, space, custom=chosen)


def choices_only(
    space: Space[Any], algorithm: str, config: Mapping[str, Any]
) -> DistributionChoice:
    """The distribution of algorithms that choose among a few actions."""
    require(space, Discrete, algorithm)
    return by_space(space)


def require(space: Space[Any], kind: type, algorithm: str) -> None:
    """Refuse a space of another kind than an algorithm acts in."""
    if not isinstance(space, kind):
        raise SpaceError(
            f"{algorithm} cannot act in this action space",
            expected=f"a {kind.__name__} space",
            found=str(space),
        )


def is_simplex(space: Space[Any]) -> bool:
    """Whether actions are shares of a whole."""
    return type(space).__name__ == "Simplex"
