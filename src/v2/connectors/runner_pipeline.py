"""What the two pipelines of a runner have in common: they begin with an empty batch."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from .pipeline import ConnectorPipelineV2


class RunnerPipeline(ConnectorPipelineV2):
    """A pipeline between the running episodes of an environment and a module."""

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
        return self._run_steps((rl_module, batch, episodes, explore, shared_data), metrics, kwargs)
