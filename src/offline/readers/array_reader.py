"""Steps as plain arrays, one a column: `.npz` files, and HDF5 files as D4RL has them.

    np.savez("run.npz", observations=o, actions=a, rewards=r, terminations=t, truncations=c)

There is no standard for such files. Columns are found by the names that people give them; where an
episode ends tell its outcomes, its first steps, or its ids. Observations have a row for each step,
or one more for each episode.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import IO, Any, Final

import numpy as np
from typing_extensions import Self

from ...core import nest
from ...core.data.budget import Budget, Limits, checked_bytes, corrupt, one_load
from ...core.data.damage import at
from ...core.errors import LimitExceededError, RlconnectError
from ...core.types import Array
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.decode.zip_archives import opened_zip
from ...core.vault.files.number_files import read_header
from ...v2.episodes.single_agent import SingleAgentEpisode
from ..damaged import Damage
from . import hdf5
from .of_episodes import ReaderOfEpisodes
from .places import Place

_MOST_COLUMNS: Final = 1_000
_STEP_BYTES: Final = 160
"""What a step, or where an episode ends, takes as Python's objects."""


class ArrayColumn:
    """One array, its rows read one after the other.

    `read` gives the rows from a first to a last one and is called in their order; `problem` says
    why they cannot be read.
    """

    def __init__(
        self, rows: int, read: Callable[[int, int, Budget], Array], problem: str = ""
    ) -> None:
        self.rows = rows
        self.problem = problem
        self._read = read
        self._at = 0

    def read(self, rows: int, budget: Budget) -> Array:
        """The next rows."""
        first, self._at = self._at, self._at + rows
        if self._at > self.rows:
            raise corrupt("it ends before its last row")
        return self._read(first, self._at, budget)


@contextmanager
def opened(place: Place) -> Iterator[dict[str, ArrayColumn]]:
    """The arrays of a file by name."""
    if place.suffix in hdf5.SUFFIXES:
        with hdf5.stumbling(place.name), hdf5.opened(place) as file:
            yield _of_hdf5(file)
        return
    try:
        with ExitStack() as streams:
            archive = streams.enter_context(opened_zip(place.path, limits_in_force()))
            yield _of_archive(archive, streams)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
        raise corrupt(f"{place.name} cannot be unpacked ({str(error)[:200]})") from None


def _of_archive(archive: zipfile.ZipFile, streams: ExitStack) -> dict[str, ArrayColumn]:
    members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    _check_count(len(members))
    columns = {}
    for info in members:
        with at(info.filename):
            stream = streams.enter_context(archive.open(info))
            columns[info.filename.removesuffix(".npy")] = _of_member(stream, info.file_size)
    return columns


def _of_member(stream: IO[bytes], size: int) -> ArrayColumn:
    header = read_header(stream)
    if header is None:
        return ArrayColumn(-1, _nothing, "is of a version of NumPy's format that is not read")
    shape, is_fortran, dtype = header
    rows = shape[0] if shape else -1
    if dtype.hasobject:
        return ArrayColumn(rows, _nothing, "holds Python objects, which are not built")
    if checked_bytes(shape, dtype) > size:
        raise corrupt("it declares more numbers than it has", found=f"shape {shape} of {dtype}")
    row_bytes = checked_bytes(shape[1:], dtype)

    def read(first: int, last: int, budget: Budget) -> Array:
        byte_count = (last - first) * row_bytes
        budget.spend(byte_count, "rows of an array")
        data = stream.read(byte_count)
        if len(data) != byte_count:
            raise corrupt("it ends before its last row")
        return np.frombuffer(data, dtype).reshape(last - first, *shape[1:])

    def read_columns_first(first: int, last: int, budget: Budget) -> Array:
        if not arrays:
            budget.spend(rows * row_bytes, "an array")
            data = stream.read(rows * row_bytes)
            arrays.append(np.frombuffer(data, dtype).reshape(shape, order="F"))
        return np.ascontiguousarray(arrays[0][first:last])

    arrays: list[Array] = []
    return ArrayColumn(rows, read_columns_first if is_fortran else read)


def _of_hdf5(file: Any) -> dict[str, ArrayColumn]:
    columns: dict[str, ArrayColumn] = {}
    groups = [("", file)]
    for path, group in groups:
        for name, item in hdf5.members(group).items():
            _check_count(len(columns) + len(groups))
            if hdf5.is_group(item):
                if path.count("/") < 2:
                    groups.append((f"{path}{name}/", item))
            else:
                columns[f"{path}{name}"] = _of_dataset(item, f"{path}{name}")
    return columns


def _of_dataset(data: Any, name: str) -> ArrayColumn:
    shape = data.shape
    if not isinstance(shape, tuple) or data.dtype.kind not in "biuf":
        return ArrayColumn(-1 if not shape else shape[0], _nothing, "holds no numbers")

    def read(first: int, last: int, budget: Budget) -> Array:
        return hdf5.read_array(data, budget, name, slice(first, last))

    return ArrayColumn(shape[0] if shape else -1, read)


