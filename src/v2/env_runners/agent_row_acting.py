"""Acting on rows of many agents: one gather, one forward and one draw for each module.

What `row_acting` is for one agent in each environment. Rows come from the environments' dicts and
go back to them; whose row is whose is kept as long as the same agents act.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, Final

from typing_extensions import Self

from ...core import nest
from ...core.columns import Columns
from ...core.types import Array, Nest
from ..connectors.columnar import ColumnarRun
from ..connectors.common.add_states import last_state
from ..connectors.common.numpy_to_tensor import tensors_of
from ..connectors.env_to_module.env_to_module_pipeline import ORDER
from ..connectors.item_rows import joined, with_time
from ..connectors.piece_plan import Call
from ..connectors.stateful_modules import is_multi, is_stateful, stateful_module
from ..connectors.table import NotColumnar
from ..envs.multi_agent_envs import AgentTransitions
from .agent_block import AgentBlock
from .agent_layout import AgentLayout, Crew, Slot
from .row_acting import listing_run
from .running_multi_agent import RunningMultiAgentEpisodes

_MANY: Final = 64
"""How many layouts are kept."""


class AgentRowActing:
    """Acts by several modules; all pieces of both pipelines are built-in ones.

    Attributes:
        block: The steps that were made.
        layout: Who acts next.
        seen: What they act on, by module.
    """

    block: AgentBlock
    layout: AgentLayout
    seen: dict[Any, Nest]

    def __init__(self, pieces: Sequence[Any], to_env: ColumnarRun, modules: Any) -> None:
        self._pieces = pieces
        self._to_env = to_env
        self._modules = modules
        self._shared: dict[str, Any] = {}
        self._known: dict[tuple[Crew, ...], AgentLayout] = {}
        self._crews: list[Crew] = []
        self._changed: Sequence[int] = ()
        self._ids: list[str] = []
        self._owned: dict[Any, list[Any]] = {}
        self._call = Call(modules, (), False, self._shared)
        self._is_stateful = is_stateful(modules)
        # The last states: of the rows of a layout, and of agents that did not act then.
        self._states: dict[Any, Nest] = {}
        self._owners: AgentLayout | None = None
        self._older: dict[tuple[Any, Slot], Nest] = {}

    @classmethod
    def of(cls, env_to_module: Any, module_to_env: Any, modules: Any) -> Self | None:
        """The way to act with these pipelines; None where a piece has to be called by itself."""
        to_env = listing_run(env_to_module, module_to_env)
        if to_env is None or not is_multi(modules):
            return None
        pieces: list[Any] = env_to_module.connectors
        if tuple(map(type, pieces)) != ORDER:
            return None
        add_observations, add_time, add_states, map_agents, _, to_tensors = pieces
        learns = (add_observations, add_time, add_states, map_agents)
        if any(each.as_learner_connector for each in learns) or to_tensors.check_finite:
            return None
        return cls(tuple(pieces), to_env, modules)

    def begin(
        self, running: RunningMultiAgentEpisodes, shared_data: dict[str, Any], *others: Any
    ) -> bool:
        """Go on with these episodes, whose next batch is made already.

        Returns:
            Whether that goes in rows.
        """
        self._running, self._shared = running, shared_data
        self._call = Call(self._modules, (), False, shared_data)
        self._call.is_multi, self._call.kinds = True, {}
        self._crews = [running.crew(index) for index in range(len(running.episodes))]
        self._ids = [episode.id_ for episode in running.episodes]
        try:
            self._look()
        except NotColumnar:
            return False
        self.block = AgentBlock(running)
        return True

    def columns(self, outputs: dict[str, Any], explore: bool) -> dict[Any, dict[str, Nest]] | None:
        """What module-to-env makes of the modules' outputs, as arrays by module.

        Returns:
            With actions; None where the pieces have to be called one by one.
        """
        if not self._owned:
            return {}
        if outputs.keys() != self._owned.keys():
            return None
        self._call.explore, self._call.owners = explore, self._owned
        table = self._to_env.rows(outputs, self._call)
        if table is None:
            return None
        columns = {module_id: rows.columns for module_id, rows in table.blocks.items()}
        if not all([Columns.ACTIONS in of_module for of_module in columns.values()]):
            return None
        if self._is_stateful and not self._remember(columns):
            return None
        return columns

    def split(self, columns: dict[Any, dict[str, Nest]]) -> tuple[Any, Any]:
        """Actions for the environments, and what is kept."""
        sent = {
            module_id: each.pop(Columns.ACTIONS_FOR_ENV, each[Columns.ACTIONS])
            for module_id, each in columns.items()
        }
        return self.layout.by_env(sent, self._running.seen), columns

    def add(
        self, kept: Mapping[Any, Mapping[str, Nest]], transitions: AgentTransitions
    ) -> tuple[int, int] | None:
        """Keep a step.

        Returns:
            How many steps that were, and how often agents observed; None, and nothing is changed,
            where it does not go with those before.
        """
        added = self.block.add(self.layout, self.seen, kept, transitions)
        if added is None:
            return None
        steps, agent_steps, self._changed = added
        return steps, agent_steps

    def renew(self) -> None:
        """Begin a new block, and see anew who acts: the steps so far were given to episodes."""
        self.block, self._changed = AgentBlock(self._running), range(len(self._crews))

    def batch(self) -> dict[Any, Any] | None:
        """What env-to-module makes of the last observations.

        Returns:
            None where the pieces have to be called one by one.
        """
        running, changed = self._running, self._changed
        try:
            if changed:
                begun = set()
                for index in changed:
                    self._crews[index] = running.crew(index)
                    id_ = running.episodes[index].id_
                    if id_ != self._ids[index]:
                        self._ids[index] = id_
                        begun.add(index)
                self._forget(begun)
                self._look()
            else:
                self.seen = self.layout.seen(running.seen)
            return self._made()
        except NotColumnar:
            return None

    def _look(self) -> None:
        """See who acts now, and what on."""
        crews = (*self._crews,)
        if crews not in self._known:
            if len(self._known) >= _MANY:
                self._known.clear()
            layout = AgentLayout(crews)
            if any(module_id not in self._modules for module_id in layout.slots):
                raise NotColumnar
            self._known[crews] = layout
        self.layout = self._known[crews]
        self._owned = {
            module_id: [(self._ids[index], agent) for index, agent in slots]
            for module_id, slots in self.layout.slots.items()
        }
        self.seen = self.layout.seen(self._running.seen)

    def _made(self) -> dict[Any, Any]:
        """The batch of all modules."""
        shared, to_tensors = self._shared, self._pieces[-1]
        device, pin_memory = to_tensors.device, to_tensors.pin_memory
        if self._is_stateful and self._owned:
            shared["_added_single_ts_time_rank"] = True
        shared["memorized_map_structure"] = self._owned
        batch = {}
        for module_id, rows in self.seen.items():
            # A module may change its batch in place, so it gets rows of its own.
            inputs = {Columns.OBS: nest.mapped(_copied, rows)}
            if self._is_stateful and stateful_module(self._modules, module_id) is not None:
                inputs[Columns.OBS] = nest.mapped(with_time, inputs[Columns.OBS])
                inputs[Columns.STATE_IN] = self._states_of(module_id)
            batch[module_id] = {
                name: tensors_of(name, value, device, pin_memory) for name, value in inputs.items()
            }
        return batch

    # States

    def _remember(self, columns: Mapping[Any, Mapping[str, Nest]]) -> bool:
        """Keep the states that modules gave; false where a stateful module gave none."""
        states = {}
        for module_id, of_module in columns.items():
            if stateful_module(self._modules, module_id) is not None:
                if Columns.STATE_OUT not in of_module:
                    return False
                states[module_id] = of_module[Columns.STATE_OUT]
        if self._owners is not self.layout:
            self._settle()
        self._states, self._owners = states, self.layout
        return True

    def _forget(self, begun: Collection[int]) -> None:
        """Have agents of new episodes begin with their initial states."""
        if begun and self._is_stateful:
            self._settle()
            older = {key: state for key, state in self._older.items() if key[1][0] not in begun}
            self._older = older

    def _settle(self) -> None:
        """Keep the states of all rows agent by agent."""
        if self._owners is not None:
            for module_id, rows in self._states.items():
                for row, slot in enumerate(self._owners.slots[module_id]):
                    self._older[module_id, slot] = nest.taken(rows, row)
        self._states, self._owners = {}, None

    def _states_of(self, module_id: Any) -> Nest:
        if self._owners is self.layout:
            return nest.mapped(_copied, self._states[module_id])
        self._settle()
        module = stateful_module(self._modules, module_id)
        states = []
        for index, agent in self.layout.slots[module_id]:
            state = self._older.get((module_id, (index, agent)))
            states.append(
                _own_state(self._running, index, agent, module) if state is None else state
            )
        return joined(states)


def _copied(rows: Array) -> Array:
    copied_rows: Array = rows.copy()
    return copied_rows


def _own_state(
    running: RunningMultiAgentEpisodes, index: int, agent: Hashable, module: Any
) -> Nest:
    """The state that the episode of an agent holds."""
    episode = running.episodes[index]
    episode.hand_out()
    return last_state(episode.singles[agent], module)
