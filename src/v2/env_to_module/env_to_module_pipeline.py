"""The pipeline from episodes to a forward batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from ..pipeline import ConnectorPipelineV2
from ..planning.plan import Room


class EnvToModulePipeline(ConnectorPipelineV2):
    """Leads from the running episodes of an environment to a module's forward batch.

    Example:
        >>> EnvToModulePipeline()(rl_module=None, episodes=[], explore=False)
        {}
    """

    @override
    def __call__(
        self,
        *,
        rl_module: Any,
        batch: dict[str, Any] | None = None,
        episodes: Sequence[Any],
        explore: bool | None = None,
        shared_data: dict[str, Any] | None = None,
        metrics: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Run all pieces, from an empty batch if none is given."""
        if metrics is not None:
            metrics.log_value("env_to_module_sum_episodes_length_in", sum(map(len, episodes)))
        batch = super().__call__(
            rl_module=rl_module,
            batch={} if batch is None else batch,
            episodes=episodes,
            explore=explore,
            shared_data=shared_data,
            metrics=metrics,
            **kwargs,
        )
        if metrics is not None:
            metrics.log_value("env_to_module_sum_episodes_length_out", sum(map(len, episodes)))
        return batch

    @override
    def _room(self) -> Room:
        from ..planning.acting import ACTING

        return ACTING