def _nothing(first: int, last: int, budget: Budget) -> Array:
    raise corrupt("these rows cannot be read")


def _check_count(count: int) -> None:
    if count > _MOST_COLUMNS:
        raise LimitExceededError(f"a file of more than {_MOST_COLUMNS:,} arrays")


SUFFIXES: Final = (".npz", *hdf5.SUFFIXES)
_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "obs": ("obs", "observations", "observation", "states"),
    "new_obs": ("new_obs", "next_observations", "next_obs", "next_observation", "next_states"),
    "actions": ("actions", "action", "acts"),
    "rewards": ("rewards", "reward", "rews"),
    "terminateds": (
        "terminateds", "terminations", "terminals", "terminated", "terminal", "dones", "done",
    ),
    "truncateds": ("truncateds", "truncations", "timeouts", "truncated", "truncation"),
    "starts": ("episode_starts", "is_first"),
    "eps_id": ("eps_id", "episode_ids", "episode_id"),
    "action_logp": ("action_logp", "action_log_probs", "infos/action_log_probs", "log_probs"),
    "action_prob": ("action_prob", "action_probs"),
}  # fmt: skip
_NEEDED: Final = ("obs", "actions", "rewards")
_OUTCOMES: Final = ("rewards", "terminateds", "truncateds", "starts", "eps_id")
_INFOS: Final = "infos/"
_ABOUT: Final = "metadata/"


class ArrayReader(ReaderOfEpisodes):
    """Episodes cut from columns; a file is read on as they are asked for.

    `names` says what columns are called in the files, by the names we have for them.
    """

    format = "array-columns"

    def __init__(self, found: list[Place], limits: Limits, names: Mapping[str, str]) -> None:
        self.found = found
        self._limits = limits
        self._names = names

    @classmethod
    def of(cls, found: list[Place], limits: Limits, columns: Mapping[str, str]) -> Self | None:
        """A reader of these files, or None if the first that can be read has no steps."""
        files = [place for place in found if place.suffix in SUFFIXES and not place.member]
        for place in files:
            try:
                with at(), opened(place) as arrays:
                    by_name = _by_our_names(arrays, columns)
            except RlconnectError:  # h5py is missing, or the file is damaged
                continue
            return cls(files, limits, columns) if by_name.keys() >= {*_NEEDED} else None
        return None

    def episodes(self, damage: Damage) -> Iterator[SingleAgentEpisode]:
        """Each episode, called after its id, or after its number among all files."""
        number = 0
        for place in self.found:
            with damage.passing_over(place.name):
                for episode in self._of_file(place, number, damage):
                    number += 1
                    yield episode

    def _of_file(self, place: Place, number: int, damage: Damage) -> Iterator[SingleAgentEpisode]:
        disk_bytes = place.disk_bytes
        with one_load(self._limits) as budget, at(), opened(place) as columns:
            budget.admit(disk_bytes)
            by_name = _by_our_names(columns, self._names)
            missing = [name for name in _NEEDED if name not in by_name]
            if missing:
                raise corrupt(f"it has no column {', '.join(missing)}", found=sorted(by_name))
            outcomes = _outcomes(by_name, budget)
            bounds = _bounds(outcomes, budget)
            extra_rows = _extra_rows(by_name, len(outcomes["rewards"]), len(bounds), place, damage)
        with opened(place) as columns:  # from the first row again
            by_name = _by_our_names(columns, self._names)
            for count, (start, stop) in enumerate(bounds):
                with one_load(self._limits) as budget, at(f"episode {count}"):
                    budget.admit(disk_bytes)
                    budget.spend(_STEP_BYTES * (stop - start), "steps")
                    parts = {
                        name: _read(by_name[name], stop - start + extra, budget)
                        for name, extra in extra_rows.items()
                    }
                    episode = _episode(number + count, parts, outcomes, slice(start, stop))
                yield episode


_Known = Mapping[str, "ArrayColumn | dict[str, ArrayColumn]"]


def _by_our_names(columns: Mapping[str, ArrayColumn], names: Mapping[str, str]) -> _Known:
    """The columns of a file; several `observations/PART` are one, a dict of its parts."""
    known: dict[str, ArrayColumn | dict[str, ArrayColumn]] = {}
    taken: set[str] = set()
    for ours, spellings in _SPELLINGS.items():
        for name in (names[ours],) if ours in names else spellings:
            parts = {
                key.removeprefix(f"{name}/"): column
                for key, column in columns.items()
                if key.startswith(f"{name}/")
            }
            if name in columns or parts:
                known[ours] = columns.get(name, parts)
                taken |= {name, *(f"{name}/{part}" for part in parts)}
                break
    return known | {name: column for name, column in columns.items() if name not in taken}


