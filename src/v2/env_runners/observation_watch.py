"""Observations that no network can take, told by environment or episode."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from ...core import nest
from ...core.errors import SpaceError
from ...core.spaces.fit import explain_mismatch
from ...core.text.visible import visible_lines
from ..episodes.episode_columns import EpisodeColumns


class NonFiniteError(SpaceError):
    """An observation holds NaN or an infinite number."""


def expect_finite(episodes: Iterable[Any], where: str) -> None:
    """Check all observations of episodes, or raise.

    Raises:
        NonFiniteError: One is not finite.
    """
    for episode in episodes:
        data = episode.observations.data
        if not episode.observations.finalized:
            data = [leaf for leaf in nest.flatten(data) if _is_float(leaf)]
        for leaf in nest.flatten(data):
            if _is_float(leaf) and not _is_finite(leaf):
                raise _not_finite(leaf, where, episode.id_)


def explain_dtype(error: Exception, observation: Any, where: str) -> None:
    """Check whether a module failed because observations are not floating-point numbers.

    Raises:
        SpaceError: They are not.
    """
    if not isinstance(error, RuntimeError) or "type" not in str(error):
        return
    for leaf in nest.flatten(observation):
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "iub":
            raise SpaceError(
                f"{where}: its layers take floating-point observations",
                expected="float32",
                found=str(leaf.dtype),
                hint="convert them before the module: FlattenObservations() makes float32 vectors;"
                " a wrapper of the environment can scale images to floats.",
            ) from error


def expect_finite_columns(columns: EpisodeColumns, where: str) -> None:
    """Check all observations of episodes in columns, or raise.

    Args:
        columns: Of one environment or several.
        where: Whose observations they are, for the message.

    Raises:
        NonFiniteError: One is not finite.
    """
    for leaf in nest.flatten(columns.observations):
        if _is_float(leaf) and not _is_finite(leaf):
            first = 0
            for id_, steps in zip(columns.ids, columns.lens, strict=True):
                rows = leaf[first : first + steps + 1]
                first += steps + 1
                if not _is_finite(rows):
                    raise _not_finite(rows, where, id_)


def warn_if_outside(
    spaces: Mapping[Hashable, gym.Space[Any]], by_env: Iterable[Mapping[Hashable, Any]]
) -> None:
    """Warn of first observations that lie outside of their space.

    Args:
        spaces: By agent; under None that of a single one.
        by_env: For each environment observations by agent.
    """
    for index, observations in enumerate(by_env):
        for agent, observation in observations.items():
            reason = agent in spaces and explain_mismatch(spaces[agent], observation)
            if reason:
                whose = "its space" if agent is None else f"the space of agent {agent!r}"
                warnings.warn(
                    f"Environment {index} returned an observation outside of {whose}: "
                    f"{visible_lines(reason)}.",
                    UserWarning,
                    stacklevel=2,
                )
                return


def _not_finite(leaf: Any, where: str, episode_id: str) -> NonFiniteError:
    return NonFiniteError(
        f"{where}: an observation in episode {episode_id} is not finite",
        expected="finite numbers",
        found=_first_bad(leaf),
        hint="look at the environment's step() and reset(); "
        "config.environment(disable_env_checking=True) lets it pass.",
        episode_id=episode_id,
    )


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, np.floating)) and leaf.dtype.kind == "f"


def _is_finite(leaf: Any) -> bool:
    # One pass nearly always: a sum of squares may overflow, then each number is looked at.
    return math.isfinite(np.vdot(leaf, leaf)) or bool(np.isfinite(leaf).all())


def _first_bad(leaf: Any) -> str:
    array = np.atleast_1d(leaf)
    place = np.unravel_index(int(np.argmin(np.isfinite(array))), array.shape)
    at = ", ".join(str(int(index)) for index in place)
    return f"{array[place]} at [{at}] of its column"
