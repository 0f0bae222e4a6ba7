"""Parts of a nested observation: pick, rename, drop, nest, join and split them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from .. import array_namespace as xp
from ..errors import PieceError
from ..types import Nest
from .step import Bound, Step, box_between, part_of, step


@step("pick_key")
class PickKey(Step):
    """Keep only one part of a Dict or Tuple.

    Args:
        path: A key, or keys and positions from the outside in.
    """

    path: tuple[str | int, ...]

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Look the part up."""
        path = self.path

        def formula(value: Nest) -> Nest:
            for key in path:
                value = value[key]
            return value

        return Bound(part_of(space, path), formula)


@step("rename_keys")
class RenameKeys(Step):
    """Give parts of a Dict the names the policy knows.

    Args:
        names: The new name for each old one; parts that are not in it keep theirs.
    """

    names: dict[str, str]

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.names.items())))

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Check that each name is there once."""
        space = self._dict(space)
        names = {key: self.names.get(key, key) for key in space.spaces}
        for missing in self.names.keys() - space.spaces.keys():
            raise self.mismatch(f"a key {missing!r}", space)
        if len(set(names.values())) < len(names):
            raise PieceError("RenameKeys gives two parts one name", found=f"{names}")
        out = spaces.Dict({names[key]: part for key, part in space.spaces.items()})
        return Bound(out, lambda value: {new: value[old] for old, new in names.items()})


@step("drop_keys")
class DropKeys(Step):
    """Leave parts of a Dict out.

    Args:
        keys: Their names.
    """

    keys: Sequence[str]

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Find the parts that stay."""
        space = self._dict(space)
        for key in self.keys:
            part_of(space, (key,))
        left_keys = [key for key in space.spaces if key not in self.keys]
        out = spaces.Dict({key: space[key] for key in left_keys})
        return Bound(out, lambda value: {key: value[key] for key in left_keys})


@step("nest_under")
class NestUnder(Step):
    """Wrap the whole observation into a Dict with one key.

    Args:
        key: The key.
    """

    key: str

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Wrap the space."""
        key = self.key
        return Bound(spaces.Dict({key: space}), lambda value: {key: value})


@step("concat_keys")
class ConcatKeys(Step):
    """Join parts of a Dict into one vector, for a policy that knew them as one.

    Args:
        keys: The parts in order; each a Box, flattened. All in the Dict's order if None.
    """

    keys: Sequence[str] | None = None

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Lay the parts out one behind the other."""
        space = self._dict(space)
        keys = tuple(space.spaces) if self.keys is None else self.keys
        parts = [part_of(space, (key,)) for key in keys]
        for key, part in zip(keys, parts, strict=True):
            if not isinstance(part, spaces.Box):
                raise self.mismatch(f"a Box at {key!r}", part)
        boxes: list[Any] = parts
        dtype = np.result_type(*(box.dtype for box in boxes))
        low, high = (
            np.concatenate([getattr(box, end).reshape(-1).astype(dtype) for box in boxes])
            for end in ("low", "high")
        )
        dims = [len(box.shape) for box in boxes]

        def formula(value: Mapping[str, Any]) -> Any:
            flat = []
            for key, axes in zip(keys, dims, strict=True):
                part = xp.as_array(value[key])
                if axes != 1:
                    part = part.reshape((*part.shape[: part.ndim - axes], -1))
                flat.append(part)
            return xp.cast(xp.concatenate(flat, -1), dtype)

        return Bound(box_between(low, high), formula)


@step("split_features")
class SplitFeatures(Step):
    """Take one vector apart into a Dict, for a policy that knew its parts.

    Args:
        sizes: How many features each key gets, in the vector's order.
    """

    sizes: dict[str, int]

    def __hash__(self) -> int:
        return hash(tuple(self.sizes.items()))

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Cut the vector at the sums of the sizes."""
        box = self._vector(space)
        ends = np.cumsum([*self.sizes.values()]).tolist()
        if not ends or ends[-1] != box.shape[0] or min(self.sizes.values()) < 1:
            raise self.mismatch(f"{sum(self.sizes.values())} features", space)
        cuts = {
            key: slice(end - size, end)
            for (key, size), end in zip(self.sizes.items(), ends, strict=True)
        }
        out = spaces.Dict(
            {key: box_between(box.low[cut], box.high[cut]) for key, cut in cuts.items()}
        )
        return Bound(out, lambda value: {key: value[..., cut] for key, cut in cuts.items()})
