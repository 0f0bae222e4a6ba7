"""The pipeline from a module's outputs to actions."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from ..piece_plan import Room
from ..pipeline import ConnectorPipelineV2


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
        episodes: list[Any],
        explore: bool | None = None,
        shared_data: dict[str, Any] | None = None,
        metrics: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run all pieces, from an empty batch if none is given."""
        if batch is None:
            batch = {}
        if shared_data is None:
            shared_data = {}
        given = (rl_module, batch, episodes, explore, shared_data)
        return self._run_steps(given, metrics, kwargs)

    @override
    def _room(self) -> Room:
        from ..planning.answering import ANSWERING

        return ANSWERING
