"""Datasets of Minari: a group for each episode in an HDF5 file, and what tells of them beside it.

What Minari has no place for (ids, outputs of modules) lies in a group of its own in each episode,
which Minari passes over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import spaces as gym_spaces

from ...core.errors import ConfigError
from ...core.importing.torch_needed import extra_needed
from ...core.spaces.schema import field_of
from ...core.spaces.walk import kind_of
from ...core.vault.own.atomic import replaced_file
from ...v2.episodes.single_agent import SingleAgentEpisode
from ..readers.minari_reader import INFOS, METADATA, OWN
from .batch_lines import as_plain
from .files import Progress

DATA: Final = "main_data.hdf5"
_VERSION: Final = "0.5.4"
_NAME: Final = re.compile(r"(?!\.\Z)[^/\x00\ud800-\udfff]+")


def write_minari(
    folder: Path, episodes: Iterable[Any], name: str, progress: Progress | None = None
) -> None:
    """Write episodes as a dataset; its files are put in place when all are written.

    `name` is its id, such as "cartpole/expert-v0"; `progress` is told how many steps more were
    written.
    """
    with extra_needed("h5py", "writing datasets of Minari"):
        import h5py
    target = folder / "data"
    target.mkdir(parents=True, exist_ok=True)
    count, steps = 0, 0
    spaces: list[Any] = [None, None]
    with replaced_file(target / DATA) as fresh:
        with h5py.File(fresh, "w", locking=False) as file:
            for episode in episodes:
                if not isinstance(episode, SingleAgentEpisode):
                    raise ConfigError(
                        f"episode {episode.id_} is of several agents, which Minari does not hold"
                    )
                own = _spaces(episode)
                spaces = [*map(_wider, spaces, own)] if count else own
                _write(file.create_group(f"episode_{count}"), episode.to_numpy(), count)
                count, steps = count + 1, steps + len(episode)
                if progress is not None:
                    progress(len(episode))
        size = Path(fresh).stat().st_size
    told = {
        "total_episodes": count,
        "total_steps": steps,
        "data_format": "hdf5",
        "observation_space": json.dumps(_told(spaces[0])),
        "action_space": json.dumps(_told(spaces[1])),
        "dataset_id": name,
        "minari_version": _VERSION,
        "dataset_size": round(size / 1e6, 1),
        "jpeg_encoding": False,
    }
    with replaced_file(target / METADATA) as fresh:
        Path(fresh).write_text(json.dumps(told), encoding="utf-8")


def _write(group: Any, episode: SingleAgentEpisode, number: int) -> None:
    steps = len(episode)
    ends = np.zeros((2, steps), bool)
    ends[:, -1:] = [[bool(episode.is_terminated)], [bool(episode.is_truncated)]]
    group.attrs["id"] = number
    group.attrs["total_steps"] = steps
    _tree(group, "observations", episode.get_observations(slice(0, steps + 1)))
    _tree(group, "actions", episode.get_actions(slice(0, steps)))
    _tree(group, "rewards", _numbers(episode.get_rewards(slice(0, steps)), "rewards") * 1.0)
    _tree(group, "terminations", ends[0])
    _tree(group, "truncations", ends[1])
    own = group.create_group(OWN)
    infos = list(episode.get_infos(slice(0, steps + 1)))
    if not all(isinstance(each, Mapping) for each in infos):
        raise ConfigError("infos that are no dicts have no place in a dataset of Minari")
    joined = _joined_infos(infos)
    if joined:
        _tree(group, "infos", joined)
    if any(set(map(str, each)) != set(joined) for each in infos):
        own[INFOS] = [json.dumps(each, default=as_plain) for each in infos]
    own.attrs["id"] = str(episode.id_)
    own.attrs["t_started"] = int(episode.t_started)
    for name in episode.extra_model_outputs:
        _tree(own, name, episode.get_extra_model_outputs(name, slice(0, steps)))


def _tree(group: Any, name: str, column: Any) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"the name {name!r} has no place in a dataset of Minari",
            expected="letters that can be written, without '/'",
        )
    if isinstance(column, Mapping):
        inner = group.create_group(name)
        for key, part in column.items():
            _tree(inner, str(key), part)
    elif isinstance(column, tuple):
        inner = group.create_group(name)
        for place, part in enumerate(column):
            _tree(inner, f"_index_{place}", part)
    else:
        group.create_dataset(name, data=_numbers(column, name))


def _numbers(column: Any, name: str) -> Any:
    array = np.asarray(column)
    if array.dtype.kind not in "biuf":
        raise ConfigError(
            f"column {name!r} of {array.dtype} has no place in a dataset of Minari",
            expected="numbers",
        )
    return array


def _joined_infos(infos: list[Any]) -> dict[str, Any]:
    """Infos as columns: those numbers that each step tells, in one shape."""
    made: dict[str, Any] = {}
    shared = set.intersection(*(set(each) for each in infos)) if infos else set()
    for key in sorted(shared, key=str):
        values = [each[key] for each in infos]
        if all(isinstance(value, Mapping) for value in values):
            inner = _joined_infos(values)
            if inner:
                made[str(key)] = inner
            continue
        arrays = [np.asarray(value) for value in values]
        if (
            len({(each.shape, each.dtype.kind) for each in arrays}) == 1
            and arrays[0].dtype.kind in "biuf"
        ):
            made[str(key)] = np.stack(arrays)
    return made


def _spaces(episode: SingleAgentEpisode) -> list[Any]:
    """The spaces of an episode; as wide as its arrays where they are not told."""
    steps = len(episode)
    seen = episode.observation_space or _implied(episode.get_observations(slice(0, steps + 1)))
    done = episode.action_space or _implied(episode.get_actions(slice(0, steps)))
    return [seen, done]


def _implied(column: Any) -> Any:
    if isinstance(column, Mapping):
        return gym_spaces.Dict({str(key): _implied(part) for key, part in column.items()})
    if isinstance(column, tuple):
        return gym_spaces.Tuple([_implied(part) for part in column])
    array = _numbers(column, "observations or actions")
    if array.dtype.kind not in "iu":
        return gym_spaces.Box(-np.inf, np.inf, array.shape[1:], array.dtype)
    if array.ndim == 1:
        first = int(array.min())
        return gym_spaces.Discrete(int(array.max()) - first + 1, start=first)
    info = np.iinfo(array.dtype)
    low, high = (np.full(array.shape[1:], end, array.dtype) for end in (info.min, info.max))
    return gym_spaces.Box(low, high, array.shape[1:], array.dtype)


def _wider(space: Any, other: Any) -> Any:
    """A space that holds both, as far as they were implied by what was recorded."""
    if isinstance(space, gym_spaces.Dict) and isinstance(other, gym_spaces.Dict):
        return gym_spaces.Dict({k: _wider(part, other[k]) for k, part in space.spaces.items()})
    if isinstance(space, gym_spaces.Tuple) and isinstance(other, gym_spaces.Tuple):
        return gym_spaces.Tuple([*map(_wider, space.spaces, other.spaces)])
    if isinstance(space, gym_spaces.Discrete) and isinstance(other, gym_spaces.Discrete):
        first = min(int(space.start), int(other.start))
        end = max(int(each.start) + int(each.n) for each in (space, other))
        return gym_spaces.Discrete(end - first, start=first)
    return space


_FIELDS: Final = {
    "Box": ("dtype", "shape", "low", "high"),
    "Discrete": ("dtype", "start", "n"),
    "MultiDiscrete": ("dtype", "shape", "nvec"),
    "MultiBinary": ("shape", "n"),
}
"""What Minari writes of a space of each kind."""


def _told(space: Any) -> dict[str, Any]:
    if isinstance(space, gym_spaces.Dict):
        return {"type": "Dict", "subspaces": {k: _told(v) for k, v in space.spaces.items()}}
    if isinstance(space, gym_spaces.Tuple):
        return {"type": "Tuple", "subspaces": [_told(part) for part in space.spaces]}
    kind = kind_of(space)
    if kind not in _FIELDS:
        named = type(space).__name__
        raise ConfigError(f"a {named} space has no place in a dataset of Minari")
    fields = {name: field_of(space, name) for name in _FIELDS[kind]}
    return {"type": kind} | {name: _plain(value) for name, value in fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value) if isinstance(value, np.dtype) else value
