"""What pieces have in common that read episodes, for acting or for learning."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Space

from ..columnar import ColumnarPiece


class FromEpisodes(ColumnarPiece):
    """A piece that reads what is to be acted on from running episodes, or all steps for learners.

    Args:
        input_observation_space: Of what comes in.
        input_action_space: Of what comes in.
        as_learner_connector: Whether the batch is a train batch.
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        as_learner_connector: bool = False,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.as_learner_connector = as_learner_connector
