"""Observations as the old stack's preprocessors make them."""

from __future__ import annotations

from typing import Any

from gymnasium import spaces
from typing_extensions import override

from ....core.errors import SpaceError
from ....core.formulas.preprocessors import PreprocessPlan, preprocessor_for
from ..common.planned_observations import PlannedObservations


class PreprocessObservations(PlannedObservations):
    """Write each last observation into its episode as the old stack's preprocessor gives it.

    Discrete ones become one-hot, nested ones one flat vector with keys in the space's own order,
    Atari's pictures and memories are scaled; others stay. Where keys are sorted anyway,
    `FlattenObservations` does the same.

    Args:
        input_observation_space: Of what comes in; by agent id for several agents.
        multi_agent: Whether spaces are by agent id.
        dim: Side of a picture that comes out.
        grayscale: Whether pictures lose their colours.
        zero_mean: Whether pixels become -1 to 1 instead of 0 to 1.
        image_backend: "skimage" or "cv2": the library whose way of scaling to follow.

    Example:
        >>> space = spaces.Dict([("b", spaces.Discrete(2)), ("a", spaces.Discrete(3))])
        >>> PreprocessObservations(space).observation_space.shape
        (5,)
    """

    unknown = SpaceError

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        multi_agent: bool = False,
        dim: int = 84,
        grayscale: bool = False,
        zero_mean: bool = True,
        image_backend: str = "skimage",
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.multi_agent = multi_agent
        self.dim = dim
        self.grayscale = grayscale
        self.zero_mean = zero_mean
        self.image_backend = image_backend

    part = PlannedObservations.part

    @override
    def _plan(self, space: Any) -> PreprocessPlan:
        options = {"dim": self.dim, "grayscale": self.grayscale, "zero_mean": self.zero_mean}
        return preprocessor_for(space, options, image_backend=self.image_backend)
