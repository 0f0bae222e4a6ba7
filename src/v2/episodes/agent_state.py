"""Multi-agent episodes as data: the state dict RLlib writes, and a compact pickle."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import gymnasium as gym

from . import episode_state as singles_state
from .hanging import Hanging
from .lookback_buffer import InfiniteLookbackBuffer
from .single_agent import SingleAgentEpisode, empty_episode
from .space_state import space_from_pickle, space_from_state, space_to_pickle, space_to_state

if TYPE_CHECKING:
    from .multi_agent import MultiAgentEpisode

# By RLlib's names the attributes that hold plain values, and what hangs of each agent.
_PLAIN: Final = {
    "id_": "id_",
    "agent_to_module_mapping_fn": "agent_to_module_mapping_fn",
    "env_t_started": "env_t_started",
    "env_t": "env_t",
    "is_terminated": "is_terminated",
    "is_truncated": "is_truncated",
    "_start_time": "start_time",
    "_last_step_time": "last_step_time",
}
_HANGING: Final = {
    "_hanging_actions_end": "actions",
    "_hanging_extra_model_outputs_end": "outputs",
    "_hanging_rewards_end": "rewards",
    "_hanging_rewards_begin": "early_rewards",
}
_MODULES: Final = "_agent_to_module_mapping"
_PICKLED: Final = (
    *_PLAIN.values(),
    "module_ids",
    "len_lookback_buffers",
    "stepped",
    "is_shown",
    "custom_data",
)
_SPACES: Final = ("observation_space", "action_space")
_pickled_values: Final = attrgetter(*_PICKLED)
_hanging_values: Final = attrgetter(*_HANGING.values())


def state_of(episode: MultiAgentEpisode) -> dict[str, Any]:
    """All of an episode as plain data and arrays, by RLlib's names.

    `agent_env_ts` is ours: at which environment steps an agent's observations were made. It is
    there if RLlib's `env_t_to_agent_t` cannot say that, as of observations before the look-back.
    """
    episode.hand_out()
    first = episode.env_t_started - episode.len_lookback_buffers
    maps = episode.env_t_to_agent_t
    untold = {
        agent: times.copy()
        for agent, times in episode.env_ts.items()
        if times[0] < first and times != _times_of(episode.singles[agent], maps[agent].raw, first)
    }
    return {
        **{name: getattr(episode, attribute) for name, attribute in _PLAIN.items()},
        **{name: dict(getattr(episode.hanging, part)) for name, part in _HANGING.items()},
        _MODULES: dict(episode.module_ids),
        **{name: _written(getattr(episode, name)) for name in _SPACES},
        "agent_t_started": episode.agent_t_started,
        "env_t_to_agent_t": {
            agent: {"data": steps.raw, "lookback": steps.lookback} for agent, steps in maps.items()
        },
        **({"agent_env_ts": untold} if untold else {}),
        "agent_episodes": [
            (agent, single.get_state()) for agent, single in episode.singles.items()
        ],
        "custom_data": episode.custom_data,
    }


def restore_state(episode: MultiAgentEpisode, state: Mapping[str, Any]) -> None:
    """Fill an empty episode with a state, RLlib's or ours."""
    for name, attribute in _PLAIN.items():
        setattr(episode, attribute, state[name])
    for name, part in _HANGING.items():
        setattr(episode.hanging, part, dict(state[name] or {}))
    episode.module_ids = dict(state[_MODULES] or {})
    for name in _SPACES:
        setattr(episode, name, _read(state[name]))
    singles = state["agent_episodes"]
    pairs = singles.items() if isinstance(singles, Mapping) else singles
    episode.singles = {agent: SingleAgentEpisode.from_state(single) for agent, single in pairs}
    maps = {agent: _map_of(steps) for agent, steps in state["env_t_to_agent_t"].items()}
    episode.len_lookback_buffers = max((lookback for _, lookback in maps.values()), default=0)
    env_ts_by_agent = state.get("agent_env_ts") or {}
    first = episode.env_t_started - episode.len_lookback_buffers
    episode.env_ts = {
        agent: list(env_ts_by_agent[agent])
        if agent in env_ts_by_agent
        else _times_of(single, maps[agent][0], first)
        for agent, single in episode.singles.items()
    }
    episode.stepped = tuple(
        agent for agent, times in episode.env_ts.items() if times and times[-1] == episode.env_t
    )
    episode.custom_data = dict(state.get("custom_data") or {})
    episode.validate()


