"""Base class of pieces that write observations into their episodes as arrays."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, ClassVar

from gymnasium import spaces
from gymnasium.spaces import Space
from typing_extensions import override

from ....core.errors import PieceError, RlconnectError, SpaceError
from ....core.formulas.preprocessors import PreprocessPlan
from ....core.step.part import Contribution, Part
from ..batch_items import single_agent_episode_iterator
from ..connector import ConnectorV2
from .written_observations import LastObservations, by_agent, own_space


class PlannedObservations(ConnectorV2):
    """Writes each last observation into its episode as the plan of its agent's space has it.

    A subclass says in `_plan` what the plan of a space is.
    """

    multi_agent: bool = False
    agent_ids: Collection[Hashable] | None = None
    unknown: ClassVar[type[RlconnectError]] = PieceError
    """The error to raise if the space of an agent is unknown."""

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self._plans: dict[Any, PreprocessPlan] = {}

    def _plan(self, space: Any) -> PreprocessPlan:
        raise NotImplementedError

    @override
    def recompute_output_observation_space(
        self, input_observation_space: Any, input_action_space: Any
    ) -> Space[Any]:
        if not self.multi_agent:
            self._plans = {None: self._plan(input_observation_space)}
            return self._plans[None].output_space
        by_agent_id = _by_agent(input_observation_space)
        self._plans = {
            agent_id: self._plan(space)
            for agent_id, space in by_agent_id.items()
            if self.agent_ids is None or agent_id in self.agent_ids
        }
        planned = {agent_id: plan.output_space for agent_id, plan in self._plans.items()}
        return spaces.Dict({**by_agent_id, **planned})

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        acting = [*single_agent_episode_iterator(episodes)]
        if self.multi_agent:
            for agent_id, episodes_of in by_agent(filter(self._is_chosen, acting)).items():
                self._write_last(agent_id, episodes_of)
        elif acting:
            self._write_last(None, acting)
        return batch

    def part(self) -> Contribution | None:
        """Return the transformation of a single agent's observations as data."""
        _ = self.observation_space  # computes the plans, should they be stale
        plan = self._plans.get(None)
        if plan is None:
            return None
        return Contribution(obs=(Part(type(self).__name__, plan.transform_batch),))

    def _write_last(self, agent_id: Any, episodes: Sequence[Any]) -> None:
        space = self.observation_space  # computes the plans, should they be stale
        plan = self._plans.get(agent_id) or self._plan_of(agent_id)
        if plan.kind != "none":
            last = LastObservations(episodes)
            last.replace(plan.transform_items(last.seen), own_space(space, episodes[0]))

    def _agent_of(self, episode: Any) -> Any:
        return episode.agent_id if self.multi_agent else None

    def _is_chosen(self, episode: Any) -> bool:
        agent_id = self._agent_of(episode)
        return agent_id is None or self.agent_ids is None or agent_id in self.agent_ids

    def _plan_of(self, agent_id: Any) -> PreprocessPlan:
        if agent_id not in self._plans:
            who = "" if agent_id is None else f" of agent {agent_id!r}"
            raise self.unknown(
                f"{type(self).__name__} does not know the observation space{who}",
                found=f"input_observation_space={self.input_observation_space}",
                hint="set input_observation_space of the piece or its pipeline.",
            )
        return self._plans[agent_id]


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
        hint="multi_agent=False takes those of one.",
    )


def _as_space(part: Any) -> Any:
    if isinstance(part, Mapping) and not isinstance(part, spaces.Space):
        return spaces.Dict({key: _as_space(each) for key, each in part.items()})
    return part
