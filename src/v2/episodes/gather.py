"""Columns of many episodes at once: what pipelines read instead of one item after the other.

Internal to the V2 stack. Each function gives what the items one by one would give when they are
batched, or None where they make no batch; then the caller goes item by item and finds the error.
Multi-agent episodes are read without handing out what their journals hold.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Final, TypeAlias

import numpy as np

from ...core import nest
from ...core.errors import EpisodeError, SpaceError
from ...core.types import Nest
from .column_items import length_of, stacked
from .multi_agent import MultiAgentEpisode
from .single_agent import SingleAgentEpisode

AgentKey: TypeAlias = tuple[Any, Hashable, Any]
"""Where a row comes from: multi-agent episode, agent, module."""

_PLAIN: Final = frozenset({list, np.ndarray})
_ATTRIBUTES: Final = {
    "obs": "observations",
    "actions": "actions",
    "rewards": "rewards",
    "infos": "infos",
}


def last_rows(episodes: Sequence[MultiAgentEpisode]) -> tuple[list[AgentKey], list[Any]] | None:
    """The last observations of all agents that stepped, with the keys batches use for them.

    Args:
        episodes: The order of the rows is theirs, and in each that of its agents' appearance.

    Returns:
        As many keys as observations; None where an agent's are arrays.
    """
    keys: list[AgentKey] = []
    rows: list[Any] = []
    for episode in episodes:
        last = episode.last_row()
        if last is None:
            return None
        singles = map(episode.singles.__getitem__, last)
        keys += [(one.multi_agent_episode_id, one.agent_id, one.module_id) for one in singles]
        rows += last.values()
    return keys, rows


def last_rows_by_module(
    episodes: Sequence[MultiAgentEpisode],
) -> dict[Any, tuple[list[tuple[Any, Any]], list[Any]]] | None:
    """What `last_rows` gives, by module, where all agents that are not done act in each step.

    Args:
        episodes: The order of the rows is theirs.

    Returns:
        By module id the ids of episode and agent of each row, and the rows; None where not all
        agents act together, or an episode is there twice.
    """
    by_module: dict[Any, tuple[list[tuple[Any, Any]], list[Any]]] = {}
    ids = set()
    for episode in episodes:
        journal = episode.journal
        if journal is None:
            return None
        last = journal.rows[-1][0] if journal.rows else episode.last_row()
        for module_id, keys, picked in journal.groups(episode.singles):
            if module_id in by_module:
                own_keys, rows = by_module[module_id]
                own_keys += keys
                rows += picked(last)
            else:
                by_module[module_id] = [*keys], [*picked(last)]
            ids.add(keys[0][0])
    return by_module if len(ids) == len(episodes) else None


def stepped_singles(episode: MultiAgentEpisode) -> list[SingleAgentEpisode]:
    """The own episodes of the agents that stepped; their columns may end before the journal."""
    return [episode.singles[agent] for agent in episode.stepped]


def outputs_in_journal(episode: MultiAgentEpisode, key: str) -> dict[Hashable, Any] | None:
    """The last of an extra model output by agent; None where the agents' episodes have it."""
    journal = episode.journal
    return journal.last_outputs(key) if journal is not None and journal.rows else None


def concat_column(
    episodes: Sequence[SingleAgentEpisode],
    column: str,
    *,
    without_last: bool = False,
    without_first: bool = False,
) -> tuple[Nest, list[int]] | None:
    """All items of many episodes after their look-back, one episode after the other.

    Args:
        episodes: At least one.
        column: "obs", "actions", "rewards" or the key of an extra model output.
        without_last: Leave out the last item of each, as the observation nobody acted on.
        without_first: Leave out the first item of each, as the observation nothing led to.

    Returns:
        The column and how many rows each episode has in it; None if the items differ in shape or
        structure, some are lists and some arrays, or there are none.
    """
    name = _ATTRIBUTES.get(column)
    try:
        if name is None:
            buffers = [episode.extra_model_outputs[column] for episode in episodes]
        else:
            buffers = [*map(attrgetter(name), episodes)]
    except KeyError:
        return None
    parts = [buffer.raw for buffer in buffers]
    firsts = [buffer.lookback + without_first for buffer in buffers]
    if len(parts) == 1 and type(parts[0]) is np.ndarray:
        rows = parts[0][firsts[0] : -1 if without_last else None].copy()
        return rows, [len(rows)]
    kinds = set(map(type, parts))
    if len(kinds) > 1:
        return None
    if without_last or any(firsts):
        end = -1 if without_last else None
        if kinds <= _PLAIN:
            parts = [part[first:end] for part, first in zip(parts, firsts, strict=True)]
        else:
            parts = [
                nest.taken(part, slice(first, end))
                for part, first in zip(parts, firsts, strict=True)
            ]
    try:
        if kinds == {np.ndarray}:
            return np.concatenate(parts), [*map(len, parts)]
        counts = [*map(length_of, parts)]
        if kinds == {list}:
            return stacked([*chain.from_iterable(parts)]), counts
        return nest.joined(parts), counts
    except (EpisodeError, SpaceError, IndexError, ValueError):
        return None