def pickle_of(episode: MultiAgentEpisode) -> tuple[Any, ...]:
    """What to pickle for an episode: all agents' columns in one block."""
    episode.hand_out()
    return (
        _pickled_values(episode),
        _hanging_values(episode.hanging),
        [_pickled(getattr(episode, name)) for name in _SPACES],
        [(type(single), agent) for agent, single in episode.singles.items()],
        [_compact(times) for times in episode.env_ts.values()],
        singles_state.pickle_of([*episode.singles.values()]),
    )


def restore_pickle(
    episode: MultiAgentEpisode,
    plain: tuple[Any, ...],
    hanging: tuple[dict[Hashable, Any], ...],
    spaces: list[Any],
    agents: list[tuple[type[SingleAgentEpisode], Hashable]],
    times: list[Any],
    singles: tuple[Any, ...],
) -> None:
    """Fill an empty episode with what `pickle_of` returned."""
    for name, value in zip(_PICKLED, plain, strict=True):
        setattr(episode, name, value)
    episode.hanging = Hanging()
    for name, value in zip(_HANGING.values(), hanging, strict=True):
        setattr(episode.hanging, name, value)
    for name, value in zip(_SPACES, spaces, strict=True):
        setattr(episode, name, _unpickled(value))
    episode.singles = {agent: empty_episode(kind) for kind, agent in agents}
    episode.env_ts = {
        agent: [*(range(*steps) if type(steps) is tuple else steps)]
        for agent, steps in zip(episode.singles, times, strict=True)
    }
    singles_state.restore_pickle([*episode.singles.values()], *singles)
    episode.journal = None


def _compact(times: list[int]) -> Any:
    """Steps without gaps as the first one and the one after the last."""
    first, stop = times[0], times[-1] + 1
    return (first, stop) if stop - first == len(times) else times


def _pickled(spaces: Any) -> Any:
    if isinstance(spaces, Mapping) and not isinstance(spaces, gym.Space):
        return [(agent, space_to_pickle(space)) for agent, space in spaces.items()]
    return space_to_pickle(spaces)


def _unpickled(spaces: Any) -> Any:
    if isinstance(spaces, list):
        return {agent: space_from_pickle(space) for agent, space in spaces}
    return space_from_pickle(spaces)


def _written(spaces: Any) -> Any:
    if isinstance(spaces, Mapping) and not isinstance(spaces, gym.Space):
        return {agent: space_to_state(space) for agent, space in spaces.items()}
    return space_to_state(spaces)


def _read(spaces: Any) -> Any:
    if isinstance(spaces, gym.Space) or not isinstance(spaces, Mapping):
        return spaces
    if isinstance(spaces.get("space"), str):
        return space_from_state(spaces)
    return {agent: space_from_state(space) for agent, space in spaces.items()}


def _map_of(steps: Any) -> tuple[list[Any], int]:
    """The agent's steps by environment step, and how many of them are look-back."""
    if isinstance(steps, InfiniteLookbackBuffer):
        return steps.raw, steps.lookback
    if isinstance(steps, Mapping):
        return list(steps["data"]), int(steps["lookback"])
    return list(steps.data), int(steps.lookback)


def _times_of(single: SingleAgentEpisode, steps: list[Any], first: int) -> list[int]:
    """The environment steps of an agent's observations, from RLlib's map."""
    at: dict[Hashable, int] = {
        step: first + place for place, step in enumerate(steps) if not isinstance(step, str)
    }
    begin = single.t_started - single.observations.lookback
    count = single.observations.len_incl_lookback()
    times = [at.get(begin + place) for place in range(count)]
    # What the map does not reach was observed before it begins.
    before = first - sum(time is None for time in times)
    found = []
    for time in times:
        if time is None:
            time, before = before, before + 1
        found.append(time)
    return found
