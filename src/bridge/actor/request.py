"""Arguments of `Actor.act` in addition to observations, and the policy of each row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core import nest
from ...core.errors import PieceError
from ...core.step.slots import DEFAULT_AGENT, Key
from ...core.types import Array, Nest
from .player import Player

if TYPE_CHECKING:
    from .actor import Actor


class ActRequest(NamedTuple):
    """Arguments of `Actor.act` in addition to the observations."""

    env_ids: Any = None
    agent_ids: Any = None
    reward: Any = None
    terminated: Any = None
    truncated: Any = None
    explore: bool = False

    def ended(self, is_one: bool) -> Any:
        """Which rows' episodes ended; None if the caller gave no flags."""
        parts = [flags for flags in (self.terminated, self.truncated) if flags is not None]
        if not parts:
            return None
        if is_one:
            parts = [np.asarray([bool(flag)]) for flag in parts]
        parts = [flags if hasattr(flags, "dtype") else np.asarray(flags, bool) for flags in parts]
        return parts[0] if len(parts) == 1 else parts[0] | parts[1]

    def keys(self, count: int, is_one: bool) -> list[Key] | None:
        """The environment and agent of each row; None if the caller gave none."""
        if self.env_ids is None and self.agent_ids is None:
            return None
        envs: Sequence[Any] = range(count)
        if self.env_ids is not None:
            envs = [self.env_ids] if is_one else as_list(self.env_ids)
        if self.agent_ids is None or isinstance(self.agent_ids, (str, int)):
            agents: list[Any] = [DEFAULT_AGENT if self.agent_ids is None else self.agent_ids]
            agents *= count
        else:
            agents = as_list(self.agent_ids)
        if len(envs) != count or len(agents) != count:
            raise PieceError(
                "env_ids and agent_ids do not name each row",
                expected=f"{count} of each",
                found=f"{len(envs)} env_ids, {len(agents)} agent_ids",
            )
        return list(zip(envs, agents, strict=True))


def act_for(actor: Actor, obs: Any, request: ActRequest) -> Any:
    """Actions for whatever an actor was given."""
    only = actor.only
    if isinstance(obs, Mapping) and not (only is not None and only.form.fits(obs)):
        return _for_agents(actor, obs, request)
    if only is None:
        return _by_rows(actor, obs, request)
    rows, is_one = only.form.rows(obs)
    actions = _acted(actor, only, rows, is_one, request)
    if not is_one:
        return actions
    return nest.taken(actions, 0)


def act_and_fetch_for(
    actor: Actor, player: Player, obs: Any, request: ActRequest
) -> tuple[Any, dict[str, Any]]:
    """Return the actions of one policy, and the other outputs of its network."""
    rows, is_one = player.form.rows(obs)
    fetches: dict[str, Any] = {}
    player.fetches = fetches
    try:
        actions = _acted(actor, player, rows, is_one, request)
    finally:
        player.fetches = None
    return nest.taken((actions, fetches), 0) if is_one else (actions, fetches)


def _acted(actor: Actor, player: Player, rows: Nest, is_one: bool, request: ActRequest) -> Nest:
    keys, reward, ended = None, None, None
    if player.remembers:
        keys = request.keys(int(nest.a_leaf(rows).shape[0]), is_one)
        reward = request.reward
        if is_one and reward is not None:
            reward = np.asarray([reward])
        ended = request.ended(is_one)
    starts_anew = actor.autoreset == "same_step"
    return player.act(rows, (keys, reward, ended, request.explore, actor.rng, starts_anew))


def _for_agents(actor: Actor, obs: Mapping[Any, Any], request: ActRequest) -> dict[Any, Any]:
    """An action for each agent of one environment."""
    by_agent: dict[Any, Any] = {}
    everyone = list(obs)
    for name, places in _groups(actor, everyone).items():
        player = actor.players[name]
        agents = [everyone[at] for at in places]
        rows, _ = player.form.rows([obs[agent] for agent in agents])
        earned = None
        if request.reward is not None and all(agent in request.reward for agent in agents):
            earned = np.asarray([request.reward[agent] for agent in agents])
        of_group = request._replace(
            env_ids=[request.env_ids] * len(agents),
            agent_ids=agents,
            reward=earned,
            terminated=_ends_of(request.terminated, agents),
            truncated=_ends_of(request.truncated, agents),
        )
        actions = _acted(actor, player, rows, False, of_group)
        by_agent.update({agent: nest.taken(actions, row) for row, agent in enumerate(agents)})
    return {agent: by_agent[agent] for agent in obs}


def _by_rows(actor: Actor, obs: Any, request: ActRequest) -> Any:
    """Return the actions of several policies for rows with agent ids, as one list item per row."""
    if request.agent_ids is None:
        raise PieceError(
            "several policies, and the agent of this observation is unknown",
            expected="agent_ids=, or a dict from agents to observations",
        )
    is_one = isinstance(request.agent_ids, (str, int))
    agents = as_list(request.agent_ids)
    envs: Any = range(len(agents))
    if request.env_ids is not None or is_one:
        envs = [request.env_ids] if is_one else as_list(request.env_ids)
    each_obs = [obs] if is_one else list(obs)
    answers: list[Any] = [None] * len(agents)
    for name, places in _groups(actor, agents).items():
        player = actor.players[name]
        rows, _ = player.form.rows([each_obs[at] for at in places])
        of_group = request._replace(
            env_ids=[envs[at] for at in places],
            agent_ids=[agents[at] for at in places],
            reward=_at(request.reward, places),
            terminated=_at(request.terminated, places),
            truncated=_at(request.truncated, places),
        )
        actions = _acted(actor, player, rows, False, of_group)
        for row, at in enumerate(places):
            answers[at] = nest.taken(actions, row)
    return answers[0] if is_one else answers


def _groups(actor: Actor, agents: Iterable[Any]) -> dict[str, list[int]]:
    """The places of agents by the policy that plays them."""
    groups: dict[str, list[int]] = {}
    for place, agent in enumerate(agents):
        groups.setdefault(actor.casting(agent), []).append(place)
    return groups


def as_list(ids: Any) -> list[Hashable]:
    """One id or several, as a list."""
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        return [ids]
    return ids.tolist() if hasattr(ids, "tolist") else list(ids)


def _ends_of(ends: Mapping[Any, Any] | None, agents: Sequence[Any]) -> Array | None:
    if ends is None:
        return None
    is_over = bool(ends.get("__all__", False))
    return np.asarray([is_over or bool(ends.get(agent, False)) for agent in agents])


def _at(column: Any, places: Sequence[int]) -> Any:
    return None if column is None else np.atleast_1d(np.asarray(column))[list(places)]
