"""The pipeline from episodes to a forward batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from ....core.spaces.text import short_space
from ..columnar import is_columnar
from ..piece_plan import Room
from ..pipeline import ConnectorPipelineV2
from .acting_run import acting_run


class EnvToModulePipeline(ConnectorPipelineV2):
    """Leads from the running episodes of an environment to a module's forward batch.

    Example:
        >>> EnvToModulePipeline()(rl_module=None, episodes=[], explore=False)
        {}
    """

    @override
    def _log_lengths(self, metrics: Any, episodes: Sequence[Any], end: str) -> None:
        metrics.log_value(f"env_to_module_sum_episodes_length_{end}", sum(map(len, episodes)))

    @override
    def _room(self) -> Room:
        return Room(is_columnar, acting_run)

    @override
    def _left_by(self, piece: Any) -> str:
        return short_space(getattr(piece, "observation_space", None) or "")
