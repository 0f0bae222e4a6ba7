"""What a policy has to offer to be compared with another one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from gymnasium import spaces
from typing_extensions import TypeIs

from ...core.formulas.preprocessors import flatten_observations_plan
from ...core.types import Nest
from ..triple import V2Triple

if TYPE_CHECKING:
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
