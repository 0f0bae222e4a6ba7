"""The pipeline from a module's outputs to actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from ..pipeline import ConnectorPipelineV2
from ..planning.plan import Room


class ModuleToEnvPipeline(ConnectorPipelineV2):
    """Leads from the outputs of a module to the actions of an environment's next step.

    Example:
        >>> ModuleToEnvPipeline()(rl_module=None, episodes=[], explore=False)
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
        return super().__call__(
            rl_module=rl_module,
            batch={} if batch is None else batch,
            episodes=episodes,
            explore=explore,
            shared_data=shared_data,
            metrics=metrics,
            **kwargs,
        )

    @override
    def _room(self) -> Room:
        from ..planning.answering import ANSWERING

        return ANSWERING
