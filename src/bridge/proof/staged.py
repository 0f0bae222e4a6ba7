"""What a policy has to offer to be compared, and the one stage of what only shows its actions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from gymnasium import spaces
from typing_extensions import TypeIs

from ...core.arrays.batching import batch
from ...core.formulas.preprocessors import flatten_observations_plan
from ...core.spaces.text import short_space
from ...core.types import Nest
from ..triple import V2Triple

if TYPE_CHECKING:
    from ..actor.player import Player
    from .v2_stages import V2Stages


class Staged(Protocol):
    """Anything that acts and can tell what each of its stages gave."""

    name: str

    @property
    def observation_space(self) -> Any:
        """What an environment gives it."""

    @property
    def action_space(self) -> Any:
        """What an environment takes from it."""

    def pieces(self) -> list[tuple[str, str]]:
        """A title and a detail for each piece that data passes, in order."""

    def reset(self, slots: Sequence[Hashable]) -> None:
        """Begin an episode in each slot."""

    def step(
        self, slots: Sequence[Hashable], observations: Sequence[Nest], rewards: Sequence[Any] | None
    ) -> dict[str, Nest]:
        """Act in some slots without exploring: arrays by stage, one row a slot."""


def are_of_triple(staged: Staged) -> TypeIs[V2Stages]:
    """Whether these are the stages of a triple; torch is not imported to find out."""
    return isinstance(getattr(staged, "triple", None), V2Triple)


def in_form_of(
    stages: Mapping[str, Nest], other: Mapping[str, Nest], space: Any
) -> dict[str, Nest]:
    """What one gave by stage, its nested observation flat as V2 flattens it if the other's is."""
    observation = stages["observation"]
    is_nested = isinstance(space, (spaces.Dict, spaces.Tuple)) and not isinstance(
        observation, np.ndarray
    )
    if not (is_nested and isinstance(other.get("observation"), np.ndarray)):
        return dict(stages)
    return {**stages, "observation": flatten_observations_plan(space).transform_batch(observation)}


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
