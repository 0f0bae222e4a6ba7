"""Single-agent episodes taken apart and put together: successors, joints, slices."""

from __future__ import annotations

import copy
import os
from collections.abc import Hashable
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium as gym

from ...core.arrays.compare import differences
from ...core.errors import EpisodeError
from .errors import EpisodeItemError, EpisodeStateError
from .indexing import Steps
from .lookback_buffer import InfiniteLookbackBuffer
from .space_state import REWARD_SPACE

if TYPE_CHECKING:
    from .multi_agent import MultiAgentEpisode
    from .single_agent import SingleAgentEpisode

_Episode = TypeVar("_Episode", bound="SingleAgentEpisode")


def successor(episode: _Episode, len_lookback_buffer: int) -> _Episode:
    """The episode that goes on where `episode` stops; it shares no memory with it."""
    check_goes_on(episode)
    keep = max(0, min(len_lookback_buffer, episode.rewards.len_incl_lookback()))
    follower = continuation(episode, keep)
    if episode.custom_data:
        follower.custom_data = copy.deepcopy(episode.custom_data)
    return follower


def check_goes_on(episode: SingleAgentEpisode | MultiAgentEpisode) -> None:
    """Refuse to cut an episode that is over."""
    if episode.is_done:
        raise EpisodeStateError(
            f"episode {episode.id_} is done: it cannot be cut, nothing follows",
            hint="slice it (episode[a:b]) to look at a part.",
        )


def continuation(episode: _Episode, keep: int, as_lists: bool = False) -> _Episode:
    """An episode without steps after `episode`, with `keep` steps of look-back."""
    return like(
        episode,
        (
            episode.observations.last_items(keep + 1, keep, as_lists),
            episode.actions.last_items(keep, keep, as_lists),
            episode.rewards.last_items(keep, keep, as_lists),
            episode.infos.last_items(keep + 1, keep, as_lists),
        ),
        {
            key: buffer.last_items(keep, keep, as_lists)
            for key, buffer in episode.extra_model_outputs.items()
        },
        episode.t,
        episode.t,
    )


def append_successor(episode: SingleAgentEpisode, other: SingleAgentEpisode) -> None:
    """Append the steps of `other`, which goes on where `episode` stops."""
    expect_successor(episode, other)
    outputs = episode.extra_model_outputs
    if not len(episode):
        for key in other.extra_model_outputs.keys() - outputs.keys():
            outputs[key] = InfiniteLookbackBuffer()
    # The joining observation is in both; what `other` made of it wins.
    episode.observations.pop()
    episode.infos.pop()
    episode.observations.concat(other.observations)
    episode.infos.concat(other.infos)
    episode.actions.concat(other.actions)
    episode.rewards.concat(other.rewards)
    for key, buffer in other.extra_model_outputs.items():
        if len(buffer):
            outputs[key].concat(buffer)
    episode.t = other.t
    episode.is_terminated = other.is_terminated
    episode.is_truncated = other.is_truncated
    episode.last_step_time = other.last_step_time or episode.last_step_time
    episode.custom_data.update(other.custom_data)


def stretch(episode: _Episode, steps: Steps, len_lookback_buffer: int | None) -> _Episode:
    """Some steps of an episode; arrays are shared until one of the two changes a row."""
    has_lookback = episode.observations.lookback
    start, stop, lookback = asked(steps, len(episode), has_lookback, len_lookback_buffer)
    present = has_lookback + start
    part = between(episode, present - lookback, present, has_lookback + stop)
    # As in RLlib: values that fill gaps between the rewards of a slice keep their own dtype.
    part.rewards.space = None
    if stop == len(episode):
        part.is_terminated, part.is_truncated = episode.is_terminated, episode.is_truncated
    return part


def asked(
    steps: Steps, length: int, has_lookback: int, len_lookback_buffer: int | None
) -> tuple[int, int, int]:
    """First step, end and look-back of a stretch that is asked for; None keeps what there is."""
    if steps.step not in (None, 1):
        raise EpisodeItemError(
            "an episode can only be sliced with step 1", found=f"step {steps.step}"
        )
    start, stop, _ = steps.indices(length)
    lookback = has_lookback if len_lookback_buffer is None else len_lookback_buffer
    return start, max(start, stop), max(0, min(lookback, has_lookback + start))


