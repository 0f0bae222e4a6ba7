"""One object that acts: for one observation, a batch, a vector environment, or many agents."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import Self

from ...core.data.checked import count
from ...core.data.damage import at
from ...core.errors import ConfigError, PieceError
from ...core.importing.torch_needed import torch_needed
from ...core.runtime.sharing import Turn
from ...core.text.visible import visible
from ..loading.mapping import Casting, PolicyMapping
from ..loading.natives import Natives, Source, natives_of, source_of
from ..triple import V2Triple
from .player import Player
from .players import player_of
from .request import ActRequest, act_and_fetch_for, act_for, as_list

if TYPE_CHECKING:
    from .episodes import Played

AutoReset = Literal["next_step", "same_step"]


class SlowPieceWarning(UserWarning):
    """Some connectors have no batched form, so observations go through them one by one."""


class Actor:
    """One or several policies that map observations to actions and store per-session state.

    Each slot, one agent of one environment, is a session with its own history; sessions are rows of
    arrays. One lock guards an actor, so threads may share it: their calls take turns.

    Args:
        players: What acts, by policy id.
        policy_mapping_fn: Which policy plays an agent; see `Casting`.
        seed: Of the random numbers that exploration draws.
        autoreset: What an observation is that comes with `terminated` or `truncated`: the last
            one of its episode ("next_step", as gymnasium's vector environments have it), or the
            first one of the next ("same_step").
        max_sessions: Largest number of sessions that each policy stores; 100,000 if None. When the
            limit is reached, the least recently used session is dropped and starts over if it
            returns, with a `SessionsEvictedWarning` the first time; `evicted_sessions` is the
            count. The rows of one call are always stored.

    Attributes:
        missing: By policy, the pieces that have no batched form; none where all is fast.
        only: The player of the only policy; None of several.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> from rlconnect.legacy import Policy, create_connectors_for_policy
        >>> policy = Policy(Box(-1, 1, (4,)), Discrete(2), {"seed": 0})
        >>> create_connectors_for_policy(policy, policy.config)
        >>> actor = Actor.from_policy(policy)
        >>> int(actor.act(np.zeros(4, np.float32))) in (0, 1)
        True
        >>> actor.act(np.zeros((5, 4), np.float32)).shape
        (5,)
    """

    def __init__(
        self,
        players: Mapping[str, Player],
        *,
        policy_mapping_fn: PolicyMapping = None,
        seed: int | None = None,
        autoreset: AutoReset = "next_step",
        max_sessions: int | None = None,
    ) -> None:
        self.players: dict[str, Player] = dict(players)
        self.autoreset: AutoReset = autoreset
        self.rng = np.random.default_rng(seed)
        self.casting = Casting(list(self.players), policy_mapping_fn)
        self.missing = {
            name: player.missing for name, player in self.players.items() if player.missing
        }
        self._lock = Turn()
        self.only = next(iter(self.players.values())) if len(self.players) == 1 else None
        if max_sessions is not None:
            self.max_sessions = max_sessions
        for name, pieces in self.missing.items():
            warnings.warn(
                f"policy {name!r} acts item by item: {visible(', '.join(pieces))} "
                "has no batched form",
                SlowPieceWarning,
                stacklevel=3,
            )

    # Making one.

    @classmethod
    def from_checkpoint(
        cls,
        path: Source,
        *,
        policy_ids: Sequence[str] | str | None = None,
        policy_mapping_fn: PolicyMapping = None,
        device: str = "cpu",
        seed: int | None = None,
        max_sessions: int | None = None,
        **options: Any,
    ) -> Self:
        """An actor of what a checkpoint of either stack holds.

        Args:
            path: Whatever RLlib or rlconnect wrote, or what `rlconnect.load` gave.
            policy_ids: Only these policies or modules.
            policy_mapping_fn: Which policy plays an agent.
            device: Where networks run.
            seed: Of exploration.
            max_sessions: Of how many sessions each policy remembers anything; see the class.
            **options: As for `Policy.from_checkpoint`: `trust` for your own classes that it names.

        Raises:
            CheckpointError: The checkpoint cannot be read.
        """
        natives = natives_of(path, policy_ids, policy_mapping_fn=policy_mapping_fn, **options)
        is_mine = isinstance(path, (str, os.PathLike))
        actor = cls._of(natives, seed=seed, max_sessions=max_sessions, is_mine=is_mine)
        return actor if device == "cpu" else actor.to(device)

    @classmethod
    def from_policy(
        cls,
        policy: Source,
        *,
        policy_mapping_fn: PolicyMapping = None,
        seed: int | None = None,
        max_sessions: int | None = None,
        **options: Any,
    ) -> Self:
        """Create an actor from one policy or several by id, without changing them."""
        natives = natives_of(policy, policy_mapping_fn=policy_mapping_fn, **options)
        return cls._of(natives, seed=seed, max_sessions=max_sessions)

    @classmethod
    def from_v2(
        cls,
        env_to_module: Any,
        module: Any,
        module_to_env: Any,
        *,
        seed: int | None = None,
        max_sessions: int | None = None,
    ) -> Self:
        """Create an actor from pipelines and a module of the new stack; they are not changed.

        Filters are frozen: inference does not update their statistics.

        Args:
            env_to_module: From episodes to the module; None for the default pieces.
            module: A torch RLModule.
            module_to_env: From the module to the environment.
            seed: Of exploration.
            max_sessions: Of how many sessions to remember anything; see the class.
        """
        triple = V2Triple(env_to_module, module, module_to_env)
        return cls.from_policy(triple, seed=seed, max_sessions=max_sessions)

    @classmethod
    def _of(
        cls,
        natives: Natives,
        *,
        seed: int | None,
        max_sessions: int | None,
        is_mine: bool = False,
    ) -> Self:
        if not natives.policies:
            _ = natives.only
        with torch_needed("this policy"):
            players = {
                name: player_of(native, is_mine=is_mine)
                for name, native in natives.policies.items()
            }
        mapping = natives.mapping
        return cls(players, policy_mapping_fn=mapping, seed=seed, max_sessions=max_sessions)

    # Acting.

    def act(
        self,
        obs: Any,
        *,
        env_ids: Any = None,
        agent_ids: Any = None,
        reward: Any = None,
        terminated: Any = None,
        truncated: Any = None,
        explore: bool = False,
        seed: int | None = None,
    ) -> Any:
        """Compute actions for observations, in the form that the environment accepts.

        Args:
            obs: One observation, a batch of them, or a dict from agents to observations.
            env_ids: The environment of each row, or of the one observation; its number in the
                batch if None.
            agent_ids: The agent of each row, or of all rows.
            reward: Rewards of the last actions; used by policies with reward inputs.
            terminated: Which episodes terminated with the last action; these sessions restart.
            truncated: Which episodes were truncated.
            explore: Whether to explore like the policy does in training.
            seed: Restarts the random numbers first.

        Returns:
            An action for an observation, a batch for a batch, a dict for a dict. Tensors for
            tensors, on their device.

        Raises:
            SpaceError: The observation is not of the policy's space.
        """
        if type(obs) is np.ndarray and self.only is not None and not explore and seed is None:
            with self._lock:
                actions = self.only.at_once(obs)
            if actions is not None:
                return actions
        request = ActRequest(env_ids, agent_ids, reward, terminated, truncated, explore)
        with self._lock:
            if seed is not None:
                self.rng = np.random.default_rng(seed)
            return act_for(self, obs, request)

    def act_and_fetch(
        self,
        obs: Any,
        *,
        env_ids: Any = None,
        agent_ids: Any = None,
        reward: Any = None,
        terminated: Any = None,
        truncated: Any = None,
        explore: bool = False,
    ) -> tuple[Any, dict[str, Any]]:
        """Compute actions with the only policy, and return the other outputs of its network.

        Accepts an observation or a batch; the arguments are those of `act`.

        Returns:
            The result of `act`, and a dict with the available ones of "vf_preds",
            "action_dist_inputs", "action_logp", "action_prob", "q_values" and so on, one row per
            observation. It is empty for exported programs and policies on a device.
        """
        request = ActRequest(env_ids, agent_ids, reward, terminated, truncated, explore)
        with self._lock:
            return act_and_fetch_for(self, self._player("network to fetch from"), obs, request)

    def reset(self, env_ids: Any = None) -> None:
        """Forget what was remembered of environments, whose episodes are over; of all if None."""
        with self._lock:
            ended_envs = None if env_ids is None else as_list(env_ids)
            for player in self.players.values():
                player.reset(ended_envs)

    def hand_over(self, other: Actor, env_ids: Any) -> None:
        """Move the sessions of some environments to another actor.

        The memory is moved unchanged: the other policy continues from states computed by this one.

        Args:
            other: An actor of one policy, as this one is.
            env_ids: Which environments.

        Raises:
            PieceError: The policies do not remember the same things.
        """
        mine, its = (actor._player("memory to hand over") for actor in (self, other))
        with self._lock, other._lock:
            mine.hand_over(its, as_list(env_ids))

    def rollout(
        self,
        env: Any,
        episodes: int = 10,
        *,
        seed: int = 0,
        explore: bool = False,
        progress: Callable[[int, int], None] | None = None,
        record: str | os.PathLike[str] | None = None,
        video: str | os.PathLike[str] | None = None,
    ) -> Played:
        """Play whole episodes in an environment of gymnasium, a vector of them, or PettingZoo's.

        Args:
            env: A live environment.
            episodes: How many.
            seed: Of the first; each next one has the next seed.
            explore: Whether to explore.
            progress: Called with how many are done and how many there are.
            record: A folder to keep the episodes in, for `rlconnect.offline.open_dataset`.
            video: A file to film them in, `.gif` or `.mp4` (the extra `video`); a live environment
                was made with `render_mode="rgb_array"`.
        """
        from .episodes import play

        with self._lock:
            return play(
                self,
                env,
                episodes=episodes,
                seed=seed,
                explore=explore,
                progress=progress,
                record=record,
                video=video,
            )

    # Properties.

    @property
    def natives(self) -> Natives:
        """The policies in their current state, and the mapping from agents to policies."""
        policies = {name: source_of(player) for name, player in self.players.items()}
        return Natives(policies, self.casting.mapping)

    @property
    def observation_space(self) -> Space[Any]:
        """Observation space of the environment, for a single policy."""
        return self._player("observation_space").observation_space

    @property
    def action_space(self) -> Space[Any]:
        """Action space of the environment, for a single policy."""
        return self._player("action_space").action_space

    @property
    def remembers(self) -> bool:
        """Whether some policy's answers depend on more than the observation at hand."""
        return any(player.remembers for player in self.players.values())

    @property
    def max_sessions(self) -> int:
        """Of how many sessions each policy remembers anything."""
        return max(player.sessions.most for player in self.players.values())

    @max_sessions.setter
    def max_sessions(self, most: int) -> None:
        if most < 1:
            raise ConfigError("max_sessions", expected="1 or more", found=repr(most))
        with self._lock:
            for player in self.players.values():
                player.sessions.most = most

    @property
    def evicted_sessions(self) -> int:
        """Number of sessions dropped because of the limit."""
        return sum(player.sessions.evicted for player in self.players.values())

    def to(self, device: str | None) -> Self:
        """Compute on a torch device; None computes with numpy where that is faster.

        Observations that already live there stay there: nothing is copied to the host.
        """
        with self._lock:
            for player in self.players.values():
                player.to(device)
        return self

    # State.

    def state_dict(self) -> dict[str, Any]:
        """Return the memory of all sessions and the number of explored steps, as plain data."""
        with self._lock:
            pairs = self.players.items()
            return {name: {**one.state_dict(), "timestep": one.timestep} for name, one in pairs}

    @at()
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a state saved by `state_dict`."""
        with self._lock:
            for name, player in self.players.items():
                with at(name):
                    player.load_state_dict(state[name])
                    player.timestep = count(state[name].get("timestep", player.timestep))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything except running episodes as one checkpoint, atomically.

        Raises:
            CheckpointWriteError: Writing failed; existing files are unchanged.
        """
        from .saving import save_actor

        save_actor(self, path)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "only"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self.only = next(iter(self.players.values())) if len(self.players) == 1 else None

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.players))
        return f"<Actor of {names}{' that remembers' if self.remembers else ''}>"

    def _repr_html_(self) -> str:
        """The pieces of each policy, in order of execution."""
        return "<br>".join(player.draw()._repr_html_() for player in self.players.values())

    def _player(self, what: str) -> Player:
        if self.only is None:
            raise PieceError(
                f"several policies have no one {what}",
                found=", ".join(map(repr, self.players)),
                hint=f"ask actor.players[id].{what}.",
            )
        return self.only
