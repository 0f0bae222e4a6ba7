"""The source of a migration, taken step by step beside its mixtures."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from gymnasium.spaces import Space

from ...core.types import Nest
from ...legacy.policy import Policy
from ...legacy.stages import LegacyStages
from .observation_form import in_native_form


class SourceStages(LegacyStages):
    """The source in the environment it acts in.

    Args:
        policy: The source.
        observation_space: What the environment gives.
        is_native: Whether the network of the other one is native.
    """

    def __init__(self, policy: Policy, observation_space: Space[Any], is_native: bool) -> None:
        super().__init__(policy)
        self._seen = observation_space
        self._is_native = is_native

    def step(
        self, slots: Sequence[Hashable], observations: Sequence[Nest], rewards: Sequence[Any] | None
    ) -> dict[str, Nest]:
        """What each stage gave; observations as a native network takes them, beside one."""
        found = super().step(slots, observations, rewards)
        return in_native_form(found, self.policy.observation_space) if self._is_native else found

    @property
    def observation_space(self) -> Any:
        """What the environment gives."""
        return self._seen
