"""Datasets of Minari: an episode in a group of an HDF5 file or in a folder of Arrow files.

Either lies beside a `metadata.json` that tells of spaces and of who recorded it; Minari itself is
not needed.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium import spaces as gym_spaces
from typing_extensions import Self, override

from ...core import nest
from ...core.data.budget import Budget, Limits, checked_int, corrupt, one_load
from ...core.data.damage import at
from ...core.errors import CheckpointError, LimitExceededError
from ...core.importing.torch_needed import extra_needed
from ...core.spaces.schema import Fields
from ...core.spaces.walk import AnySpace
from ...core.types import Array
from ...v2.episodes.single_agent import SingleAgentEpisode
from ..damaged import Damage
from . import arrow_files, hdf5
from .json_lines import parsed
from .of_episodes import ReaderOfEpisodes
from .places import Place


def read_space(text: Any, budget: Budget) -> AnySpace | None:
    """The space in a text of JSON; None where there is none, or of a kind we do not know."""
    if not isinstance(text, str):
        return None
    try:
        return _space(parsed(text.encode(), budget, "a space"), budget)
    except _UnknownKindError:
        return None


_KINDS: Final = ("Box", "Discrete", "MultiDiscrete", "MultiBinary", "Text", "Dict", "Tuple")


class _UnknownKindError(Exception):
    """A space of a kind we do not know lies in it."""


class _MinariFields(Fields):
    spelled: ClassVar = {"spaces": "subspaces"}

    @override
    def space(self, value: Any) -> AnySpace:
        return _space(value, self.budget)

    @override
    def dtype(self, kinds: str, default: Any = None) -> np.dtype[Any]:
        return np.dtype(np.int64) if self.kind == "Discrete" else super().dtype(kinds, default)

    @override
    def array(self, name: str, dtype: np.dtype[Any] | None = None) -> Array:
        if dtype is None:
            return _array(self.get(name), self.dtype("iu", "int64"))
        count = int(np.prod(self.shape(), dtype=object))
        self.budget.spend(count * dtype.itemsize, "the bounds of a Box")
        array = _array(self.get(name), dtype)
        return array if array.ndim else np.full(self.shape(), array)


def _space(data: Any, budget: Budget) -> AnySpace:
    if not isinstance(data, Mapping):
        raise corrupt("this is no space", expected="a JSON object", found=data)
    kind = data.get("type")
    if kind not in _KINDS:
        raise _UnknownKindError
    with budget.level("a space"):
        return _MinariFields(kind, data, budget).made()


def _array(values: Any, dtype: np.dtype[Any]) -> Array:
    try:
        return np.array(values, dtype)
    except (TypeError, ValueError, OverflowError):
        raise corrupt("this is no array of a space", expected=str(dtype), found=values) from None


_SCAN: Final = b"\xff\xda"
_BYTES_A_STEP: Final = 4_096
_FOREIGN_ERRORS: Final = (OSError, ValueError, SyntaxError, TypeError, IndexError, KeyError)
"""What Pillow raises over a file that is damaged."""


def unpacked_jpegs(
    rows: Sequence[bytes], shape: tuple[int, ...] | None, budget: Budget, name: str
) -> Array:
    """Images as one array, `(N, height, width, channels)`.

    Without a `shape` all are to have the first one's.
    """
    images: Array | None = None
    for number, packed in enumerate(rows):
        what = f"image {number} of {name!r}"
        image = _opened(packed, what)
        image_shape = (image.height, image.width, len(image.getbands()))
        if shape is None:
            shape = image_shape
        if image_shape != tuple(shape):
            raise corrupt(
                f"{what} has another shape", expected=str(tuple(shape)), found=str(image_shape)
            )
        size = int(np.prod(image_shape, dtype=object))
        if images is None:
            budget.spend(len(rows) * size, f"{name!r}")
            images = np.empty((len(rows), *image_shape), np.uint8)
        # An image may come in many passes, each of which goes over all of it.
        budget.work(1 + packed.count(_SCAN) * size // _BYTES_A_STEP, name)
        try:
            images[number] = np.asarray(image).reshape(image_shape)
        except _FOREIGN_ERRORS as error:
            raise corrupt(f"{what} is cut or damaged", found=str(error)[:160]) from None
    return np.zeros((0, *(shape or ())), np.uint8) if images is None else images


def _opened(packed: bytes, what: str) -> Any:
    """An image whose header was read, and no more."""
    with extra_needed("PIL", f"reading {what}, a JPEG,"):
        from PIL import Image
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            return Image.open(io.BytesIO(packed), formats=("JPEG",))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise LimitExceededError(f"{what} is too large", found=str(error)[:160]) from None
    except _FOREIGN_ERRORS:
        raise corrupt(f"{what} is no JPEG", found=packed[:8]) from None


METADATA: Final = "metadata.json"
INFOS: Final = "infos"
OWN: Final = "rlconnect"
"""The group of an episode that holds what Minari has no place for."""
_NUMBER: Final = re.compile(r"(\d+)$")
_NEEDED: Final = frozenset({"observations", "actions", "rewards", "terminations", "truncations"})
_MOST_METADATA: Final = 1 << 24


class MinariReader(ReaderOfEpisodes):
    """Episodes by group or by folder.

    `metadata` are the files that tell of them, by the folder they lie in.
    """

    format = "minari"

    def __init__(self, found: list[Place], metadata: Mapping[str, Place], limits: Limits) -> None:
        self.found = found
        self._metadata = metadata
        self._limits = limits

    @classmethod
    def of(cls, found: list[Place], limits: Limits, columns: Mapping[str, str]) -> Self | None:
        """A reader of these files, or None if there is none of Minari's among them."""
        files = [each for each in found if each.suffix in (*hdf5.SUFFIXES, ".arrow")]
        if not files:
            return None
        beside = {_folder(each): each for each in found if each.file_name == METADATA}
        for each in files:
            for folder in (each.path.parent, each.path.parent.parent):
                if not each.member and os.path.isfile(folder / METADATA):
                    beside.setdefault(str(folder), Place(folder / METADATA, METADATA))
        return cls(files, beside, limits)

    def episodes(self, damage: Damage) -> Iterator[SingleAgentEpisode]:
        """Each episode, in the order of their numbers."""
        parts: dict[str, list[Place]] = {}
        for place in self.found:
            if place.suffix == ".arrow":
                parts.setdefault(_folder(place), []).append(place)
            else:
                yield from self._in_hdf5(place, damage)
        for folder, places in sorted(parts.items(), key=lambda item: _number(item[0])):
            with damage.passing_over(places[0].name), one_load(self._limits) as budget, at():
                yield self._in_arrow(folder, places, budget)

    def written_by(self, damage: Damage) -> str:
        """Minari, with its version where the files tell."""
        with one_load(self._limits) as budget:
            metadata = self._told(_dataset_folder(self.found[0]), budget, damage)
        version = metadata.get("minari_version")
        return f"minari {version}" if isinstance(version, str) else "minari"

    def _told(self, folder: str, budget: Budget, damage: Damage | None = None) -> dict[str, Any]:
        """What `metadata.json` of a folder says; nothing where there is none."""
        place = self._metadata.get(folder)
        if place is None:
            return {}
        with place.open() as file:
            text = file.read(_MOST_METADATA)
        try:
            metadata = parsed(text, budget, METADATA)
        except CheckpointError as error:
            if damage is not None:
                damage.note(place.name, None, error)
            return {}
        return metadata if isinstance(metadata, dict) else {}

    def _spaces(self, metadata: Mapping[str, Any], budget: Budget) -> list[AnySpace | None]:
        return [
            read_space(metadata.get(f"{kind}_space"), budget) for kind in ("observation", "action")
        ]

    def _in_hdf5(self, place: Place, damage: Damage) -> Iterator[SingleAgentEpisode]:
        with damage.passing_over(place.name), hdf5.stumbling("it"), hdf5.opened(place) as file:
            with one_load(self._limits) as budget, at():
                metadata = self._told(_folder(place), budget)
                for kind in ("observation_space", "action_space"):
                    metadata.setdefault(kind, hdf5.read_attribute(file, kind))
                spaces = self._spaces(metadata, budget)
                names = sorted((name for name in file if _NUMBER.search(name)), key=_number)
            for name in names:
                episode = None
                with (
                    damage.passing_over(place.name),
                    hdf5.stumbling(name),
                    one_load(self._limits) as budget,
                    at(name),
                ):
                    episode = _from_hdf5(file, name, spaces, budget)
                if episode is not None:
                    yield episode

    def _in_arrow(self, folder: str, places: list[Place], budget: Budget) -> SingleAgentEpisode:
        own = self._told(folder, budget)
        told = self._told(_dataset_folder(places[0]), budget)
        spaces = self._spaces(told, budget)
        shapes = {"observations": spaces[0], "actions": spaces[1]}
        parts = []
        for place in places:
            with at(place.file_name):
                columns = arrow_files.read_columns(place, budget)
                parts.append(
                    {
                        name: _shaped(column, shapes.get(name), budget, name)
                        for name, column in columns.items()
                    }
                )
        if len(parts) > 1 and len({frozenset(part) for part in parts}) > 1:
            raise corrupt("the files of an episode have different columns")
        held = nest.map_structure(lambda *arrays: np.concatenate(arrays), *parts)
        steps = len(held.get("rewards", ())) - 1  # the last row has an observation alone
        for name in _NEEDED - {"observations"}:
            if name in held:
                held[name] = nest.taken(held[name], slice(0, max(0, steps)))
        return _episode(str(own.get("id", _number(folder))), held, spaces, budget)


