"""Observations as the old stack's preprocessors make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium import spaces
from gymnasium.spaces import Space
from typing_extensions import override

from ....core.arrays.batching import batch as batched
from ....core.errors import SpaceError
from ....core.formulas.preprocessors import PreprocessPlan, preprocessor_for
from ..batch_items import single_agent_episode_iterator
from ..common.written_observations import LastObservations, own_space
from ..connector import ConnectorV2


class PreprocessObservations(ConnectorV2):
    """Write each last observation into its episode as the old stack's preprocessor gives it.

    Discrete ones become one-hot, nested ones one flat vector with keys in the space's own order,
    Atari's pictures and memories are scaled; others stay. Where keys are sorted anyway,
    `FlattenObservations` does the same.

    Args:
        input_observation_space: Of what comes in; by agent id for several agents.
        input_action_space: Of what comes in.
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
        self._plans: dict[Any, PreprocessPlan] = {}

    @override
    def recompute_output_observation_space(
        self, input_observation_space: Any, input_action_space: Any
    ) -> Space[Any]:
        if not self.multi_agent:
            self._plans = {None: self._plan(input_observation_space)}
            return self._plans[None].output_space
        by_agent: Mapping[Any, Any] = input_observation_space.spaces
        self._plans = {agent: self._plan(space) for agent, space in by_agent.items()}
        return spaces.Dict({agent: plan.output_space for agent, plan in self._plans.items()})

    def _plan(self, space: Any) -> PreprocessPlan:
        options = {"dim": self.dim, "grayscale": self.grayscale, "zero_mean": self.zero_mean}
        return preprocessor_for(space, options, image_backend=self.image_backend)

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        by_agent: dict[Any, list[Any]] = {}
        for episode in single_agent_episode_iterator(episodes):
            agent_id = episode.agent_id if self.multi_agent else None
            by_agent.setdefault(agent_id, []).append(episode)
        space = self.observation_space  # computes the plans, should it be stale
        for agent_id, own in by_agent.items():
            plan = self._plan_of(agent_id)
            if not plan.is_identity:
                last = LastObservations(own)
                last.replace(_rows(plan, last.seen), own_space(space, own[0]))
        return batch

    def _plan_of(self, agent_id: Any) -> PreprocessPlan:
        if agent_id not in self._plans:
            raise SpaceError(
                f"{type(self).__name__} does not know the observation space",
                expected="" if agent_id is None else f"a space of agent {agent_id!r}",
                found=f"input_observation_space={self.input_observation_space}",
                hint="give it, or its pipeline, an input_observation_space.",
            )
        return self._plans[agent_id]


def _rows(plan: PreprocessPlan, observations: list[Any]) -> Sequence[Any]:
    if plan.kind == "repeated" or len(observations) == 1:
        return [plan.transform(observation) for observation in observations]
    rows: Sequence[Any] = plan.transform_batch(batched(observations))
    return rows
