"""The states of stateful modules from episodes into the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from typing_extensions import override

from ....core import array_namespace as xp
from ....core import nest
from ....core.arrays.batching import batch as batched
from ....core.columns import Columns
from ....core.step.part import moves_numbers
from ....core.types import Nest
from ...episodes.gather import outputs_in_journal, stepped_singles
from ...episodes.multi_agent import MultiAgentEpisode
from ...episodes.single_agent import SingleAgentEpisode
from ..batch_items import add_batch_item, add_n_batch_items, single_agent_episode_iterator
from ..columnar import FromEpisodes
from ..item_rows import joined
from ..piece_plan import Call
from ..stateful_modules import max_seq_len, stateful_module
from ..table import NotColumnar, Table
from .tensor_to_numpy import narrowed

_NO_ROWS: Final = "the rows are not those of all agents that stepped"


class AddStatesFromEpisodesToBatch(FromEpisodes):
    """Add the input state of a stateful module, as `state_in`.

    For inference, it is the last state returned by the module, or its initial state. For learners,
    it is the state before the first step of each row of `max_seq_len` steps; if the batch contains
    next observations, `next_state_in` is the state one step later.

    Args:
        as_learner_connector: Whether the batch is a train batch.
    """

    TAKES_ROWS = True
    part = moves_numbers

    @override
    def columns(self, batch: Any, call: Call) -> Any:
        if not call.has_state() or Columns.STATE_IN in batch:
            return batch
        learns = self.as_learner_connector
        if type(batch) is Table:
            if learns or batch.is_by_module:
                raise NotColumnar(_NO_ROWS)
            for module_id, rows in batch.blocks.items():
                module = stateful_module(call.rl_module, module_id)
                if module is not None:
                    rows.columns[Columns.STATE_IN] = _states_of_rows(
                        call.episodes, module_id, rows.keys, module
                    )
            return batch
        for episode in single_agent_episode_iterator(call.episodes, not learns):
            module = stateful_module(call.rl_module, episode.module_id)
            if module is None:
                continue
            if learns:
                self._add_rows(batch, episode, module)
            else:
                add_batch_item(batch, Columns.STATE_IN, last_state(episode, module), episode)
        return batch

    def _add_rows(self, batch: dict[str, Any], episode: Any, module: Any) -> None:
        step = max_seq_len(module, self)
        rows = -(-len(episode) // step)
        if not rows:
            return
        has_states = Columns.STATE_OUT in episode.extra_model_outputs
        if has_states:
            after = episode.get_extra_model_outputs(Columns.STATE_OUT)
            after = batched(after) if isinstance(after, list) else after
            first = _state_before(episode, module)
            states = nest.map_structure(
                lambda leaf, start: np.concatenate([start[None], leaf[step - 1 : -1 : step]]),
                after,
                first,
            )
            following = nest.map_structure(lambda leaf: leaf[::step], after)
        else:
            states = following = nest.map_structure(
                lambda leaf: np.repeat(leaf[None], rows, axis=0), initial_state(module)
            )
        add_n_batch_items(batch, Columns.STATE_IN, states, rows, episode)
        if Columns.NEXT_OBS in batch:
            add_n_batch_items(batch, Columns.NEXT_STATE_IN, following, rows, episode)


def initial_state(module: Any) -> Nest:
    """The state of a module before an episode, in arrays as narrow as those it puts out."""
    return narrowed(nest.map_structure(xp.to_numpy, module.get_initial_state()))


def last_state(episode: Any, module: Any) -> Nest:
    """Return the input state of a module in a running episode of one agent."""
    states = episode.extra_model_outputs.get(Columns.STATE_OUT)
    is_fresh = episode.t_started == 0 and len(episode) == 0
    if is_fresh or states is None or states.len_incl_lookback() == 0:
        return initial_state(module)
    return episode.get_extra_model_outputs(Columns.STATE_OUT, indices=-1)


def _state_before(episode: Any, module: Any) -> Nest:
    """The state before the first step: from the look-back, or the initial one."""
    states = episode.extra_model_outputs[Columns.STATE_OUT]
    if episode.t_started == 0 or states.lookback == 0:
        return initial_state(module)
    last = episode.get_extra_model_outputs(
        Columns.STATE_OUT, indices=-1, neg_index_as_lookback=True
    )
    return nest.map_structure(np.asarray, last)


def latest_states(episodes: Sequence[SingleAgentEpisode], module: Any) -> Nest:
    """Return the input states of a module in single-agent episodes.

    Args:
        episodes: At least one.
        module: Provides the state of new episodes.
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


def _states_of_rows(
    episodes: Sequence[Any], module_id: Any, keys: Sequence[Any], module: Any
) -> Nest:
    """Return the input states of a module in its rows.

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
            raise NotColumnar(_NO_ROWS)
        return latest_states(episodes, module)
    if kinds != {MultiAgentEpisode}:
        raise NotColumnar(_NO_ROWS)
    owners: list[Any] = []
    states: list[Any] = []
    for episode in episodes:
        singles = [one for one in stepped_singles(episode) if one.module_id == module_id]
        owners += [(one.multi_agent_episode_id, one.agent_id) for one in singles]
        outputs = outputs_in_journal(episode, Columns.STATE_OUT)
        if outputs is None:
            states += _states(singles, module)
        elif outputs:
            states += [outputs[one.agent_id] for one in singles]
        else:
            states += [initial_state(module) for _ in singles]
    if owners != keys:
        raise NotColumnar(_NO_ROWS)
    return joined(states)
