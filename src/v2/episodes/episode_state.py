"""Single-agent episodes as data: the state dict RLlib writes, and a compact pickle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core.data.checked import count
from ...core.data.damage import at as step_into
from .lookback_buffer import InfiniteLookbackBuffer
from .packing import packed_buffers, unpacked_buffers
from .space_state import space_from_pickle, space_from_state, space_to_pickle, space_to_state

if TYPE_CHECKING:
    from .single_agent import SingleAgentEpisode

_COLUMNS: Final = ("observations", "actions", "rewards", "infos")
# By RLlib's names the attributes that hold plain values.
_PLAIN: Final = {
    "id_": "id_",
    "agent_id": "agent_id",
    "module_id": "module_id",
    "multi_agent_episode_id": "multi_agent_episode_id",
    "is_terminated": "is_terminated",
    "is_truncated": "is_truncated",
    "t_started": "t_started",
    "t": "t",
    "_start_time": "start_time",
    "_last_step_time": "last_step_time",
}
_attributes: Final = attrgetter(*_PLAIN.values())


def columns_of(episode: SingleAgentEpisode) -> dict[str, Any]:
    """All steps by column name, with done flags, time and id; without look-back."""
    steps = len(episode)
    ends: dict[str, Any] = {
        "terminateds": [False] * (steps - 1) + [episode.is_terminated] * (steps > 0),
        "truncateds": [False] * (steps - 1) + [episode.is_truncated] * (steps > 0),
        "t": list(range(episode.t_started, episode.t)),
        "eps_id": [episode.id_] * steps,
    }
    if episode.is_numpy:
        ends = {key: np.array(values) for key, values in ends.items()}
    return {
        **ends,
        "obs": episode.get_observations(slice(None, -1)) if episode.is_reset else [],
        "infos": episode.get_infos(slice(None, -1)) if episode.is_reset else [],
        "actions": episode.get_actions(),
        "rewards": episode.get_rewards(),
        **{key: buffer.get() for key, buffer in episode.extra_model_outputs.items()},
    }


def state_of(episode: SingleAgentEpisode) -> dict[str, Any]:
    """All of an episode as plain data and arrays, by RLlib's names."""
    outputs = {key: buffer.get_state() for key, buffer in episode.extra_model_outputs.items()}
    return {
        **dict(zip(_PLAIN, _attributes(episode), strict=True)),
        **{name: getattr(episode, name).get_state() for name in _COLUMNS},
        "extra_model_outputs": outputs or None,
        "_observation_space": space_to_state(episode.observation_space),
        "_action_space": space_to_state(episode.action_space),
        "custom_data": episode.custom_data,
    }


def restore_state(episode: SingleAgentEpisode, state: Mapping[str, Any]) -> None:
    """Fill an empty episode with a state, and check that its columns belong together."""
    for name, attribute in _PLAIN.items():
        setattr(episode, attribute, state[name])
    for name in ("t_started", "t"):
        with step_into(name):
            setattr(episode, name, count(state[name]))
    read = InfiniteLookbackBuffer.from_state
    for name in _COLUMNS:
        setattr(episode, name, read(state[name]))
    outputs = state["extra_model_outputs"] or {}
    episode.extra_model_outputs = {key: read(column) for key, column in outputs.items()}
    episode.spaces = (
        space_from_state(state["_observation_space"]),
        space_from_state(state["_action_space"]),
    )
    episode.custom_data = dict(state.get("custom_data") or {})
    episode.validate()


def pickle_of(episodes: Sequence[SingleAgentEpisode]) -> tuple[Any, ...]:
    """What to pickle for episodes: their attributes, their spaces, and all their columns in one."""
    spaces: dict[int, Any] = {}
    buffers: list[InfiniteLookbackBuffer] = []
    plain = []
    for episode in episodes:
        first, second = episode.spaces
        spaces[id(first)], spaces[id(second)] = first, second
        outputs = episode.extra_model_outputs
        buffers += (episode.observations, episode.actions, episode.rewards, episode.infos)
        buffers += outputs.values()
        places = id(first), id(second)
        plain.append((_attributes(episode), episode.custom_data, places, (*outputs,)))
    at = {key: place for place, key in enumerate(spaces)}
    headers, block = packed_buffers(buffers, [*spaces.values()])
    return (
        [
            (attributes, custom, at[first], at[second], keys)
            for attributes, custom, (first, second), keys in plain
        ],
        [space_to_pickle(space) for space in spaces.values()],
        headers,
        block,
    )


def restore_pickle(
    episodes: Sequence[SingleAgentEpisode],
    plain: list[tuple[Any, ...]],
    packed_spaces: list[Any],
    headers: list[tuple[Any, ...]],
    block: bytearray,
) -> None:
    """Fill as many empty episodes with what `pickle_of` returned."""
    spaces = [space_from_pickle(space) for space in packed_spaces]
    buffers = unpacked_buffers(headers, block, spaces)
    place = 0
    for episode, (attributes, custom, first, second, keys) in zip(episodes, plain, strict=True):
        (
            episode.id_,
            episode.agent_id,
            episode.module_id,
            episode.multi_agent_episode_id,
            episode.is_terminated,
            episode.is_truncated,
            episode.t_started,
            episode.t,
            episode.start_time,
            episode.last_step_time,
        ) = attributes
        episode.custom_data = custom
        episode.spaces = spaces[first], spaces[second]
        episode.observations, episode.actions, episode.rewards, episode.infos = buffers[
            place : place + len(_COLUMNS)
        ]
        place += len(_COLUMNS)
        outputs = buffers[place : place + len(keys)]
        episode.extra_model_outputs = dict(zip(keys, outputs, strict=True))
        place += len(keys)
