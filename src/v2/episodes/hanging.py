"""What agents wait with: actions that no observation answered yet, and rewards without a step."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

MISSING: Final = object()


class Hanging:
    """What hangs in a multi-agent episode, by agent.

    Attributes:
        actions: Actions that no observation answered yet.
        outputs: The extra model outputs that came with them.
        rewards: What agents earned since they last observed.
        early_rewards: What agents earned before their first observation.
    """

    __slots__ = ("actions", "early_rewards", "outputs", "rewards")

    def __init__(self) -> None:
        self.actions: dict[Hashable, Any] = {}
        self.outputs: dict[Hashable, dict[str, Any]] = {}
        self.rewards: dict[Hashable, float] = {}
        self.early_rewards: dict[Hashable, float] = {}

    def item(self, agent: Hashable, what: str, key: str | None) -> Any:
        """What an agent's column would get next; `MISSING` where nothing hangs.

        Args:
            agent: The agent.
            what: The column.
            key: The extra model output, where `what` is those.
        """
        if agent in self.actions:
            if what == "actions":
                return self.actions[agent]
            if what == "rewards":
                return self.rewards.get(agent, 0.0)
            if what == "extra_model_outputs":
                return (self.outputs.get(agent) or {}).get(str(key), MISSING)
        return MISSING

    def take(self, agent: Hashable, other: Hanging) -> None:
        """Let hang for an agent what hangs for it in another episode, and nothing else."""
        for column in (self.actions, self.outputs, self.rewards):
            column.pop(agent, None)
        if agent in other.actions:
            self.actions[agent] = other.actions[agent]
            self.outputs[agent] = dict(other.outputs.get(agent) or {})
        if agent in other.rewards:
            self.rewards[agent] = other.rewards[agent]
