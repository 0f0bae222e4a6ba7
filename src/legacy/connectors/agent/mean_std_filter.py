"""Subtract the running mean from observations and divide by their running deviation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ....core import nest
from ....core.arrays.moments import Moments
from ....core.errors import PieceError
from ....core.formulas.actions import get_base_struct_from_space
from ....core.formulas.filters import FrozenFilter
from ....core.step.part import Contribution, filter_part
from ....core.types import Nest
from ...observations.filters import ConcurrentMeanStdFilter, MeanStdFilter
from ..connector import AgentConnector
from ..context import ConnectorContext
from ..rows import Rows
from .columns import ColumnsAgentConnector


class SyncedFilterAgentConnector(ColumnsAgentConnector):
    """Base class of agent connectors whose statistics are updated and can be merged.

    Args:
        ctx: The context.
        *args: Accepted for subclasses that pass their arguments on, as in Ray.
        **kwargs: Accepted for subclasses that pass their arguments on, as in Ray.
    """

    def __init__(self, ctx: ConnectorContext | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(ctx)

    def apply_changes(self, other: Any, *args: Any, **kwargs: Any) -> None:
        """Take over what `other` learned since it was last asked."""
        raise self._lacks("apply_changes")

    def copy(self) -> Any:
        """An independent twin of the filter."""
        raise self._lacks("copy")

    def sync(self, other: AgentConnector) -> None:
        """Become equal to `other`."""
        raise self._lacks("sync")

    def reset_state(self) -> None:
        """Count what is learned from now on as new."""
        raise self._lacks("reset_state")

    def as_serializable(self) -> Any:
        """A twin of the filter without locks."""
        return self.copy()

    def _lacks(self, method: str) -> PieceError:
        return PieceError(f"{type(self).__name__} has no {method}().", hint="override it.")


_COLUMNS: Final = ("obs", "new_obs")


class MeanStdObservationFilterAgentConnector(SyncedFilterAgentConnector):
    """Filter "obs" and "new_obs" by their running mean and deviation.

    The statistics move in training only. Agents in one list are learned from in order.

    Args:
        ctx: The context; its observation space is that of the policy.
        demean: Whether to subtract the mean.
        destd: Whether to divide by the deviation.
        clip: Bound of the result on both sides; None for none.

    Attributes:
        filter: The `MeanStdFilter` at work.

    Example:
        >>> from rlconnect.legacy import AgentConnectorDataType
        >>> space = spaces.Box(-1, 1, (1,))
        >>> connector = MeanStdObservationFilterAgentConnector(
        ...     ConnectorContext(observation_space=space))
        >>> for x in (0.0, 2.0):
        ...     records = connector([AgentConnectorDataType("e", "a", {"new_obs": np.array([x])})])
        >>> records[0].data["new_obs"].round(4)
        array([0.7071])
    """

    _filter_class: type[MeanStdFilter] = MeanStdFilter

    def __init__(
        self,
        ctx: ConnectorContext | None = None,
        demean: bool = True,
        destd: bool = True,
        clip: float | None = 10.0,
    ) -> None:
        super().__init__(ctx)
        self._settings = (demean, destd, clip)
        if ctx is not None:
            self.bind(ctx)

    def bind(self, ctx: ConnectorContext) -> None:
        """Read the shapes to filter off the observation space of `ctx`."""
        super().bind(ctx)
        space = ctx.observation_space
        if space is None:
            raise self.lacks("observation")
        self.filter = self._filter_class(filter_shape(space), *self._settings)

    def transform_all(self, rows: Rows) -> None:
        """Filter the observations, learning from one after the other in training."""
        for name in _COLUMNS:
            if name in rows:
                if len(rows.slots) == 1:
                    rows.set(name, [self.filter(rows.entries(name)[0], self._is_training)])
                elif self._is_training:
                    rows.set(name, self.filter.filter_each(rows.batch(name)))
                else:
                    rows.set(name, self.filter(rows.batch(name), update=False))

    def transform_columns(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> Any:
        """Filter the observations."""
        changed = columns.copy()
        for name in _COLUMNS:
            if name in changed:
                changed[name] = self.filter(changed[name], self._is_training)
        return changed

    def part(self) -> Contribution:
        """The filter as its statistics are now; in a plan they rest."""
        own_filter = self.filter

        def frozen(stat: Any) -> FrozenFilter | None:
            if stat is None:
                return None
            return FrozenFilter.of(
                stat, demean=own_filter.demean, destd=own_filter.destd, clip=own_filter.clip
            )

        stats = own_filter.running_stats
        filters = nest.map_structure(frozen, stats) if own_filter.no_preprocessor else frozen(stats)
        part = filter_part(type(self).__name__, filters)
        return Contribution(obs=() if part is None else (part,))

    def to_state(self) -> tuple[str, Any]:
        """The non-concurrent name, as in RLlib, with settings and statistics."""
        return "MeanStdObservationFilterAgentConnector", self.filter.to_state()

    @staticmethod
    def from_state(
        ctx: ConnectorContext,
        params: Mapping[str, Any] | None = None,
        demean: bool = True,
        destd: bool = True,
        clip: float | None = 10.0,
    ) -> MeanStdObservationFilterAgentConnector:
        """A connector with the saved settings and statistics; without `params` a fresh one."""
        connector = MeanStdObservationFilterAgentConnector(ctx, demean, destd, clip)
        if params:
            connector.filter.set_state(params)
        return connector

    def reset_state(self) -> None:
        """Count what is learned from now on as new."""
        self._require_training("reset_state")
        self.filter.reset_buffer()

    def apply_changes(self, other: Any, *args: Any, **kwargs: Any) -> None:
        """Add what `other`, a filter or a connector, learned since its last reset."""
        self._require_training("apply_changes")
        self.filter.apply_changes(getattr(other, "filter", other), *args, **kwargs)

    def copy(self) -> MeanStdFilter:
        """An independent twin of the filter."""
        return self.filter.copy()

    def as_serializable(self) -> MeanStdFilter:
        """A twin of the filter without locks."""
        return self.filter.as_serializable()

    def sync(self, other: Any) -> None:
        """Take over the settings and statistics of `other`, a filter or a connector."""
        self._require_training("sync")
        self.filter.sync(getattr(other, "filter", other))

    def _require_training(self, call: str) -> None:
        if not self._is_training:
            raise PieceError(
                f"{type(self).__name__}.{call}() would change statistics in evaluation.",
                hint="call in_training() first.",
            )


class ConcurrentMeanStdObservationFilterAgentConnector(MeanStdObservationFilterAgentConnector):
    """The same filter behind a lock, for samplers with several threads.

    It is saved under the plain connector's name. As in RLlib, the settings given here have no
    effect: it clips at 10 until a saved state says otherwise.
    """

    _filter_class: type[MeanStdFilter] = ConcurrentMeanStdFilter

    def __init__(
        self,
        ctx: ConnectorContext | None = None,
        demean: bool = True,
        destd: bool = True,
        clip: float | None = 10.0,
    ) -> None:
        super().__init__(ctx)

    def part(self) -> Contribution:
        """The filter as its statistics are now."""
        return super().part()


def mean_std_connector(policy: Any, statistics: Any) -> MeanStdObservationFilterAgentConnector:
    """Return the connector of a filter that a rollout worker stored separately from the policy.

    `statistics` is a `FilterRecord` of the vault.
    """
    connector = MeanStdObservationFilterAgentConnector(
        ConnectorContext.from_policy(policy), statistics.demean, statistics.destd, statistics.clip
    )
    connector.filter.set_moments(
        [
            Moments(*each)
            for each in zip(
                statistics.count, statistics.mean, statistics.sum_of_squares, strict=True
            )
        ]
    )
    return connector


def filter_shape(space: spaces.Space[Any]) -> Nest:
    """The shapes a filter of `space` works on; Discrete and MultiDiscrete leaves pass unfiltered.

    Example:
        >>> filter_shape(spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(-1, 1, (2,))}))
        {'a': None, 'b': array([2])}
    """

    def shape_of(leaf: Any) -> Any:
        if isinstance(leaf, (spaces.Discrete, spaces.MultiDiscrete)):
            return None
        return np.array(leaf.shape, np.int64)

    return nest.map_structure(shape_of, get_base_struct_from_space(space))
