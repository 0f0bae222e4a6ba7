"""Observations of a changed environment as the policy knows them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium.spaces import Space

from ....core import nest
from ....core.adapters import AdapterChain, BoundChain
from ....core.errors import PieceError, SpaceError
from ....core.spaces.own_layout import space_from_data, space_to_data
from ....core.step.part import Contribution, Part
from ....core.types import Array, Nest
from ..context import ConnectorContext
from ..rows import Rows
from ..types import AgentConnectorDataType
from .columns import ColumnsAgentConnector

_COLUMNS: Final = ("obs", "new_obs")


class AdaptObservationsAgentConnector(ColumnsAgentConnector):
    """Take "obs", "new_obs" and "rewards" through an adapter; it comes first in a pipeline.

    Args:
        ctx: The context; its raw observation space is what the policy knows.
        chain: The steps. Those on actions belong to `AdaptActionsConnector`.
        observation_space: What the environment gives.

    Raises:
        SpaceError: The steps do not lead from the environment's space to the policy's.

    Example:
        >>> from gymnasium.spaces import Box
        >>> from rlconnect.core.adapters import DropFeatures
        >>> from rlconnect.legacy import AgentConnectorDataType
        >>> connector = AdaptObservationsAgentConnector(
        ...     ConnectorContext(observation_space=Box(-1, 1, (2,))),
        ...     chain=AdapterChain(obs=[DropFeatures([1])]),
        ...     observation_space=Box(-1, 1, (3,)))
        >>> record = AgentConnectorDataType("e", "a", {"new_obs": np.float32([1, 9, 0])})
        >>> connector([record])[0].data
        {'new_obs': array([1., 0.], dtype=float32)}
    """

    def __init__(
        self,
        ctx: ConnectorContext | None = None,
        *,
        chain: AdapterChain,
        observation_space: Space[Any] | None,
    ) -> None:
        super().__init__(ctx)
        if observation_space is None:
            raise PieceError(
                f"{type(self).__name__} does not know what the environment gives.",
                hint="pass an observation_space.",
            )
        self.chain: Final = chain
        self.observation_space: Final = observation_space
        # The action space is handled by other connectors.
        self._bound = AdapterChain(obs=chain.obs, reward=chain.reward).bind(
            observation_space, observation_space
        )
        self._memory: dict[Any, dict[Any, tuple[Array, ...]]] = {}
        if ctx is not None:
            self.bind(ctx)

    @property
    def adapter(self) -> BoundChain:
        """Its steps, fitted to what the environment gives."""
        return self._bound

    def bind(self, ctx: ConnectorContext) -> None:
        """Hold the adapter's result against what the policy of `ctx` knows."""
        super().bind(ctx)
        raw_space, new_space = ctx.raw_observation_space, self._bound.observation_space
        if raw_space is not None:
            expect_known(raw_space, new_space)

    def reset(self, env_id: Any) -> None:
        """Forget the frames of `env_id`."""
        self._memory.pop(env_id, None)

    def transform_all(self, rows: Rows) -> None:
        """Adapt observations and rewards."""
        for name in _COLUMNS:
            if name in rows:
                rows.set(name, self._adapted(rows, name))
        if self._bound.rewards and "rewards" in rows:
            rows.set("rewards", self._bound.reward(np.asarray(rows.entries("rewards"))))
        agents = self.chain.agents
        if agents:
            rows.rename([(env_id, agents.get(agent, agent)) for env_id, agent in rows.slots])

    def transform(self, ac_data: AgentConnectorDataType) -> AgentConnectorDataType:
        """Adapt one record, and whose it is."""
        rows = Rows.of([ac_data])
        if rows is None:
            raise self.no_columns(ac_data.data)
        self.transform_all(rows)
        return rows.as_list()[0]

    def part(self) -> Contribution:
        """Its steps, and its names of agents."""
        name = type(self).__name__
        return Contribution(
            obs=tuple(Part.of(name, step) for step in self._bound.obs),
            reward=tuple(Part.of(name, step) for step in self._bound.rewards),
            agents=self.chain.agents,
        )

    def to_state(self) -> tuple[str, Any]:
        """Its name, the steps and the environment's space as plain data."""
        space = space_to_data(self.observation_space)
        params = {"chain": self.chain.to_data(), "observation_space": space}
        return "AdaptObservationsAgentConnector", params

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> AdaptObservationsAgentConnector:
        """A connector with the saved steps; without any it lets everything pass."""
        saved = params or {}
        space = saved.get("observation_space")
        return AdaptObservationsAgentConnector(
            ctx,
            chain=AdapterChain.from_data(saved.get("chain", {})),
            observation_space=ctx.raw_observation_space
            if space is None
            else space_from_data(space),
        )

    def _adapted(self, rows: Rows, name: str) -> Nest:
        if not self._bound.memory:
            try:
                return self._bound.observe(nest.map_structure(np.asarray, rows.batch(name)))
            except SpaceError:
                pass  # one after the other: the one that is odd says so
        pairs = zip(rows.slots, rows.entries(name), strict=True)
        return [self._one(*slot, obs) for slot, obs in pairs]

    def _one(self, env_id: Any, agent_id: Any, obs: Nest) -> Nest:
        if not self._bound.memory:
            return self._bound.observe(nest.map_structure(np.asarray, obs))
        slots = self._memory.setdefault(env_id, {})
        memory = slots.get(agent_id)
        is_first = np.array([memory is None])
        row = nest.map_structure(lambda leaf: np.asarray(leaf)[None], obs)
        adapted, slots[agent_id] = self._bound.observe_next(
            row, self._bound.start(1) if memory is None else memory, is_first
        )
        return nest.taken(adapted, 0)


def expect_known(policy_space: Space[Any], adapted_space: Space[Any]) -> None:
    """Hold what an adapter gives against what a policy knows.

    Raises:
        SpaceError: It is something else.
    """
    if not _takes(policy_space, adapted_space):
        raise SpaceError(
            "the adapter does not lead to what the policy knows",
            expected=str(policy_space),
            found=str(adapted_space),
            hint="diff_spaces(policy's, environment's) proposes steps.",
        )


def _takes(one: Space[Any], other: Space[Any]) -> bool:
    """Whether values of one space have the form of another's."""
    return type(one) is type(other) and one.shape == other.shape
