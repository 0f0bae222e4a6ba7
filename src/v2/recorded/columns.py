"""Recorded columns: arrays with a row for each step, nests of such, or lists; and whose."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from ...core import nest
from ...core.data.damage import at
from ...core.errors import ConfigError
from ..episodes.single_agent import SingleAgentEpisode


def by_episode(columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """The rows in the order of their episodes' ids: the order of files is nobody's choice.

    Where a step more stands behind each, its value is made from the row that follows.
    """
    ids = columns.get("eps_id")
    if ids is None:
        return columns
    names = list(map(str, ids))
    order = sorted(range(len(names)), key=names.__getitem__)
    if order == list(range(len(names))):
        return columns
    return taken_rows(columns, np.array(order))


def taken_rows(columns: Mapping[str, Any], rows: Any) -> dict[str, Any]:
    """Some rows of columns, which are arrays, nests of arrays, or lists."""
    return {
        name: [column[row] for row in rows]
        if isinstance(column, list)
        else nest.taken(column, rows)
        for name, column in columns.items()
    }


def joined_columns(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """Blocks of columns one after the other; of those that all of them have."""
    if len(blocks) == 1:
        return blocks[0]
    joined: dict[str, Any] = {}
    for name in blocks[0]:
        parts: list[Any] = [block.get(name) for block in blocks]
        if any(part is None for part in parts):
            continue
        if isinstance(parts[0], list):
            joined[name] = list(chain.from_iterable(parts))
        else:
            with at(name):
                joined[name] = nest.joined(parts)
    return joined


def of_one_agent(episode: Any) -> SingleAgentEpisode:
    """The episode, if it is of one agent.

    Raises:
        ConfigError: It is of several.
    """
    if not isinstance(episode, SingleAgentEpisode):
        raise ConfigError(
            f"episode {episode.id_} is of several agents",
            hint="learn from episode.agent_episodes[AGENT] of each: offline_data(input_=[...]).",
        )
    return episode
