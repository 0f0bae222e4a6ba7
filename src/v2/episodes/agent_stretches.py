"""Multi-agent episodes taken apart and put together: successors, joints, slices."""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, TypeVar

from ...core import nest
from ...core.errors import EpisodeError
from . import stretches
from .errors import EpisodeItemError, EpisodeStateError
from .indexing import Steps
from .lookback_buffer import InfiniteLookbackBuffer

if TYPE_CHECKING:
    from .multi_agent import MultiAgentEpisode
    from .single_agent import SingleAgentEpisode

_Episode = TypeVar("_Episode", bound="MultiAgentEpisode")


def successor(episode: _Episode, len_lookback_buffer: int) -> _Episode:
    """The episode that goes on where `episode` stops; it shares no memory with it."""
    if episode.is_done:
        raise EpisodeStateError(
            f"episode {episode.id_} is done: it cannot be cut, nothing follows",
            hint="slice it (episode[a:b]) to look at a part.",
        )
    episode._hand_out()
    # As in RLlib: the look-back reaches what hanging actions were the answer to.
    present = [episode._env_ts[agent][-1] for agent in episode._hanging_actions_end]
    lookback = max(0, len_lookback_buffer, episode.env_t - min(present, default=episode.env_t))
    follower = _like(episode, episode.env_t, episode.env_t, lookback)
    for agent, single in episode._agents.items():
        times = episode._env_ts[agent]
        # An agent's last observation is its present, however long ago it was.
        keep = max(0, len(times) - 1 - bisect_left(times, episode.env_t - lookback))
        if single.is_done and not keep:
            continue
        # As in RLlib: what goes on is a list again, unlike after cutting an agent's own episode.
        follower._agents[agent] = part = stretches.continuation(single, keep, as_lists=True)
        part.is_terminated, part.is_truncated = single.is_terminated, single.is_truncated
        if not keep:
            part.extra_model_outputs = {}  # As in RLlib; the next step begins new columns.
        follower._env_ts[agent] = times[-keep - 1 :]
        _copy_hanging(episode, follower, agent)
    follower._stepped = tuple(agent for agent in episode._stepped if agent in follower._agents)
    if episode._custom_data:
        follower._custom_data = copy.deepcopy(episode._custom_data)
    follower._open_journal()
    return follower


def append_successor(episode: MultiAgentEpisode, other: MultiAgentEpisode) -> None:
    """Append the steps of `other`, which goes on where `episode` stops."""
    if other.id_ != episode.id_ or other.env_t_started != episode.env_t or episode.is_done:
        raise EpisodeError(
            f"episode {episode.id_} cannot take the steps of the other",
            expected=f"id {episode.id_}, unfinished until environment step {episode.env_t}",
            found=f"id {other.id_} from step {other.env_t_started} on, done={episode.is_done}",
            hint="only what `cut()` of this episode returned goes on here.",
        )
    episode._hand_out()
    other._hand_out()
    episode._journal = None
    joined = [agent for agent in other._agents if agent in episode._agents]
    for agent in joined:
        if not episode._agents[agent].is_done:
            stretches.expect_successor(episode._agents[agent], other._agents[agent])
    for agent, single in other._agents.items():
        times = other._env_ts[agent]
        if agent not in episode._agents:
            episode._agents[agent] = copy.deepcopy(single)
            episode._env_ts[agent] = times.copy()
        elif not episode._agents[agent].is_done:
            stretches.append_successor(episode._agents[agent], single)
            episode._env_ts[agent] += times[single.observations.lookback + 1 :]
        _drop_hanging(episode, agent)
        _copy_hanging(other, episode, agent)
    for agent, reward in other._hanging_rewards_begin.items():
        begin = episode._hanging_rewards_begin
        begin[agent] = begin.get(agent, 0.0) + reward
    episode._agent_to_module_mapping.update(other._agent_to_module_mapping)
    episode.env_t = other.env_t
    episode.is_terminated = other.is_terminated
    episode.is_truncated = other.is_truncated
    episode._stepped = other._stepped
    episode._last_step_time = other._last_step_time or episode._last_step_time
    episode._custom_data.update(other._custom_data)


