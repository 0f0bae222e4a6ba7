"""The pipeline from a module's outputs to actions."""

from __future__ import annotations

from typing_extensions import override

from ..columnar import is_columnar, joined_run
from ..piece_plan import Room
from ..pipeline import RunnerPipeline


class ModuleToEnvPipeline(RunnerPipeline):
    """Leads from the outputs of a module to the actions of an environment's next step.

    Example:
        >>> ModuleToEnvPipeline()(rl_module=None, episodes=[], explore=False)
        {}
    """

    @override
    def _room(self) -> Room:
        return Room(is_columnar, joined_run)
