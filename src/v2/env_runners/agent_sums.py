"""What a multi-agent episode comes to, over all the calls that it lasts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..episodes.multi_agent import MultiAgentEpisode


@dataclass
class Sums:
    """What an episode came to in the chunks that earlier calls returned."""

    length: int = 0
    total: float = 0.0
    seconds: float = 0.0
    by_agent: Counter[Hashable] = field(default_factory=Counter)
    by_module: Counter[Hashable] = field(default_factory=Counter)
    agent_steps: Counter[Hashable] = field(default_factory=Counter)

    def get_state(self) -> list[Any]:
        """Give all sums as plain values."""
        counts = (self.by_agent, self.by_module, self.agent_steps)
        return [self.length, self.total, self.seconds, *map(dict, counts)]

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> Sums:
        """Make sums of what `get_state` gave."""
        return cls(*state[:3], *map(Counter, state[3:]))

    def add(self, episode: MultiAgentEpisode) -> None:
        """Add a chunk."""
        self.length += len(episode)
        self.seconds += episode.get_duration_s()
        for agent, single in episode.agent_episodes.items():
            if len(single):
                earned = float(single.get_return())
                self.total += earned
                self.by_agent[agent] += earned  # type: ignore[assignment]  # counts may be floats
                self.by_module[single.module_id] += earned  # type: ignore[assignment]
                self.agent_steps[agent] += len(single)
