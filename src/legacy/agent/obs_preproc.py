"""Preprocess observations as the policy's model expects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...core.batching import batch as batch_items
from ...core.errors import PieceError
from ..connector import AgentConnector
from ..context import ConnectorContext
from ..preprocessors import NoPreprocessor, get_preprocessor_for_space
from ..types import AgentConnectorDataType

_COLUMNS: Final = ("obs", "new_obs")


class ObsPreprocessorConnector(AgentConnector):
    """Preprocess "obs" and "new_obs" by the preprocessor of the raw observation space.

    Example:
        >>> from gymnasium.spaces import Discrete
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
        self._preprocessor = get_preprocessor_for_space(space, ctx.setting("model"))
        self._is_identity = isinstance(self._preprocessor, NoPreprocessor)

    def is_identity(self) -> bool:
        """Whether observations come out as they go in."""
        return self._is_identity

    def __call__(self, acd_list: Sequence[AgentConnectorDataType]) -> list[AgentConnectorDataType]:
        """Preprocess the observations of all agents, as one batch where their space allows."""
        records = self.checked_list(acd_list)
        if len(records) < 2:
            return [self.transform(records[0])] if records else []
        if self._is_identity and self._are_plain(records):
            self._preprocessor.check_due([record.data["new_obs"] for record in records])
            return list(records)
        plan = getattr(self._preprocessor, "plan", None)
        if plan is None or plan.kind in ("none", "repeated"):
            return [self.transform(record) for record in records]
        if any(["new_obs" not in (data := self._columns_of(r)) or "obs" in data for r in records]):
            return [self.transform(record) for record in records]
        observations = [record.data["new_obs"] for record in records]
        for observation in observations:
            self._preprocessor.check_shape(observation)
        rows = plan.transform_batch(batch_items(observations))
        return [
            AgentConnectorDataType(record.env_id, record.agent_id, {**record.data, "new_obs": row})
            for record, row in zip(records, rows, strict=True)
        ]

    def transform(self, ac_data: AgentConnectorDataType) -> AgentConnectorDataType:
        """Preprocess the observations of one record."""
        data = self._columns_of(ac_data)
        transform = self._preprocessor.transform
        if "obs" not in data and "new_obs" in data:
            raw = data["new_obs"]
            observation = transform(raw)
            if observation is raw:
                return ac_data
            made = {**data, "new_obs": observation}
        else:
            made = {**data, **{name: transform(data[name]) for name in _COLUMNS if name in data}}
        return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, made)

    def to_state(self) -> tuple[str, Any]:
        """Its name; the preprocessor comes from the context."""
        return "ObsPreprocessorConnector", None

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> ObsPreprocessorConnector:
        """A connector for the observation space of `ctx`."""
        return ObsPreprocessorConnector(ctx)

    def _are_plain(self, records: Sequence[AgentConnectorDataType]) -> bool:
        """Whether each record holds nothing to preprocess but one array of the space's shape."""
        shape = self._preprocessor.array_shape
        try:
            return all(
                ["obs" not in (d := r.data) and d["new_obs"].shape == shape for r in records]
            )
        except (KeyError, TypeError, AttributeError):
            return False

    @staticmethod
    def _columns_of(record: AgentConnectorDataType) -> dict[str, Any]:
        data = record.data
        if not isinstance(data, dict):
            raise PieceError(
                "ObsPreprocessorConnector cannot read this record",
                expected="a dict of columns",
                found=type(data).__name__,
            )
        return data
