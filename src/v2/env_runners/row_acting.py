"""Acting on rows: what pipelines and a module do while nobody looks at running episodes.

Where all pieces of both pipelines are built-in ones, each pipeline is one run (`planning`), and a
run works on rows anyway. Here the rows come from the environments and go back to them as they are;
episodes get their steps afterwards (`step_block`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from typing_extensions import Self, override

from ...core import nest
from ...core.columns import Columns
from ...core.types import Nest
from ..connectors.columnar import ColumnarRun
from ..connectors.common.add_states import initial_state
from ..connectors.env_to_module.acting_run import ActingRun
from ..connectors.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ..connectors.module_to_env.listify_data_for_vector_env import ListifyDataForVectorEnv
from ..connectors.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline
from ..connectors.piece_plan import Call
from ..connectors.stateful_modules import is_multi, is_stateful
from ..connectors.table import NotColumnar, Rows
from ..envs.vector_stepper import Transitions
from .agent_layout import alike_rows
from .random_actions import RandomActions
from .running_episodes import RunningEpisodes
from .step_block import StepBlock

ALL_TOGETHER: Final = (None,)
"""All environments together: their actions are drawn as one."""


class RowActing:
    """Acts by a module on rows, and keeps the steps; each pipeline is one run.

    Args:
        to_module: The run of env-to-module.
        to_env: That of module-to-env.
        module: The module.
        taken_apart: Splits columns into actions, actions for the environments, and the others.

    Attributes:
        block: The steps since `begin`.
    """

    def __init__(
        self, to_module: Any, to_env: Any, module: Any, taken_apart: Callable[[Any], Any]
    ) -> None:
        self._to_module, self._to_env, self._module = to_module, to_env, module
        self._taken_apart = taken_apart
        self._is_stateful = module is not None and is_stateful(module)
        self._states: Nest | None = None

    @classmethod
    def of(
        cls, env_to_module: Any, module_to_env: Any, module: Any, taken_apart: Callable[[Any], Any]
    ) -> Self | None:
        """The way to act with these pipelines; None where a piece has to be called by itself."""
        to_env = listing_run(env_to_module, module_to_env)
        to_module = None if to_env is None or is_multi(module) else env_to_module.only_run()
        if not isinstance(to_module, ActingRun):
            return None
        return cls(to_module, to_env, module, taken_apart) if to_module.is_usual else None

    def begin(
        self, running: RunningEpisodes, shared_data: dict[str, Any], seen: Any, may_end: int | None
    ) -> bool:
        """Go on with these episodes, whose next batch is made already.

        Args:
            running: The episodes. Rows keep the ids of today's when others begin.
            shared_data: What pieces share.
            seen: The last observation of each environment.
            may_end: How many episodes may end; None for any number.

        Returns:
            Whether that goes in rows.
        """
        try:
            self._last = _rows_of(seen)
        except NotColumnar:
            return False
        self.block, self._may_end = StepBlock(self._last, running.pending), may_end
        self._ids, self._shared = running.ids, shared_data
        shared_data["memorized_map_structure"] = self._ids
        self._call = Call(self._module, (), False, shared_data)
        self._call.owners, self._call.kinds = self._ids, {}
        return True

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
        return columns  # type: ignore[no-any-return]  # of a run, which nobody imports here

    def split(self, columns: dict[str, Nest]) -> tuple[Any, Any]:
        """Actions for the environments, and what is kept."""
        actions, for_env, others = self._taken_apart(columns)
        return for_env, (actions, others)

    def add(self, kept: tuple[Any, Any], transitions: Transitions) -> tuple[int, int] | None:
        """Keep a step; gives how many steps that were, or None where it goes by itself."""
        actions, columns = kept
        if transitions.failed or transitions.finals or not self.block.takes(actions, columns):
            return None
        try:
            self._last = _rows_of(transitions.observations)
        except NotColumnar:
            return None
        steps = self.block.add(self._last, transitions, actions, columns, self._may_end)
        return steps, steps

    def batch(self) -> dict[str, Any] | None:
        """What env-to-module makes of the last observations.

        Returns:
            None where the pieces have to be called one by one.
        """
        states, begun = self._states, self.block.begun
        if states is not None and begun:
            states = _with(states, begun, initial_state(self._module))
        # A module may change its batch in place, so it gets rows of its own.
        rows = Rows(self._ids, {Columns.OBS: nest.mapped(np.ndarray.copy, self._last)})
        return self._to_module.of_rows(self._module, rows, states, self._shared)  # type: ignore[no-any-return]


class RandomRows(RowActing):
    """Acts at random, and keeps the steps."""

    def __init__(self, draw: RandomActions) -> None:
        super().__init__(None, None, None, lambda actions: (actions, actions, {}))
        self._draw = draw

    @override
    def columns(self, outputs: dict[str, Any], explore: bool) -> Any:
        return self._draw(ALL_TOGETHER)[None]

    @override
    def batch(self) -> dict[str, Any]:
        return {}


def listing_run(env_to_module: Any, module_to_env: Any) -> ColumnarRun | None:
    """The run of module-to-env, whose last piece makes lists for a vector environment.

    None where a pipeline is of a user's class, or a piece has to be called by itself.
    """
    if type(env_to_module) is not EnvToModulePipeline:
        return None
    run = module_to_env.only_run() if type(module_to_env) is ModuleToEnvPipeline else None
    if not isinstance(run, ColumnarRun):
        return None
    return run if type(run.pieces[-1]) is ListifyDataForVectorEnv else None


def _rows_of(observations: Any) -> Nest:
    """The last observation of each environment as rows.

    Raises:
        NotColumnar: They are not all built alike.
    """
    return observations if type(observations) is np.ndarray else alike_rows(observations)


def _with(rows: Nest, places: Sequence[int], item: Nest) -> Nest:
    """A copy of rows with some of them replaced."""
    if type(rows) is dict:
        return {key: _with(part, places, item[key]) for key, part in rows.items()}
    if type(rows) is not np.ndarray:
        return nest.map_structure(lambda part, own: _with(part, places, own), rows, item)
    rows = rows.copy()
    rows[places] = item
    return rows
