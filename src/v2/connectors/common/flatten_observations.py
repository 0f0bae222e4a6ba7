"""Nested observations into flat arrays."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from gymnasium import spaces
from gymnasium.spaces import Space
from typing_extensions import override

from ....core.arrays.batching import batch as batched
from ....core.errors import PieceError, SpaceError
from ....core.formulas.preprocessors import PreprocessPlan, flatten_observations_plan
from ..batch_items import single_agent_episode_iterator
from ..connector import ConnectorV2
from .written_observations import LastObservations, by_agent, own_space


class FlattenObservations(ConnectorV2):
    """Write each observation into its episode as one flat float32 vector.

    Parts lie in the order of their sorted keys; Discrete and MultiDiscrete ones are one-hot.

    Args:
        input_observation_space: Of what comes in; by agent id for several agents.
        input_action_space: Of what comes in.
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
        self._plans: dict[Any, PreprocessPlan] = {}

    @override
    def recompute_output_observation_space(
        self, input_observation_space: Any, input_action_space: Any
    ) -> Space[Any]:
        if not self.multi_agent:
            self._plans = {None: self._plan(input_observation_space)}
            return self._plans[None].output_space
        by_agent = _by_agent(input_observation_space)
        self._plans = {
            agent_id: self._plan(space)
            for agent_id, space in by_agent.items()
            if self.agent_ids is None or agent_id in self.agent_ids
        }
        flat = {agent_id: plan.output_space for agent_id, plan in self._plans.items()}
        return spaces.Dict({**by_agent, **flat})

    def _plan(self, space: Any) -> PreprocessPlan:
        return flatten_observations_plan(space, self.keys_to_remove)

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        if self.as_learner_connector:
            for episode in single_agent_episode_iterator(episodes, False):
                if self._is_chosen(episode):
                    _write_all(
                        episode,
                        self._plan_of(self._agent_of(episode)),
                        own_space(self.observation_space, episode),
                    )
            return batch
        acting = [*single_agent_episode_iterator(episodes)]
        if self.multi_agent:
            for agent_id, own in by_agent(filter(self._is_chosen, acting)).items():
                self._write_last(agent_id, own)
        elif acting:
            self._write_last(None, acting)
        return batch

    def _write_last(self, agent_id: Any, episodes: Sequence[Any]) -> None:
        last = LastObservations(episodes)
        flat = self._plan_of(agent_id).transform_items(last.seen)
        last.replace(flat, own_space(self.observation_space, episodes[0]))

    def _agent_of(self, episode: Any) -> Any:
        return episode.agent_id if self.multi_agent else None

    def _is_chosen(self, episode: Any) -> bool:
        agent_id = self._agent_of(episode)
        return agent_id is None or self.agent_ids is None or agent_id in self.agent_ids

    def _plan_of(self, agent_id: Any) -> PreprocessPlan:
        if agent_id not in self._plans:
            who = "" if agent_id is None else f" of agent {agent_id!r}"
            raise PieceError(
                f"{type(self).__name__} does not know the observation space{who}",
                found=f"input_observation_space={self.input_observation_space}",
                hint="give it, or its pipeline, an input_observation_space.",
            )
        return self._plans[agent_id]


def _write_all(episode: Any, plan: PreprocessPlan, space: Any) -> None:
    """Flatten all observations of an episode, its look-back included."""
    buffer = episode.observations
    rows = buffer.data
    if not buffer.len_incl_lookback():
        return
    flat = plan.transform_batch(batched(rows) if isinstance(rows, list) else rows)
    episode.observation_space = space
    buffer.data = list(flat) if isinstance(rows, list) else flat


def _by_agent(space: Any) -> dict[Any, Any]:
    """Spaces by agent, of a Dict or as a piece before may have left them."""
    if isinstance(space, spaces.Dict):
        return dict(space.spaces)
    if isinstance(space, Mapping):
        return {agent_id: _as_space(part) for agent_id, part in space.items()}
    raise SpaceError(
        "the observations of several agents",
        expected="a Dict of their spaces",
        found=str(space),
        hint="FlattenObservations(multi_agent=False) takes those of one.",
    )


def _as_space(part: Any) -> Any:
    if isinstance(part, Mapping) and not isinstance(part, spaces.Space):
        return spaces.Dict({key: _as_space(each) for key, each in part.items()})
    return part
