"""The pipeline from episodes to a forward batch."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from ..piece_plan import Room
from ..pipeline import ConnectorPipelineV2


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
        if metrics is None:
            return self._run_steps(given, None, kwargs)
        metrics.log_value("env_to_module_sum_episodes_length_in", sum(map(len, episodes)))
        made = self._run_steps(given, metrics, kwargs)
        metrics.log_value("env_to_module_sum_episodes_length_out", sum(map(len, episodes)))
        return made

    @override
    def _room(self) -> Room:
        from ..planning.acting import ACTING

        return ACTING
