"""Recorded observations, from a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.errors import ConfigError, SpaceError
from ...core.spaces.values import Course, recorded_courses
from ...core.vault.files.number_files import read_arrays
from ...v2.algorithms.episode_files import SUFFIX, read_episodes
from ...v2.episodes.multi_agent import MultiAgentEpisode
from ..environments import live_env
from ..played_episodes import play_alone
from .staged import Staged

_OBS: Final = "obs"
_ARRAYS: Final = (".npy", ".npz")
_IDS: Final = ("eps_id", "episode")
_ENDS: Final = ("dones", "terminateds", "truncateds")


def read_courses(path: str | os.PathLike[str]) -> list[Course]:
    """Episodes of observations in a file or folder.

    Args:
        path: An `.npy` of one episode `(T, *obs)`; an `.npz` whose arrays are episodes, or columns
            of steps: `obs`, with `eps_id` or `dones` where there are several episodes; episodes
            that `offline_data(output=...)` wrote (`.msgpack`), or a folder of them; or whatever
            `rlconnect.offline.open_dataset` reads: samples of RLlib's, datasets of Minari.

    Raises:
        CheckpointError: Nothing can be read there.
        ConfigError: It holds no observations of one agent.
    """
    file = Path(path)
    if file.suffix in _ARRAYS:
        return _in_arrays(file)
    if file.suffix == SUFFIX or (os.path.isdir(file) and any(file.glob(f"*{SUFFIX}"))):
        episodes: Iterable[Any] = read_episodes(file)
    else:
        from ...offline.dataset import open_dataset

        episodes = open_dataset(file).episodes()
    courses = []
    for episode in episodes:
        if isinstance(episode, MultiAgentEpisode):
            raise ConfigError(
                f"{file} holds episodes of several agents",
                hint="give those of one agent: episode.agent_episodes[AGENT] of each.",
            )
        courses.append(_steps(episode))
    return courses


def _in_arrays(file: Path) -> list[Course]:
    arrays = read_arrays(file)
    if _OBS in arrays:
        return _split(arrays)
    courses = [list(array) for array in arrays.values() if array.ndim]
    if not courses:
        raise ConfigError(
            f"{file} holds no observations", expected="arrays with one step a row", found="none"
        )
    return courses


def courses_for(space: Any, observations: str | os.PathLike[str] | Sequence[Any]) -> list[Course]:
    """Recorded episodes, checked against their space.

    `observations` is a file as for `read_courses`, one episode, or a list of episodes.
    """
    is_file = isinstance(observations, (str, os.PathLike))
    courses = read_courses(observations) if is_file else recorded_courses(observations)  # type: ignore[arg-type]  # by is_file
    if not any(courses):
        raise ConfigError("there is no observation among those recorded", hint="give some.")
    return [
        [_fitting(space, observation) for observation in course] for course in courses if course
    ]


def _fitting(space: Any, observation: Any) -> Any:
    """An observation in the dtype of its space; arrays alone are looked at."""
    if (
        space is None
        or space.shape is None
        or not isinstance(observation, (np.ndarray, np.generic))
    ):
        return observation
    if np.shape(observation) != space.shape:
        raise SpaceError(
            "recorded observations are of another space",
            expected=str(space),
            found=f"an array {np.shape(observation)}",
            hint="record them before any preprocessing, as the environment gives them.",
        )
    return np.asarray(observation).astype(space.dtype, copy=False)


def played_courses(staged: Staged, env: Any, *, episodes: int, seed: int) -> list[Course]:
    """What a policy sees while it plays."""
    opened, is_ours = live_env(env)
    try:
        return [_played(staged, opened, seed + number) for number in range(episodes)]
    finally:
        if is_ours:
            opened.close()


def _played(staged: Staged, env: Any, seed: int) -> Course:
    slots, course = [f"played-{seed}"], []

    def act(seen: Any, reward: Any) -> Any:
        course.append(seen)
        rewards = None if reward is None else [reward]
        return action_row(staged.step(slots, [seen], rewards)["action"])

    staged.reset(slots)
    observation, _ = env.reset(seed=seed)
    *_, last = play_alone(env, observation, act)
    staged.reset(slots)
    return [*course, last]


def action_row(action: Any, number: int = 0) -> Any:
    """One row of actions, as an environment takes it."""
    row = nest.taken(action, number)
    return row.item() if isinstance(row, np.integer) else row


def _steps(episode: Any) -> Course:
    return [episode.get_observations(place) for place in range(len(episode) + 1)]


def _split(arrays: dict[str, Any]) -> list[Course]:
    """Columns of steps as episodes."""
    observations = arrays[_OBS]
    starts = np.zeros(len(observations), bool)
    for name in _IDS:
        if name in arrays and len(arrays[name]) == len(observations):
            starts[1:] |= arrays[name][1:] != arrays[name][:-1]
    for name in _ENDS:
        if name in arrays and len(arrays[name]) == len(observations):
            starts[1:] |= arrays[name][:-1].astype(bool)
    return [list(part) for part in np.split(observations, np.flatnonzero(starts))]
