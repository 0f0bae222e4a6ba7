"""Multi-agent episodes taken apart and put together: successors, joints, slices."""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, TypeVar

from ...core.errors import EpisodeError
from . import stretches
from .indexing import Steps

if TYPE_CHECKING:
    from .multi_agent import MultiAgentEpisode

_Episode = TypeVar("_Episode", bound="MultiAgentEpisode")


def successor(episode: _Episode, len_lookback_buffer: int) -> _Episode:
    """The episode that goes on where `episode` stops; it shares no memory with it."""
    stretches.check_goes_on(episode)
    episode.hand_out()
    # As in RLlib: the look-back reaches what hanging actions were the answer to.
    present = [episode.env_ts[agent][-1] for agent in episode.hanging.actions]
    lookback = max(0, len_lookback_buffer, episode.env_t - min(present, default=episode.env_t))
    follower = episode.like(episode.env_t, episode.env_t, lookback)
    for agent, single in episode.singles.items():
        times = episode.env_ts[agent]
        # An agent's last observation is its present, however long ago it was.
        keep = max(0, len(times) - 1 - bisect_left(times, episode.env_t - lookback))
        if single.is_done and not keep:
            continue
        # As in RLlib: what goes on is a list again, unlike after cutting an agent's own episode.
        follower.singles[agent] = part = stretches.continuation(single, keep, as_lists=True)
        part.is_terminated, part.is_truncated = single.is_terminated, single.is_truncated
        if not keep:
            part.extra_model_outputs = {}  # As in RLlib; the next step begins new columns.
        follower.env_ts[agent] = times[-keep - 1 :]
        follower.hanging.take(agent, episode.hanging)
    follower.stepped = tuple(agent for agent in episode.stepped if agent in follower.singles)
    if episode.custom_data:
        follower.custom_data = copy.deepcopy(episode.custom_data)
    follower.open_journal()
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
    episode.hand_out()
    other.hand_out()
    episode.journal = None
    joined = [agent for agent in other.singles if agent in episode.singles]
    for agent in joined:
        if not episode.singles[agent].is_done:
            stretches.expect_successor(episode.singles[agent], other.singles[agent])
    for agent, single in other.singles.items():
        times = other.env_ts[agent]
        if agent not in episode.singles:
            episode.singles[agent] = copy.deepcopy(single)
            episode.env_ts[agent] = times.copy()
        elif not episode.singles[agent].is_done:
            stretches.append_successor(episode.singles[agent], single)
            episode.env_ts[agent] += times[single.observations.lookback + 1 :]
        episode.hanging.take(agent, other.hanging)
    for agent, reward in other.hanging.early_rewards.items():
        begin = episode.hanging.early_rewards
        begin[agent] = begin.get(agent, 0.0) + reward
    episode.module_ids.update(other.module_ids)
    episode.env_t = other.env_t
    episode.is_terminated = other.is_terminated
    episode.is_truncated = other.is_truncated
    episode.stepped = other.stepped
    episode.last_step_time = other.last_step_time or episode.last_step_time
    episode.custom_data.update(other.custom_data)


def stretch(episode: _Episode, steps: Steps, len_lookback_buffer: int | None) -> _Episode:
    """Some environment steps; arrays are shared until one of the two changes a row."""
    start, stop, lookback = stretches.asked(
        steps, len(episode), episode.len_lookback_buffers, len_lookback_buffer
    )
    episode.hand_out()
    begin, end = episode.env_t_started + start, episode.env_t_started + stop
    part = episode.like(begin, end, lookback)
    for agent, single in episode.singles.items():
        times = episode.env_ts[agent]
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
        part.singles[agent] = cut = stretches.between(single, first, present, last)
        if last == first:
            cut.extra_model_outputs.clear()
        part.env_ts[agent] = times[first : last + 1]
        if is_whole:
            cut.is_terminated, cut.is_truncated = single.is_terminated, single.is_truncated
            if stop == len(episode) or times[last] < end:
                part.hanging.take(agent, episode.hanging)
        elif times[last] < end:  # Its answer lies behind the end.
            part.hanging.actions[agent] = single.actions.item_at(last)
            part.hanging.rewards[agent] = single.rewards.item_at(last)
            part.hanging.outputs[agent] = {
                key: column.item_at(last) for key, column in single.extra_model_outputs.items()
            }
    if stop == len(episode):
        part.is_terminated, part.is_truncated = episode.is_terminated, episode.is_truncated
    part.stepped = tuple(agent for agent, times in part.env_ts.items() if times[-1] == end)
    return part