def _outcomes(by_name: _Known, budget: Budget) -> dict[str, Array]:
    """What tells where episodes end: one number for each step of the file."""
    outcomes: dict[str, Array] = {}
    for name in _OUTCOMES:
        column = by_name.get(name)
        if not isinstance(column, ArrayColumn):
            continue
        steps = len(outcomes["rewards"]) if outcomes else column.rows
        values = column.read(steps, budget) if column.rows == steps >= 0 else np.empty(0)
        if column.rows != steps or values.size != steps:
            raise corrupt(
                f"the column {name} has not one number for each step",
                expected=f"{steps:,} of them" if outcomes else "shape (steps,)",
                found=f"{column.rows:,} rows" if column.rows != steps else str(values.shape),
            )
        outcomes[name] = values.reshape(-1)
    return outcomes


def _bounds(outcomes: Mapping[str, Array], budget: Budget) -> list[tuple[int, int]]:
    """Where each episode begins and ends."""
    steps = len(outcomes["rewards"])
    budget.spend(3 * steps, "steps")
    last = np.zeros(steps, bool)
    for name in ("terminateds", "truncateds"):
        if name in outcomes:
            last |= outcomes[name].astype(bool)
    if "starts" in outcomes:
        last[:-1] |= outcomes["starts"][1:].astype(bool)
    if "eps_id" in outcomes:
        last[:-1] |= outcomes["eps_id"][1:] != outcomes["eps_id"][:-1]
    stops = np.flatnonzero(last) + 1
    if steps and (not len(stops) or stops[-1] != steps):
        stops = np.append(stops, steps)
    budget.spend(_STEP_BYTES * len(stops), "episodes")
    return list(zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True))


def _extra_rows(
    by_name: _Known, steps: int, episodes: int, place: Place, damage: Damage
) -> dict[str, int]:
    """The columns to read with each episode, and how many rows more than steps they have there.

    What has another number of rows tells of the file, not of a step, and is passed over.
    """
    extra_rows = {}
    for name, column in by_name.items():
        if name in _OUTCOMES or name.startswith(_ABOUT):
            continue
        parts = [column] if isinstance(column, ArrayColumn) else [*column.values()]
        rows = {part.rows for part in parts}
        is_longer = name == "obs" and rows == {steps + episodes}
        problem = next((part.problem for part in parts if part.problem), "")
        if name in ("obs", "actions", "new_obs"):
            if problem:
                raise corrupt(f"the column {name} {problem}")
            if rows != {steps} and not is_longer:
                raise corrupt(
                    f"the column {name} has another number of rows than there are rewards",
                    expected=f"{steps:,}; or {steps + episodes:,} observations, with the last ones "
                    f"of {episodes:,} episodes",
                    found=sorted(rows),
                )
        if rows == {steps} and problem:
            damage.note(place.name, None, corrupt(f"the column {name} {problem}"))
        elif rows == {steps} or is_longer:
            extra_rows[name] = int(is_longer)
    return extra_rows


def _read(column: ArrayColumn | dict[str, ArrayColumn], rows: int, budget: Budget) -> Any:
    if isinstance(column, ArrayColumn):
        return column.read(rows, budget)
    tree: dict[str, Any] = {}
    for path, part in column.items():
        *groups, name = path.split("/")
        place = tree
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = part.read(rows, budget)
    return tree


def _episode(
    number: int, columns: dict[str, Any], outcomes: Mapping[str, Array], rows: slice
) -> SingleAgentEpisode:
    steps = rows.stop - rows.start
    observations, after = columns.pop("obs"), columns.pop("new_obs", None)
    if len(nest.a_leaf(observations)) == steps:
        last = nest.taken(observations if after is None else after, slice(steps - 1, steps))
        if after is None:
            last = nest.map_structure(np.zeros_like, last)
        observations = nest.joined([observations, last])
    infos = {
        name.removeprefix(_INFOS): columns.pop(name)
        for name in [*columns]
        if name.startswith(_INFOS)
    }
    ended = {
        name: bool(outcomes[name][rows.stop - 1])
        for name in ("terminateds", "truncateds")
        if name in outcomes
    }
    ids = outcomes.get("eps_id")
    return SingleAgentEpisode(
        str(number if ids is None else ids[rows.start]),
        observations=observations,
        actions=columns.pop("actions"),
        rewards=outcomes["rewards"][rows].astype(np.float64),
        infos=[{name: column[t] for name, column in infos.items()} for t in range(steps)] + [{}],
        # Where nothing tells how episodes end, another one that follows tells that this one did.
        terminated=ended.get("terminateds", not ended and rows.stop < len(outcomes["rewards"])),
        truncated=ended.get("truncateds", False) and not ended.get("terminateds", False),
        extra_model_outputs=columns,
        len_lookback_buffer=0,
    ).to_numpy()
