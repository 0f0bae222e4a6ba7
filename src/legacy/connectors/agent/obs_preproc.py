"""Preprocess observations as the policy's model expects them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....core.arrays.batching import batch as batch_items
from ....core.errors import PieceError
from ....core.step.part import NOTHING, Contribution, Part
from ...observations.preprocessors import NoPreprocessor, get_preprocessor_for_space
from ..context import ConnectorContext
from ..records import Records
from .columns import ColumnsAgentConnector

_COLUMNS: Final = ("obs", "new_obs")


class ObsPreprocessorConnector(ColumnsAgentConnector):
    """Preprocess "obs" and "new_obs" by the preprocessor of the raw observation space.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> from rlconnect.legacy import AgentConnectorDataType
        >>> connector = ObsPreprocessorConnector(ConnectorContext(observation_space=Discrete(3)))
        >>> connector([AgentConnectorDataType("env", "agent", {"new_obs": 1})])[0].data
        {'new_obs': array([0., 1., 0.], dtype=float32)}
    """

    def __init__(self, ctx: ConnectorContext | None = None) -> None:
        super().__init__(ctx)
        if ctx is not None:
            self.bind(ctx)

    def bind(self, ctx: ConnectorContext) -> None:
        """Choose the preprocessor for the raw observation space of `ctx`."""
        super().bind(ctx)
        space = ctx.raw_observation_space
        if space is None:
            raise PieceError(
                "ObsPreprocessorConnector does not know the observation space.",
                hint="give the context an observation_space.",
            )
        self.preprocessor = get_preprocessor_for_space(space, ctx.setting("model"))
        self._is_identity = isinstance(self.preprocessor, NoPreprocessor)

    def is_identity(self) -> bool:
        """Whether observations come out as they go in."""
        return self._is_identity

    def stop_checking(self) -> None:
        """Do not check any more, now and then, that observations lie in their space."""
        self.preprocessor.samples_checks = False

    def transform_all(self, records: Records) -> Records:
        """Preprocess the observations of all agents, as one batch where their space allows."""
        plan = getattr(self.preprocessor, "plan", None)
        if plan is None or plan.holds_lists or not records.has_plain_observations():
            return super().transform_all(records)
        rows: Any = records.observations()
        if plan.kind == "none":
            batch = records.stacked()
            if batch is None or batch.shape[1:] != self.preprocessor.array_shape:
                return super().transform_all(records)
            self.preprocessor.check_due(rows)
            return records
        if not isinstance(rows, (list, np.ndarray)):
            return super().transform_all(records)
        for row in rows:
            self.preprocessor.check_shape(row)
        items = batch_items(rows) if isinstance(rows, list) else rows
        return records.with_observations(plan.transform_batch(items))

    def transform_columns(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> Any:
        """Preprocess the observations."""
        made = columns
        for name in _COLUMNS:
            if name in columns:
                raw = columns[name]
                observation = self.preprocessor.transform(raw)
                if observation is not raw:
                    made = {**made, name: observation}
        return made

    def part(self) -> Contribution:
        """The preprocessing, where observations of its space make one batch."""
        name, plan = type(self).__name__, getattr(self.preprocessor, "plan", None)
        if self._is_identity:
            return NOTHING
        if plan is None or plan.kind == "repeated":
            return Contribution(missing=(f"{name} ({type(self.preprocessor).__name__})",))
        return Contribution(obs=(Part(name, plan.transform_batch),))

    def to_state(self) -> tuple[str, Any]:
        """Its name; the preprocessor comes from the context."""
        return "ObsPreprocessorConnector", None

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> ObsPreprocessorConnector:
        """A connector for the observation space of `ctx`."""
        return ObsPreprocessorConnector(ctx)