def _folder(place: Place) -> str:
    inside = PurePosixPath(place.member).parent if place.member else None
    return str(place.path.parent if inside is None else place.path / inside)


def _dataset_folder(place: Place) -> str:
    """Where the dataset of a file is told of: Arrow files have a folder for each episode in it."""
    folder = _folder(place)
    return str(PurePosixPath(folder).parent) if place.suffix == ".arrow" else folder


def _number(name: str) -> int:
    match = _NUMBER.search(Path(name).name)
    return int(match[1]) if match and len(match[1]) < 19 else 0


def _from_hdf5(
    file: Any, name: str, spaces: list[AnySpace | None], budget: Budget
) -> SingleAgentEpisode:
    group = hdf5.member(file, name) if name in file else None
    if group is None or not hdf5.is_group(group):
        raise corrupt("this is no episode", expected="a group of columns")
    members = hdf5.members(group)
    columns = {key: hdf5.read_tree(item, budget, key) for key, item in members.items()}
    episode_id, first = hdf5.read_attribute(group, "id"), 0
    extra = columns.pop(OWN, {})
    if OWN in members:
        inner = members[OWN]
        episode_id = hdf5.read_attribute(inner, "id") or episode_id
        first = hdf5.read_attribute(inner, "t_started") or 0
    info_texts = extra.pop(INFOS, None)
    if info_texts is not None:
        texts = [parsed(str(text).encode(), budget, "infos") for text in info_texts]
        columns["infos"] = [each if isinstance(each, dict) else {} for each in texts]
    for key in ("observations", "actions"):
        columns[key] = _with_tuples(columns.get(key))
    id_ = str(_number(name) if episode_id is None else episode_id)
    extra = _with_tuples(extra)
    return _episode(id_, columns, spaces, budget, extra, checked_int(first, "the first step"))


