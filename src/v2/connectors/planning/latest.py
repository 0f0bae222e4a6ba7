"""What running episodes hold for a module right now: latest observations and states, as rows.

Read straight from the lists that running episodes are made of. Other forms (arrays, an episode
twice) are `NotColumnar`: the pieces read them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....core.columns import Columns
from ....core.types import Nest
from ...episodes.gather import last_rows, last_rows_by_module, outputs_in_journal, stepped_singles
from ...episodes.multi_agent import MultiAgentEpisode
from ...episodes.single_agent import SingleAgentEpisode
from ..common.add_states import initial_state, last_state
from ..item_rows import by_module, joined
from ..table import NotColumnar, Rows


def latest_observations(episodes: Sequence[Any]) -> dict[Any, Rows]:
    """The latest observations of all episodes, by module id; under None for a single agent.

    Raises:
        NotColumnar: There are no episodes, or not all of one kind.
    """
    if {*map(type, episodes)} != {MultiAgentEpisode}:
        ids, seen = latest_of_singles(episodes)
        if len({*ids}) < len(ids):
            raise NotColumnar
        return {None: Rows(ids, {Columns.OBS: seen})}
    grouped = last_rows_by_module(episodes)
    if grouped is not None:
        return {
            module_id: Rows(keys, {Columns.OBS: joined(items)})
            for module_id, (keys, items) in grouped.items()
        }
    found = last_rows(episodes)
    if found is None or len({*found[0]}) < len(found[0]):
        raise NotColumnar
    return by_module(found[0], {Columns.OBS: found[1]})


def latest_of_singles(episodes: Sequence[Any]) -> tuple[list[str], Nest]:
    """The ids of episodes of a single agent, and their latest observations.

    Raises:
        NotColumnar: There are none, or others among them.
    """
    ids: list[str] = []
    items: list[Any] = []
    for episode in episodes:
        if type(episode) is not SingleAgentEpisode or episode.agent_id is not None:
            raise NotColumnar
        column = episode.observations.raw
        if type(column) is not list or not column:
            raise NotColumnar
        ids.append(episode.id_)
        items.append(column[-1])
    if not ids:
        raise NotColumnar
    return ids, joined(items)


def latest_states(episodes: Sequence[SingleAgentEpisode], module: Any) -> Nest:
    """The states a module goes on with in the episodes of single agents.

    Args:
        episodes: At least one.
        module: Gives the state of those that begin.
    """
    return joined(_states(episodes, module))


def _states(episodes: Sequence[SingleAgentEpisode], module: Any) -> list[Any]:
    states = []
    key = Columns.STATE_OUT
    for episode in episodes:
        buffer = episode.extra_model_outputs.get(key) if episode.t else None
        column: Any = None if buffer is None else buffer.raw
        is_listed = type(column) is list and column
        states.append(column[-1] if is_listed else last_state(episode, module))
    return states


def states_of_rows(
    episodes: Sequence[Any], module_id: Any, keys: Sequence[Any], module: Any
) -> Nest:
    """The states a module goes on with in its rows.

    Args:
        episodes: Of one or several agents.
        module_id: The module; None for that of a single agent.
        keys: Whose rows they are, as `Rows` has it.
        module: The module itself.

    Raises:
        NotColumnar: The rows are not those of all agents that stepped.
    """
    kinds = {*map(type, episodes)}
    if module_id is None and kinds == {SingleAgentEpisode}:
        if [episode.id_ for episode in episodes if episode.agent_id is None] != keys:
            raise NotColumnar
        return latest_states(episodes, module)
    if kinds != {MultiAgentEpisode}:
        raise NotColumnar
    owners: list[Any] = []
    states: list[Any] = []
    for episode in episodes:
        singles = [one for one in stepped_singles(episode) if one.module_id == module_id]
        owners += [(one.multi_agent_episode_id, one.agent_id) for one in singles]
        told = outputs_in_journal(episode, Columns.STATE_OUT)
        if told is None:
            states += _states(singles, module)
        elif told:
            states += [told[one.agent_id] for one in singles]
        else:
            states += [initial_state(module) for _ in singles]
    if owners != keys:
        raise NotColumnar
    return joined(states)
