"""Players of policies: with a plan if all pieces support it, otherwise with the pieces."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ...core import array_namespace as xp
from ...core import nest
from ...core.arrays.batching import batch, unbatch
from ...core.errors import PieceError
from ...core.runtime.sessions import MAX_SESSIONS, Sessions
from ...core.step.plan import ActPlan
from ...core.step.slots import Key, default_keys
from ...core.types import Nest
from ...legacy.policy.inference import batch_policy_inference
from ...legacy.policy.policy import Policy
from ..triple import V2Triple, is_triple
from .legacy_plan import legacy_plan
from .player import PlannedPlayer, Player, Turn


class PipelinePlayer(Player):
    """Runs a policy whose connectors have no batched form, with its connectors."""

    def __init__(self, policy: Policy, plan: ActPlan) -> None:
        super().__init__(plan, is_planned=False)
        self.policy = policy
        # Connectors keep histories by environment; a pipeline of ours evicts them itself.
        pipeline: Any = policy.agent_connectors
        self._envs = None if hasattr(pipeline, "sessions") else Sessions(MAX_SESSIONS, "an actor")

    @property
    def sessions(self) -> Sessions:
        """The environments by their use."""
        pipeline: Any = self.policy.agent_connectors
        sessions: Sessions = pipeline.sessions if self._envs is None else self._envs
        return sessions

    def act(self, obs: Nest, turn: Turn) -> Nest:
        """Actions for observations with a leading axis, through the connectors."""
        keys, reward, ended, explore, rng, starts_anew = turn
        count = len(nest.a_leaf(obs))
        keys = default_keys(count) if keys is None else keys
        if ended is not None and starts_anew:
            self._end([keys[int(at)] for at in np.flatnonzero(ended)])
        rewards = None
        if reward is not None:
            rewards = list(np.asarray(xp.to_numpy(reward), np.float64).reshape(count))
        if self._envs is not None:
            self.reset(self._envs.use([env for env, _ in keys]))
        self.policy.rng = rng
        answers = batch_policy_inference(
            self.policy,
            [env for env, _ in keys],
            [agent for _, agent in keys],
            list(unbatch(nest.map_structure(xp.to_numpy, obs))),
            rewards,
            explore=explore,
        )
        if len(answers) != count:
            raise PieceError(
                f"the connectors of policy {self.policy.name!r} let some observations go",
                expected=f"{count} answers",
                found=str(len(answers)),
                hint="step it with batch_policy_inference().",
            )
        if ended is not None and not starts_anew:
            self._end([keys[int(at)] for at in np.flatnonzero(ended)])
        if self.fetches is not None:
            self.fetches.update(batch([fetched for _, _, fetched in answers]))
        return batch([nest.map_structure(np.asarray, action) for action, _, _ in answers])

    def reset(self, env_ids: Iterable[Hashable] | None) -> None:
        """Let the connectors forget."""
        for env_id in dict.fromkeys(self.sessions if env_ids is None else env_ids):
            self.policy.reset_connectors(env_id)
            self.sessions.forget(env_id)

    def state_dict(self) -> dict[str, Any]:
        """Refused: connectors keep their histories to themselves."""
        if len(self.sessions):
            raise PieceError(
                f"the running episodes of policy {self.policy.name!r} live in its connectors",
                found=f"without a batched form: {', '.join(self.missing)}",
                hint="save between episodes, after reset().",
            )
        return {"slots": [], "first": np.ones(0, bool), "memory": []}

    def load_state_dict(self, state: Any) -> None:
        """Reset all sessions."""
        self.reset(None)

    def to(self, device: str | None) -> None:
        """Move the policy's network to a device; connectors are not moved."""
        networks = self.policy.networks
        state = networks.__getstate__()
        state["options"]["device"] = device or "cpu"
        networks.__setstate__(state)

    def _end(self, keys: Sequence[Key]) -> None:
        self.reset({env for env, _ in keys})


def player_of(native: Any, *, is_mine: bool = False) -> Player:
    """Return a player for a policy or exported program, using a copy unless it `is_mine`."""
    if isinstance(native, Policy):
        return policy_player(native, is_mine=is_mine)
    if is_triple(native):
        return triple_player(V2Triple.of(native), is_mine=is_mine)
    from .program_player import ProgramPlayer

    return ProgramPlayer(native)


def policy_player(policy: Policy, *, is_mine: bool = False) -> Player:
    """Return a player for an old-stack policy: its plan, or its connectors."""
    from ...legacy.policy.default_connectors import create_connectors_for_policy

    mine = policy if is_mine else copy.deepcopy(policy)
    if mine.agent_connectors is None or mine.action_connectors is None:
        create_connectors_for_policy(mine, mine.config)
    plan = legacy_plan(mine)
    return PipelinePlayer(mine, plan) if plan.missing else PlannedPlayer(plan, mine, legacy_plan)


def triple_player(triple: V2Triple, *, is_mine: bool = False) -> Player:
    """Return a player for pipelines and a module: their plan, or the pieces themselves."""
    from .episode_player import EpisodePlayer
    from .v2_plan import v2_plan

    mine = triple if is_mine else copy.deepcopy(triple)
    plan = v2_plan(mine)
    return EpisodePlayer(mine, plan) if plan.missing else PlannedPlayer(plan, mine, v2_plan)
