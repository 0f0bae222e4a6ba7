"""The pipeline from a module's outputs to actions."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from ....core.spaces.text import short_space
from ..columnar import is_columnar
from ..piece_plan import Room
from ..pipeline import ConnectorPipelineV2
from .answering_run import answering_run


class ModuleToEnvPipeline(ConnectorPipelineV2):
    """Leads from the outputs of a module to the actions of an environment's next step.

    Example:
        >>> ModuleToEnvPipeline()(rl_module=None, episodes=[], explore=False)
        {}
    """

    @override
    def _room(self) -> Room:
        return Room(is_columnar, answering_run)

    @override
    def _left_by(self, piece: Any) -> str:
        return short_space(getattr(piece, "action_space", None) or "")
