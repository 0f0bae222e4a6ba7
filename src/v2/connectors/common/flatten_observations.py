"""Nested observations into flat arrays."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

from gymnasium import spaces
from typing_extensions import override

from ....core.arrays.batching import batch as batched
from ....core.formulas.preprocessors import PreprocessPlan, flatten_observations_plan
from ..batch_items import single_agent_episode_iterator
from .planned_observations import PlannedObservations
from .written_observations import own_space


class FlattenObservations(PlannedObservations):
    """Write each observation into its episode as one flat float32 vector.

    Parts are in the order of their sorted keys; Discrete and MultiDiscrete ones are one-hot.

    Args:
        input_observation_space: Of what comes in; by agent id for several agents.
        multi_agent: Whether spaces are by agent id.
        agent_ids: Only these agents; None for all.
        as_learner_connector: Whether to flatten all observations of each episode, not the last.
        keys_to_remove: Top-level keys of Dict observations to leave out.

    Example:
        >>> space = spaces.Dict({"a": spaces.Box(-1, 1, (2,)), "b": spaces.Discrete(3)})
        >>> FlattenObservations(space).observation_space.shape
        (5,)
    """

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        multi_agent: bool = False,
        agent_ids: Collection[Hashable] | None = None,
        as_learner_connector: bool = False,
        keys_to_remove: Sequence[str] | None = None,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.multi_agent = multi_agent
        self.agent_ids = agent_ids
        self.as_learner_connector = as_learner_connector
        self.keys_to_remove = tuple(keys_to_remove or ())

    part = PlannedObservations.part

    @override
    def _plan(self, space: Any) -> PreprocessPlan:
        return flatten_observations_plan(space, self.keys_to_remove)

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        if not self.as_learner_connector:
            return super().__call__(batch=batch, episodes=episodes, **kwargs)
        for episode in single_agent_episode_iterator(episodes, False):
            if self._is_chosen(episode):
                plan = self._plan_of(self._agent_of(episode))
                _write_all(episode, plan, own_space(self.observation_space, episode))
        return batch


def _write_all(episode: Any, plan: PreprocessPlan, space: Any) -> None:
    """Flatten all observations of an episode, its look-back included."""
    buffer = episode.observations
    rows = buffer.data
    if not buffer.len_incl_lookback():
        return
    flat = plan.transform_batch(batched(rows) if isinstance(rows, list) else rows)
    episode.observation_space = space
    buffer.data = list(flat) if isinstance(rows, list) else flat
