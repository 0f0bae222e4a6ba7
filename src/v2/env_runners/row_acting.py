"""Acting on rows: what pipelines and a module do while nobody looks at running episodes.

Where all pieces of both pipelines are built-in ones, each pipeline is one run (`planning`), and a
run works on rows anyway. Here the rows come from the environments and go back to them as they are;
episodes get their steps afterwards (`step_block`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
from typing_extensions import Self

from ...core import nest
from ...core.columns import Columns
from ...core.types import Array, Nest
from ..connectors.columnar import ColumnarRun
from ..connectors.common.add_states import initial_state
from ..connectors.env_to_module.acting_run import ActingRun
from ..connectors.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ..connectors.module_to_env.listify_data_for_vector_env import ListifyDataForVectorEnv
from ..connectors.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline
from ..connectors.piece_plan import Call
from ..connectors.stateful_modules import is_multi, is_stateful
from ..connectors.table import Rows


class RowActing:
    """Acts by a module; each pipeline is one run."""

    def __init__(self, to_module: ActingRun, to_env: ColumnarRun, module: Any) -> None:
        self._to_module = to_module
        self._to_env = to_env
        self._module = module
        self._ids: list[Any] = []
        self._shared: dict[str, Any] = {}
        self._is_stateful = is_stateful(module)
        self._states: Nest | None = None
        self._call = Call(module, (), False, self._shared)

    @classmethod
    def of(cls, env_to_module: Any, module_to_env: Any, module: Any) -> Self | None:
        """The way to act with these pipelines; None where a piece has to be called by itself."""
        if type(env_to_module) is not EnvToModulePipeline or is_multi(module):
            return None
        if type(module_to_env) is not ModuleToEnvPipeline:
            return None
        to_module, to_env = env_to_module.only_run(), module_to_env.only_run()
        if not isinstance(to_module, ActingRun) or not is_listing(to_env):
            return None
        return cls(to_module, to_env, module) if to_module.is_usual else None

    def begin(self, ids: list[Any], shared_data: dict[str, Any]) -> None:
        """Go on with these episodes.

        Args:
            ids: Of the episodes. They stay the ids of the rows when other episodes begin.
            shared_data: What pieces share.
        """
        self._ids, self._shared = ids, shared_data
        shared_data["memorized_map_structure"] = ids
        self._call = Call(self._module, (), False, shared_data)
        self._call.owners, self._call.kinds = ids, {}

    def columns(self, outputs: dict[str, Any], explore: bool) -> dict[str, Nest] | None:
        """What module-to-env makes of a module's outputs, as arrays.

        Returns:
            With actions; None where the pieces have to be called one by one.
        """
        self._call.explore = explore
        table = self._to_env.rows(outputs, self._call)
        columns = None if table is None else table.blocks[None].columns
        if columns is None or type(columns.get(Columns.ACTIONS)) is not np.ndarray:
            return None
        if self._is_stateful:
            self._states = columns.get(Columns.STATE_OUT)
            if self._states is None:
                return None
        return columns

    def batch(self, observations: Array, begun: Sequence[int]) -> dict[str, Any] | None:
        """What env-to-module makes of observations.

        Args:
            observations: One of each environment.
            begun: Which of them are the first of an episode.

        Returns:
            None where the pieces have to be called one by one.
        """
        states = self._states
        if states is not None and begun:
            first = initial_state(self._module)
            states = nest.map_structure(lambda rows, own: _with(rows, begun, own), states, first)
        # A module may change its batch in place, so it gets rows of its own.
        rows = Rows(self._ids, {Columns.OBS: observations.copy()})
        return self._to_module.of_rows(self._module, rows, states, self._shared)


def is_listing(run: Any) -> TypeGuard[ColumnarRun]:
    """Whether it is a run of pieces whose last makes lists for a vector environment."""
    return isinstance(run, ColumnarRun) and type(run.pieces[-1]) is ListifyDataForVectorEnv


def _with(rows: Array, places: Sequence[int], item: Array) -> Array:
    """A copy of rows with some of them replaced."""
    rows = rows.copy()
    rows[places] = item
    return rows
