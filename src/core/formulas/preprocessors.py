"""One observation space in, one flat array out: a plan compiled once per space.

`preprocessor_for` chooses as the old stack does, `flatten_observations_plan` as the new stack's
FlattenObservations does. A plan lists the leaves of the space with their places in one output
row; transforming writes each leaf of a whole batch into a zeroed block. Leaf by leaf that is
`core.formulas.leaf_encoders`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .. import array_namespace as xp
from .. import nest
from ..arrays.batching import batch
from ..errors import SpaceError
from ..spaces import walk
from ..types import Nest
from .actions import get_base_struct_from_space
from .leaf_encoders import (
    FlatEncoder,
    LeafEncoder,
    OneHotEncoder,
    PixelEncoder,
    RamEncoder,
    RepeatedEncoder,
)
from .leaf_rows import row_of_leaves, rows_of_leaves
from .observation_order import (
    Pick,
    Split,
    leaves_of,
    paired_parts,
    sorted_encoder,
    sorted_parts,
    sorted_split,
)

Kind: TypeAlias = Literal[
    "none", "multi_binary", "one_hot", "ram", "pixels", "tuple", "dict", "repeated", "flatten"
]

_WHOLE: Final = frozenset({"none", "ram", "pixels", "multi_binary"})
"""Kinds that have no leaves to lay out in a row."""

ATARI_SHAPE: Final = (210, 160, 3)
ATARI_RAM_SHAPE: Final = (128,)
DEFAULT_OPTIONS: Final[Mapping[str, Any]] = {"dim": 84, "grayscale": False, "zero_mean": True}


@dataclass(frozen=True, eq=False)
class PreprocessPlan:
    """How the observations of one space become arrays.

    Attributes:
        kind: Which of the old stack's preprocessors this is; "none" changes nothing and
            "flatten" is the new stack's.
        space: What goes in.
        output_space: What comes out; `original_space` on it is what went in, unless `kind` is
            "none" or "flatten".

    Example:
        >>> plan = preprocessor_for(spaces.Tuple([spaces.Discrete(3), spaces.Box(-1, 1, (2,))]))
        >>> plan.kind, plan.shape
        ('tuple', (5,))
        >>> plan.transform((1, np.array([0.5, -0.5])))
        array([ 0. ,  1. ,  0. ,  0.5, -0.5], dtype=float32)
    """

    kind: Kind
    space: spaces.Space[Any]
    output_space: spaces.Space[Any]
    _encoders: tuple[LeafEncoder, ...] = field(default=(), repr=False)
    _pick: Pick = field(default=lambda observation: [observation], repr=False)
    _split: Split | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one output."""
        shape: Sequence[Any] = self.output_space.shape or ()
        return tuple(int(n) for n in shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the output space. Colour pictures come out wider, and Box values as they came."""
        return np.dtype(self.output_space.dtype or np.float32)

    @cached_property
    def size(self) -> int:
        """Number of values in one output."""
        return int(np.prod(self.shape))

    @cached_property
    def _parts(self) -> list[slice]:
        ends = [*accumulate(encoder.size for encoder in self._encoders)]
        return [slice(start, stop) for start, stop in pairwise([0, *ends])]

    @cached_property
    def holds_lists(self) -> bool:
        """True if parts are lists, which look like parts of a nest."""
        return any(isinstance(encoder, RepeatedEncoder) for encoder in self._encoders)

    @cached_property
    def _row_dtype(self) -> np.dtype[Any]:
        # RLlib's own buffer for a bare Repeated space is of numpy's default dtype.
        return np.dtype(np.float64 if self.kind == "repeated" else np.float32)

    @property
    def is_identity(self) -> bool:
        """True if observations come out as they went in."""
        return self.kind == "none"

    def transform(self, observation: Nest) -> Any:
        """One observation, unchecked, as an array."""
        if self.kind in _WHOLE:
            return self._whole(observation)
        leaves = self._pick(observation)
        row = row_of_leaves(leaves, self._encoders, self._row_dtype)
        return self._laid_out(leaves, self._row) if row is None else row

    def transform_batch(self, observations: Nest) -> Any:
        """Many observations at once.

        They are one nest built like the space, numpy or torch, and the leading axes of its leaves
        are those of the result. Leaves of a Repeated space have a list per item.
        """
        if self.kind in _WHOLE:
            return self._whole(observations)
        return self._laid_out(self._pick(observations), self._rows)

    def _whole(self, value: Nest) -> Any:
        return value if self.kind == "none" else self._encoders[0].encode(xp.as_array(value))

    def _laid_out(self, leaves: Sequence[Any], laid_out: Callable[[Sequence[Any]], Any]) -> Any:
        return self._tensor_rows(leaves) if any(map(xp.is_tensor, leaves)) else laid_out(leaves)

    def transform_items(self, observations: Sequence[Nest]) -> Any:
        """The arrays of several observations, as rows of one where all fit together."""
        if self._split is None and len(observations) > 1 and not self.holds_lists:
            return self.transform_batch(batch(observations))
        if self._split is not None and len(observations) > 1:
            try:
                columns = self._split(observations)
                return rows_of_leaves(columns, self._encoders, self._parts, self._row_dtype)
            except (SpaceError, AttributeError, LookupError, TypeError, ValueError):
                pass  # One by one they fit, or the one that does not is named.
        return [self.transform(observation) for observation in observations]

    def _leading_axes(self, leaves: Sequence[Any]) -> tuple[int, ...]:
        for leaf, encoder in zip(leaves, self._encoders, strict=True):
            if not isinstance(encoder, RepeatedEncoder):
                shape: tuple[int, ...] = np.shape(leaf)
                return shape[: len(shape) - len(encoder.item_shape)]
        return (len(leaves[0]),)

    def _row(self, leaves: Sequence[Any]) -> npt.NDArray[Any]:
        out = np.zeros(self.size, self._row_dtype)
        for leaf, encoder, part in zip(leaves, self._encoders, self._parts, strict=True):
            try:
                encoder.write_one(leaf, out[part])
            except (ValueError, TypeError) as error:
                raise self._misfit(encoder, error) from error
        return out

    def _rows(self, leaves: Sequence[Any]) -> npt.NDArray[Any]:
        lead = self._leading_axes(leaves)
        rows = int(np.prod(lead))
        out = np.zeros((rows, self.size), self._row_dtype)
        for leaf, encoder, part in zip(leaves, self._encoders, self._parts, strict=True):
            is_list = isinstance(encoder, RepeatedEncoder)
            try:
                values = leaf if is_list else np.reshape(leaf, (rows, *encoder.item_shape))
                encoder.write(values, out[:, part])
            except (ValueError, TypeError) as error:
                raise self._misfit(encoder, error) from error
        return out.reshape((*lead, self.size))

    def _misfit(self, encoder: LeafEncoder, error: Exception) -> SpaceError:
        return SpaceError(
            f"a part of an observation does not fit {self.space}",
            expected=f"values of shape {encoder.item_shape}",
            found=error.summary if isinstance(error, SpaceError) else str(error),
        )

    def _tensor_rows(self, leaves: Sequence[Any]) -> Any:
        parts = []
        for leaf, encoder in zip(leaves, self._encoders, strict=True):
            lead = leaf.shape[: leaf.ndim - len(encoder.item_shape)]
            parts.append(encoder.encode(leaf).reshape((*lead, encoder.size)))
        return xp.concatenate(parts, -1)


def preprocessor_for(
    space: spaces.Space[Any],
    options: Mapping[str, Any] | None = None,
    *,
    include_multi_binary: bool = False,
    image_backend: str = "cv2",
) -> PreprocessPlan:
    """Return the plan of the old stack's `get_preprocessor`.

    `options` is a model config, of which `dim`, `grayscale` and `zero_mean` are used.
    `include_multi_binary` converts MultiBinary to floats, as with RLModules.
    """
    settings = dict(DEFAULT_OPTIONS)
    settings.update({k: v for k, v in (options or {}).items() if k in settings and v is not None})
    settings["image_backend"] = image_backend
    kind = kind_of(space, include_multi_binary=include_multi_binary)
    if kind == "none":
        if space.shape is None:
            raise SpaceError("this space cannot be preprocessed", found=str(space))
        return PreprocessPlan(kind, space, space)
    encoders, pick = leaves_of(space, partial(_leaf_encoder, settings=settings), paired_parts)
    shape: tuple[int, ...] = (sum(leaf.size for leaf in encoders),)
    if kind == "pixels" and isinstance(encoders[0], PixelEncoder):
        shape = encoders[0].shape
    if kind == "multi_binary":
        encoders = (_FloatsEncoder(space.shape or ()),)
        shape = encoders[0].item_shape
    low = 0.0 if kind == "multi_binary" else -1.0
    output_space = spaces.Box(low, 1.0, shape, dtype=np.float32)
    output_space.original_space = space  # type: ignore[attr-defined]  # where RLlib keeps it
    return PreprocessPlan(kind, space, output_space, encoders, pick)


def flatten_observations_plan(
    space: spaces.Space[Any], keys_to_remove: Sequence[str] = ()
) -> PreprocessPlan:
    """The plan of the new stack's FlattenObservations: leaves in the order of sorted keys."""
    removed = frozenset(keys_to_remove)
    if removed and not isinstance(space, spaces.Dict):
        raise SpaceError(
            f"keys_to_remove={sorted(removed)} needs keys",
            expected="a Dict observation space",
            found=str(space),
        )
    encoders, pick = leaves_of(
        space, sorted_encoder, lambda own: sorted_parts(own, removed if own is space else ())
    )
    size = sum(encoder.size for encoder in encoders)
    output_space = spaces.Box(-np.inf, np.inf, (size,), dtype=np.float32)
    split = sorted_split(space, removed)
    return PreprocessPlan("flatten", space, output_space, encoders, pick, split)


def kind_of(space: spaces.Space[Any], *, include_multi_binary: bool = False) -> Kind:
    """Which preprocessor the old stack takes for a space."""
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        return "one_hot"
    if isinstance(space, spaces.Tuple):
        return "tuple"
    if isinstance(space, spaces.Dict):
        return "dict"
    if space.shape == ATARI_SHAPE:
        return "pixels"
    if space.shape == ATARI_RAM_SHAPE:  # Any space of this shape, MultiBinary(128) too.
        return "ram"
    if is_repeated(space):
        return "repeated"
    if include_multi_binary and isinstance(space, spaces.MultiBinary):
        return "multi_binary"
    return "none"


def is_repeated(space: spaces.Space[Any]) -> bool:
    """True if a space is a list of so many items of a child space, by what it carries."""
    return hasattr(space, "child_space") and hasattr(space, "max_len")


class _FloatsEncoder(FlatEncoder):
    """The values as float32 in their own shape."""

    def encode(self, values: Any) -> Any:
        return xp.cast(values, np.float32)


def _leaf_encoder(space: Any, settings: Mapping[str, Any]) -> LeafEncoder:
    kind = kind_of(space)
    if kind == "one_hot":
        return OneHotEncoder.of(space, wraps=False)
    if kind == "ram":
        return RamEncoder()
    if kind == "pixels":
        return PixelEncoder(space.shape or (), **settings)
    if kind == "repeated":
        child, max_len = space.child_space, space.max_len
        plan = preprocessor_for(child, settings, image_backend=settings["image_backend"])

        def rows(items: Nest) -> npt.NDArray[Any]:
            batch = np.asarray(plan.transform_batch(items))
            return batch.reshape(len(batch), plan.size)

        return RepeatedEncoder(rows, plan.size, int(max_len))
    if space.shape is None:
        raise SpaceError("this space cannot be preprocessed", found=str(space))
    return FlatEncoder(space.shape)


VALIDATION_INTERVAL: Final = 100
"""The old stack looks at the first of so many observations."""


def check_observation(space: spaces.Space[Any], observation: Nest) -> None:
    """Refuse an observation outside of its space, as tolerantly as the old stack.

    Lists pass for arrays, and ints and floats for one another, if the space holds the result.
    """
    if walk.kind_of(space) == "Repeated":
        _check_list(space, observation)
        return
    value = np.array(observation) if type(observation) is list else observation
    if _holds(space, value) or _holds(space, _as_space_types(space, value)):
        return
    raise SpaceError(
        "an observation lies outside of its space", expected=str(space), found=repr(observation)
    )


def _check_list(space: Any, observation: Nest) -> None:
    """Refuse what is no list, or too long; its items are looked at one by one."""
    if not isinstance(observation, (list, np.ndarray)) or len(observation) > space.max_len:
        raise SpaceError(
            "an observation lies outside of its space",
            expected=f"a list of at most {space.max_len} items",
            found=repr(observation),
        )
    for item in observation:
        check_observation(space.child_space, item)


def _holds(space: spaces.Space[Any], value: Nest) -> bool:
    try:
        return bool(space.contains(value))
    except (TypeError, ValueError, AttributeError, IndexError):
        return False  # Some spaces fail on values of a foreign type instead of answering.


def _as_space_types(space: spaces.Space[Any], value: Nest) -> Nest:
    def converted(leaf_space: spaces.Space[Any], leaf: Any) -> Any:
        if isinstance(leaf_space, spaces.Discrete):
            return int(leaf)
        if isinstance(leaf_space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)):
            return np.asarray(leaf).astype(leaf_space.dtype)
        return leaf

    struct = get_base_struct_from_space(space)
    try:
        return nest.map_structure_up_to(struct, converted, struct, value)
    except (SpaceError, TypeError, ValueError):
        return value
