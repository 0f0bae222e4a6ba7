"""One policy acting for many slots through connectors that have no batched form."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ...core import nest, xp
from ...core.batching import batch, unbatch
from ...core.errors import PieceError
from ...core.types import Nest
from ...legacy.inference import batch_policy_inference
from ...legacy.policy import Policy
from .plan import ActPlan
from .player import Player
from .slots import Key, default_keys


class PipelinePlayer(Player):
    """A policy whose connectors have no batched form: they run as they are.

    Args:
        policy: The policy.
        plan: What there is of a plan; it names what is missing.
    """

    def __init__(self, policy: Policy, plan: ActPlan) -> None:
        super().__init__(plan, is_planned=False)
        self.policy = policy
        self._known: dict[Key, None] = {}

    def act(
        self,
        obs: Nest,
        keys: Sequence[Key] | None,
        reward: Any,
        ended: Any,
        explore: bool,
        rng: np.random.Generator,
        starts_anew: bool,
    ) -> Nest:
        """Actions for observations with a leading axis, through the connectors."""
        count = len(nest.a_leaf(obs))
        keys = default_keys(count) if keys is None else keys
        if ended is not None and starts_anew:
            self._end([keys[int(at)] for at in np.flatnonzero(ended)])
        rewards = None
        if reward is not None:
            rewards = list(np.asarray(xp.to_numpy(reward), np.float64).reshape(count))
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
        self._known.update(dict.fromkeys(keys))
        if ended is not None and not starts_anew:
            self._end([keys[int(at)] for at in np.flatnonzero(ended)])
        return batch([nest.map_structure(np.asarray, action) for action, _, _ in answers])

    def reset(self, env_ids: Iterable[Hashable] | None) -> None:
        """Let the connectors forget."""
        gone = {env for env, _ in self._known} if env_ids is None else set(env_ids)
        for env_id in gone:
            self.policy.reset_connectors(env_id)
        self._known = {key: None for key in self._known if key[0] not in gone}

    def state_dict(self) -> dict[str, Any]:
        """Refused: connectors keep their histories to themselves.

        Raises:
            PieceError: An episode is running.
        """
        if self._known:
            raise PieceError(
                f"the running episodes of policy {self.policy.name!r} live in its connectors",
                found=f"without a batched form: {', '.join(self.missing)}",
                hint="save between episodes, after reset().",
            )
        return {"slots": [], "first": np.ones(0, bool), "memory": []}

    def load_state_dict(self, state: Any) -> None:
        """Begin afresh."""
        self.reset(None)

    def to(self, device: str | None) -> None:
        """Let the policy's network compute on a device; connectors stay where they are."""
        networks = self.policy.networks
        state = networks.__getstate__()
        state["options"]["device"] = device or "cpu"
        networks.__setstate__(state)

    def _end(self, keys: Sequence[Key]) -> None:
        for env_id in {env for env, _ in keys}:
            self.policy.reset_connectors(env_id)
