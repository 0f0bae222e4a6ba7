"""Frames stacked from sampled episodes, for learning."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Space

from ..common.frame_stacking import FrameStacking


class FrameStackingLearner(FrameStacking):
    """`FrameStacking` of sampled episodes, for learning.

    Args:
        input_observation_space: Boxes whose last axis is 1; by agent id for several agents.
        input_action_space: Of what comes in.
        num_frames: How many.
        multi_agent: Whether spaces are by agent id.
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        num_frames: int = 1,
        multi_agent: bool = False,
    ) -> None:
        super().__init__(
            input_observation_space,
            input_action_space,
            num_frames=num_frames,
            multi_agent=multi_agent,
            as_learner_connector=True,
        )