def between(episode: _Episode, first: int, present: int, last: int) -> _Episode:
    """An episode's items from position `first` to `last`, of which `present` is step 0."""
    lookback = present - first
    t_started = episode.t_started - episode.observations.lookback + present
    return like(
        episode,
        (
            episode.observations.part(first, last + 1, lookback),
            episode.actions.part(first, last, lookback),
            episode.rewards.part(first, last, lookback),
            episode.infos.part(first, last + 1, lookback),
        ),
        {
            key: buffer.part(first, last, lookback)
            for key, buffer in episode.extra_model_outputs.items()
        },
        t_started,
        t_started + last - present,
    )


def like(
    episode: _Episode,
    columns: tuple[InfiniteLookbackBuffer, ...],
    outputs: dict[str, InfiniteLookbackBuffer],
    t_started: int,
    t: int,
) -> _Episode:
    """An unfinished stretch of the same agent's episode, made of checked parts."""
    part = type(episode).__new__(type(episode))
    part.id_ = episode.id_
    part.agent_id = episode.agent_id
    part.module_id = episode.module_id
    part.multi_agent_episode_id = episode.multi_agent_episode_id
    part.spaces = episode.spaces
    part.observations, part.actions, part.rewards, part.infos = columns
    part.extra_model_outputs = outputs
    part.is_terminated = part.is_truncated = False
    part.t_started = t_started
    part.t = t
    part.custom_data = {}
    part.start_time = part.last_step_time = None
    return part


def first_stretch(
    kind: type[_Episode],
    agent_id: Hashable,
    observation: Any,
    infos: dict[Any, Any],
    observation_space: gym.Space[Any] | None,
    action_space: gym.Space[Any] | None,
    module_id: Any,
    multi_agent_episode_id: str,
) -> _Episode:
    """The episode of an agent that just observed for the first time; what a constructor and
    `add_env_reset()` make, without looking at what cannot be.
    """  # noqa: D205
    episode = kind.__new__(kind)
    episode.id_ = os.urandom(16).hex()
    episode.agent_id = agent_id
    episode.module_id = module_id
    episode.multi_agent_episode_id = multi_agent_episode_id
    episode.spaces = observation_space, action_space
    buffer = InfiniteLookbackBuffer.of_parts
    episode.observations = buffer([observation], 0, observation_space, False, False)
    episode.actions = buffer([], 0, action_space, False, False)
    episode.rewards = buffer([], 0, REWARD_SPACE, False, False)
    episode.infos = buffer([infos], 0, None, False, False)
    episode.extra_model_outputs = {}
    episode.is_terminated = episode.is_truncated = False
    episode.t_started = episode.t = 0
    episode.custom_data = {}
    episode.start_time = perf_counter()
    episode.last_step_time = None
    return episode


def expect_successor(episode: SingleAgentEpisode, other: SingleAgentEpisode) -> None:
    """Refuse an episode that does not go on where `episode` stops."""

    def refusal(what: str, expected: object, found: object) -> EpisodeError:
        return EpisodeError(
            f"episode {episode.id_} cannot take the steps of the other: {what}",
            expected=str(expected),
            found=str(found),
            hint="only what `cut()` of this episode returned goes on here.",
        )

    if other.id_ != episode.id_:
        raise refusal("another id", episode.id_, other.id_)
    if episode.is_done:
        raise refusal("this one is done", "an unfinished episode", "a finished one")
    if other.t_started != episode.t:
        raise refusal("a gap in time", f"t_started {episode.t}", other.t_started)
    episode.validate()
    other.validate()
    outputs, other_outputs = episode.extra_model_outputs, other.extra_model_outputs
    if len(other) and len(episode) and other_outputs.keys() != outputs.keys():
        raise refusal("other extra model outputs", sorted(outputs), sorted(other_outputs))
    last, first = episode.get_observations(-1), other.get_observations(0)
    if last is not first and differences(last, first):
        raise refusal("another observation where they join", last, first)


def expect_whole(episode: SingleAgentEpisode) -> None:
    """Refuse an episode whose columns do not belong to the same steps."""
    steps = episode.rewards.len_incl_lookback()
    columns = {"actions": (episode.actions, 0)}
    if steps or episode.is_reset:
        columns |= {"observations": (episode.observations, 1), "infos": (episode.infos, 1)}
    columns |= {key: (buffer, 0) for key, buffer in episode.extra_model_outputs.items()}
    for name, (buffer, more) in columns.items():
        count = buffer.len_incl_lookback()
        if count != steps + more:
            raise EpisodeError(
                f"episode {episode.id_}: {name} do not belong to its {steps} rewards",
                expected=f"{steps + more} {name}",
                found=str(count),
                hint="an episode has one observation and info more than actions and rewards.",
            )
