"""Acting, for whatever a user holds: one policy, or several by id."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..actor.actor import Actor


class Acts:
    """What holds policies as `natives`, has an actor of them, and acts by it."""

    @cached_property
    def actor(self) -> Actor:
        """What acts, and remembers what it must between calls; a copy of what is native."""
        holder: Any = self
        return Actor.from_policy(holder)

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
        """An action for an observation, a batch for a batch, a dict for a dict: `Actor.act`."""
        return self.actor.act(
            obs,
            env_ids=env_ids,
            agent_ids=agent_ids,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            explore=explore,
            seed=seed,
        )

    def reset(self, env_ids: Any = None) -> None:
        """Forget what was remembered of environments, whose episodes are over; of all if None."""
        self.actor.reset(env_ids)
