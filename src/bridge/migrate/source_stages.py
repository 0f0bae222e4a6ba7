"""The source of a migration, taken step by step beside its mixtures."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Space

from ...legacy.policy.policy import Policy
from ...legacy.policy.stages import LegacyStages


class SourceStages(LegacyStages):
    """The source in the environment it acts in."""

    def __init__(self, policy: Policy, observation_space: Space[Any]) -> None:
        super().__init__(policy)
        self._seen = observation_space

    @property
    def observation_space(self) -> Any:
        """What the environment gives."""
        return self._seen