def _with_tuples(tree: Any) -> Any:
    """Children named `_index_0`, `_index_1`, ... as the parts of a tuple."""
    if not isinstance(tree, dict):
        return tree
    parts = {key: _with_tuples(part) for key, part in tree.items()}
    if parts and all(f"_index_{i}" in parts for i in range(len(parts))):
        return tuple(parts[f"_index_{i}"] for i in range(len(parts)))
    return parts


def _shaped(column: Any, space: AnySpace | None, budget: Budget, name: str) -> Any:
    """An arrow column as the space has it: flat rows in its shape, fields "0", "1" as a tuple."""
    if isinstance(space, gym_spaces.Dict) and set(space.spaces) == _fields(column):
        return {
            key: _shaped(column.field(key), part, budget, key) for key, part in space.spaces.items()
        }
    if isinstance(space, gym_spaces.Tuple) and _fields(column) == {
        str(i) for i in range(len(space.spaces))
    }:
        return tuple(
            _shaped(column.field(str(i)), part, budget, f"{name}.{i}")
            for i, part in enumerate(space.spaces)
        )
    shape = getattr(space, "shape", None)
    return arrow_files.tree_of(column, budget, name, shape or None)


def _seen(tree: Any, space: AnySpace | None, budget: Budget, name: str) -> Any:
    """Columns whose images are unpacked, in the shape of their space."""
    if isinstance(tree, dict):
        parts = getattr(space, "spaces", None)
        inner = parts if isinstance(parts, Mapping) else {}
        return {key: _seen(part, inner.get(key), budget, key) for key, part in tree.items()}
    if isinstance(tree, tuple):
        spaces: list[Any] = [*(space.spaces if isinstance(space, gym_spaces.Tuple) else ())]
        spaces += [None] * len(tree)
        return tuple(
            _seen(part, spaces[place], budget, f"{name}.{place}") for place, part in enumerate(tree)
        )
    if tree.dtype == object and any(isinstance(row, bytes) for row in tree):
        return unpacked_jpegs(tree, getattr(space, "shape", None), budget, name)
    return tree


