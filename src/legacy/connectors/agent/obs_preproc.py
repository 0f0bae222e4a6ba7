"""Preprocess observations as the policy's model expects them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....core.errors import SpaceError
from ....core.step.part import NOTHING, Contribution, Part
from ...observations.preprocessors import NoPreprocessor, get_preprocessor_for_space
from ..connector import FromContext
from ..context import ConnectorContext
from ..rows import Rows
from .columns import ColumnsAgentConnector

_COLUMNS: Final = ("obs", "new_obs")


class ObsPreprocessorConnector(FromContext, ColumnsAgentConnector):
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
            raise self.lacks("observation")
        self.preprocessor = get_preprocessor_for_space(space, ctx.setting("model"))
        self._is_identity = isinstance(self.preprocessor, NoPreprocessor)

    def is_identity(self) -> bool:
        """Whether observations come out as they go in."""
        return self._is_identity

    def stop_checking(self) -> None:
        """Disable the occasional check that observations are contained in the space."""
        self.preprocessor.samples_checks = False

    def transform_all(self, rows: Rows) -> None:
        """Preprocess the observations, as one batch where their space allows."""
        for name in _COLUMNS:
            if name in rows:
                self._change(rows, name)

    def _change(self, rows: Rows, name: str) -> None:
        preprocessor = self.preprocessor
        raw = rows.entries(name)
        if len(raw) == 1:
            processed = preprocessor.transform(raw[0])
            if processed is not raw[0]:
                rows.set(name, [processed])
            return
        plan = getattr(preprocessor, "plan", None)
        if plan is not None and plan.kind == "none":
            if _shape_of(rows, name) == preprocessor.array_shape:
                preprocessor.check_due(raw)
                return
        elif plan is not None and not plan.holds_lists:
            for observation in raw:
                preprocessor.check_shape(observation)
            rows.set(name, plan.transform_batch(rows.batch(name)))
            return
        processed = [preprocessor.transform(observation) for observation in raw]
        if any([one is not other for one, other in zip(processed, raw, strict=True)]):
            rows.set(name, processed)

    def transform_columns(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> Any:
        """Preprocess the observations."""
        changed = columns
        for name in _COLUMNS:
            if name in columns:
                raw = columns[name]
                observation = self.preprocessor.transform(raw)
                if observation is not raw:
                    changed = {**changed, name: observation}
        return changed

    def part(self) -> Contribution:
        """The preprocessing, where observations of its space make one batch."""
        name, plan = type(self).__name__, getattr(self.preprocessor, "plan", None)
        if self._is_identity:
            return NOTHING
        if plan is None or plan.holds_lists:
            return Contribution(missing=(f"{name} ({type(self.preprocessor).__name__})",))
        return Contribution(obs=(Part(name, plan.transform_batch),))


def _shape_of(rows: Rows, name: str) -> tuple[int, ...] | None:
    """The shape that all values of a column have; None where they are no arrays of one."""
    values = rows.column(name)
    if isinstance(values, list) and set(map(type, values)) != {np.ndarray}:
        return None
    try:
        batch = rows.batch(name)
    except SpaceError:
        return None
    return batch.shape[1:] if isinstance(batch, np.ndarray) else None
