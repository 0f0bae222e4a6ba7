"""Single-agent episodes as data: the state dict RLlib writes, and a compact pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from .lookback_buffer import InfiniteLookbackBuffer
from .packing import packed_buffers, unpacked_buffers
from .space_state import space_from_pickle, space_from_state, space_to_pickle, space_to_state

if TYPE_CHECKING:
    from .single_agent import SingleAgentEpisode

_COLUMNS: Final = ("observations", "actions", "rewards", "infos")
_PLAIN: Final = (
    "id_",
    "agent_id",
    "module_id",
    "multi_agent_episode_id",
    "is_terminated",
    "is_truncated",
    "t_started",
    "t",
    "_start_time",
    "_last_step_time",
)


def state_of(episode: SingleAgentEpisode) -> dict[str, Any]:
    """All of an episode as plain data and arrays, by RLlib's names."""
    outputs = {key: buffer.get_state() for key, buffer in episode.extra_model_outputs.items()}
    return {
        **{name: getattr(episode, name) for name in _PLAIN},
        **{name: getattr(episode, name).get_state() for name in _COLUMNS},
        "extra_model_outputs": outputs or None,
        "_observation_space": space_to_state(episode._observation_space),
        "_action_space": space_to_state(episode._action_space),
        "custom_data": episode._custom_data,
    }


def restore_state(episode: SingleAgentEpisode, state: Mapping[str, Any]) -> None:
    """Fill an empty episode with a state, and check that its columns belong together."""
    for name in _PLAIN:
        setattr(episode, name, state[name])
    read = InfiniteLookbackBuffer.from_state
    for name in _COLUMNS:
        setattr(episode, name, read(state[name]))
    outputs = state["extra_model_outputs"] or {}
    episode.extra_model_outputs = {key: read(column) for key, column in outputs.items()}
    episode._observation_space = space_from_state(state["_observation_space"])
    episode._action_space = space_from_state(state["_action_space"])
    episode._custom_data = dict(state.get("custom_data") or {})
    episode.validate()


def pickle_of(episode: SingleAgentEpisode) -> tuple[Any, ...]:
    """What to pickle for an episode."""
    first, second = episode._observation_space, episode._action_space
    outputs = episode.extra_model_outputs
    buffers = [getattr(episode, name) for name in _COLUMNS]
    return (
        *(getattr(episode, name) for name in _PLAIN),
        episode._custom_data,
        space_to_pickle(first),
        space_to_pickle(second),
        (*outputs,),
        *packed_buffers([*buffers, *outputs.values()], first, second),
    )


def restore_pickle(episode: SingleAgentEpisode, state: tuple[Any, ...]) -> None:
    """Fill an empty episode with what `pickle_of` returned."""
    *plain, episode._custom_data, first, second, keys, headers, block = state
    for name, value in zip(_PLAIN, plain, strict=True):
        setattr(episode, name, value)
    episode._observation_space = space_from_pickle(first)
    episode._action_space = space_from_pickle(second)
    buffers = unpacked_buffers(headers, block, episode._observation_space, episode._action_space)
    for name, buffer in zip(_COLUMNS, buffers[:4], strict=True):
        setattr(episode, name, buffer)
    episode.extra_model_outputs = dict(zip(keys, buffers[4:], strict=True))