def stretch(episode: _Episode, steps: Steps, len_lookback_buffer: int | None) -> _Episode:
    """Some environment steps; arrays are shared until one of the two changes a row."""
    if steps.step not in (None, 1):
        raise EpisodeItemError(
            "an episode can only be sliced with step 1", found=f"step {steps.step}"
        )
    episode._hand_out()
    start, stop, _ = steps.indices(len(episode))
    stop = max(start, stop)
    own = episode._len_lookback_buffers
    wanted = own if len_lookback_buffer is None else len_lookback_buffer
    lookback = max(0, min(wanted, own + start))
    begin, end = episode.env_t_started + start, episode.env_t_started + stop
    part = _like(episode, begin, end, lookback)
    for agent, single in episode._agents.items():
        times = episode._env_ts[agent]
        first = bisect_left(times, begin - lookback)
        present = bisect_left(times, begin)
        if not start:  # What an agent waits on since before the start is no look-back.
            present = min(present, single.observations.lookback)
            first = min(first, present)
        last = bisect_right(times, end) - 1
        is_whole = last == len(times) - 1
        if last < first or (single.is_done and is_whole and last == first):
            continue
        present = min(present, last)
        part._agents[agent] = cut = _cut(single, first, present, last)
        part._env_ts[agent] = times[first : last + 1]
        if is_whole:
            cut.is_terminated, cut.is_truncated = single.is_terminated, single.is_truncated
            if stop == len(episode) or times[last] < end:
                _copy_hanging(episode, part, agent)
        elif times[last] < end:  # Its answer lies behind the end.
            part._hanging_actions_end[agent] = taken_item(single.actions, last)
            part._hanging_rewards_end[agent] = taken_item(single.rewards, last)
            part._hanging_extra_model_outputs_end[agent] = {
                key: taken_item(column, last) for key, column in single.extra_model_outputs.items()
            }
    if stop == len(episode):
        part.is_terminated, part.is_truncated = episode.is_terminated, episode.is_truncated
    part._stepped = tuple(agent for agent, times in part._env_ts.items() if times[-1] == end)
    return part


def _cut(single: SingleAgentEpisode, first: int, present: int, last: int) -> SingleAgentEpisode:
    """One agent's items from position `first` to `last`, of which `present` is step 0."""
    lookback = present - first
    t_started = single.t_started - single.observations.lookback + present
    return stretches.like(
        single,
        (
            stretches.some_items(single.observations, first, last + 1, lookback),
            stretches.some_items(single.actions, first, last, lookback),
            stretches.some_items(single.rewards, first, last, lookback),
            stretches.some_items(single.infos, first, last + 1, lookback),
        ),
        {
            key: stretches.some_items(column, first, last, lookback)
            for key, column in single.extra_model_outputs.items()
            if last > first
        },
        t_started,
        t_started + last - present,
    )


def taken_item(buffer: InfiniteLookbackBuffer, place: int) -> Any:
    """The item at a position, look-back included."""
    return buffer._data[place] if type(buffer._data) is list else nest.taken(buffer._data, place)


def _like(episode: _Episode, begin: int, end: int, lookback: int) -> _Episode:
    """An episode of the same id without agents, from one environment step to another."""
    part = type(episode).__new__(type(episode))
    part.id_ = episode.id_
    part.agent_to_module_mapping_fn = episode.agent_to_module_mapping_fn
    part._agent_to_module_mapping = episode._agent_to_module_mapping.copy()
    part.observation_space = episode.observation_space
    part.action_space = episode.action_space
    part.env_t_started, part.env_t = begin, end
    part._agents, part._env_ts = {}, {}
    part._hanging_actions_end, part._hanging_extra_model_outputs_end = {}, {}
    part._hanging_rewards_end, part._hanging_rewards_begin = {}, {}
    part._len_lookback_buffers = lookback
    part._stepped = ()
    part._journal = None
    part._is_shown = False
    part.is_terminated = part.is_truncated = False
    part._start_time = part._last_step_time = None
    part._custom_data = {}
    return part


def _copy_hanging(source: MultiAgentEpisode, target: MultiAgentEpisode, agent: Hashable) -> None:
    if agent in source._hanging_actions_end:
        target._hanging_actions_end[agent] = source._hanging_actions_end[agent]
        outputs = source._hanging_extra_model_outputs_end.get(agent) or {}
        target._hanging_extra_model_outputs_end[agent] = dict(outputs)
    if agent in source._hanging_rewards_end:
        target._hanging_rewards_end[agent] = source._hanging_rewards_end[agent]


def _drop_hanging(episode: MultiAgentEpisode, agent: Hashable) -> None:
    episode._hanging_actions_end.pop(agent, None)
    episode._hanging_extra_model_outputs_end.pop(agent, None)
    episode._hanging_rewards_end.pop(agent, None)
