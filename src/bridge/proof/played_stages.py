"""The one stage of what shows nothing but its actions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ...core.arrays.batching import batch
from ...core.spaces.text import short_space
from ...core.types import Nest
from ..actor.player import Player


class PlayedStages:
    """The actions of a player whose inside cannot be looked at: an exported program's.

    `pieces` is what its manifest tells of the pieces in it.
    """

    def __init__(self, player: Player, pieces: Sequence[str], name: str = "") -> None:
        self.player = player
        self.name = name or f"exported {player.plan.name}"
        self._pieces = list(pieces)
        self._rng = np.random.default_rng(0)

    @property
    def observation_space(self) -> Any:
        """What an environment gives it."""
        return self.player.observation_space

    @property
    def action_space(self) -> Any:
        """What an environment takes from it."""
        return self.player.action_space

    def pieces(self) -> list[tuple[str, str]]:
        """The pieces in order, as far as they are known."""
        return [
            ("environment", short_space(self.observation_space)),
            *((piece, "") for piece in self._pieces),
            ("environment", short_space(self.action_space)),
        ]

    def reset(self, slots: Sequence[Hashable]) -> None:
        """Begin an episode in each slot."""
        self.player.reset(slots)

    def step(
        self, slots: Sequence[Hashable], observations: Sequence[Nest], rewards: Sequence[Any] | None
    ) -> dict[str, Nest]:
        """Act in some slots without exploring: the actions, one row a slot."""
        rows, _ = self.player.form.rows(batch(list(observations)))
        earned = None if rewards is None else np.asarray(rewards, np.float64)
        keys = [(slot, "agent") for slot in slots]
        return {"action": self.player.act(rows, (keys, earned, None, False, self._rng, True))}