def _fields(column: Any) -> set[str]:
    kind = column.type
    return {kind.field(i).name for i in range(kind.num_fields)}


def _episode(
    id_: str,
    columns: Mapping[str, Any],
    spaces: list[AnySpace | None],
    budget: Budget,
    outputs: Mapping[str, Any] = MappingProxyType({}),
    first: int = 0,
) -> SingleAgentEpisode:
    missing = sorted(_NEEDED - set(columns))
    if missing:
        raise corrupt(f"this episode has no {', '.join(missing)}")
    by_name = {"observations": spaces[0], "actions": spaces[1]}
    columns = {
        name: column if isinstance(column, list) else _seen(column, by_name.get(name), budget, name)
        for name, column in columns.items()
    }
    ends = [np.asarray(columns[name]) for name in ("terminations", "truncations")]
    rewards = np.asarray(columns["rewards"])
    steps = len(rewards)
    rows = [*map(len, nest.flatten(columns["actions"])), *map(len, ends)]
    rows += [len(leaf) for output in outputs.values() for leaf in nest.flatten(output)]
    observation_rows = [*map(len, nest.flatten(columns["observations"]))]
    if not steps or set(rows) != {steps} or set(observation_rows) != {steps + 1}:
        raise corrupt(
            "its columns have different numbers of rows",
            expected=f"{steps} and {steps + 1} observations",
            found=f"{sorted({*rows})} and {sorted({*observation_rows})}",
        )
    return SingleAgentEpisode(
        id_,
        observations=columns["observations"],
        actions=columns["actions"],
        rewards=rewards.reshape(steps),
        infos=_infos(columns.get("infos"), steps),
        terminated=bool(ends[0].reshape(-1)[-1]),
        truncated=bool(ends[1].reshape(-1)[-1]),
        extra_model_outputs=outputs,
        t_started=first,
        observation_space=spaces[0],
        action_space=spaces[1],
        len_lookback_buffer=0,
    )


def _infos(infos: Any, steps: int) -> list[Any]:
    if isinstance(infos, list) and len(infos) == steps + 1:
        return infos
    if not isinstance(infos, dict) or not infos:
        return [{} for _ in range(steps + 1)]
    if any(len(leaf) != steps + 1 for leaf in nest.flatten(infos)):
        raise corrupt("the infos have another number of rows", expected=f"{steps + 1}")
    return [nest.map_structure(lambda leaf, t=t: leaf[t], infos) for t in range(steps + 1)]
