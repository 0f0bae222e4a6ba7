"""The pipeline from sampled episodes to a train batch."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from ....core.columns import ALL_MODULES
from ..piece_plan import Room
from ..pipeline import ConnectorPipelineV2
from .train_columns import RowIds
from .train_run import TRAINING


class LearnerConnectorPipeline(ConnectorPipelineV2):
    """Leads from sampled episodes to the batch a learner's losses are computed from.

    Example:
        >>> LearnerConnectorPipeline()(rl_module=None, episodes=[])
        {}
    """

    @override
    def __call__(
        self,
        *,
        rl_module: Any,
        batch: dict[str, Any] | None = None,
        episodes: list[Any],
        explore: bool | None = False,
        shared_data: dict[str, Any] | None = None,
        metrics: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run all pieces, from an empty batch if none is given."""
        if metrics is not None:
            metrics.log_value(
                (ALL_MODULES, "learner_connector_sum_episodes_length_in"), sum(map(len, episodes))
            )
        batch = super().__call__(
            rl_module=rl_module,
            batch={} if batch is None else batch,
            episodes=episodes,
            explore=explore,
            shared_data=shared_data,
            metrics=metrics,
            **kwargs,
        )
        owners = (shared_data or {}).get("memorized_map_structure")
        if shared_data and isinstance(owners, RowIds):
            shared_data["memorized_map_structure"] = owners.listed()
        if metrics is not None:
            metrics.log_value(
                (ALL_MODULES, "learner_connector_sum_episodes_length_out"), sum(map(len, episodes))
            )
        return batch

    @override
    def _metrics_prefix(self) -> tuple[str, ...]:
        return (ALL_MODULES, "learner_connector")

    @override
    def _room(self) -> Room:
        return TRAINING
