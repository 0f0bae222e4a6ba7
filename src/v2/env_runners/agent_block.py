"""Steps of a vector of multi-agent environments as rows of shared arrays.

What `step_block` is for one agent in each environment: while nobody looks at running episodes, the
steps in which all agents of an environment act, observe and earn together are kept as modules saw
and answered them; they become columns of the agents' episodes once for many steps.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ...core import nest
from ...core.columns import Columns
from ...core.types import Array, Nest
from ..envs.multi_agent_envs import ALL, AgentTransitions, copied
from ..episodes.env_step import NOBODY
from ..episodes.multi_agent import MultiAgentEpisode
from ..metrics.names import WEIGHTS_SEQ_NO
from .agent_layout import AgentLayout, Crew, Slot
from .filling import extend
from .running_multi_agent import AgentSums, RunningMultiAgentEpisodes


class Ending(NamedTuple):
    """How an episode ended in a block.

    Attributes:
        episode: The episode; steps of the block are still to be added.
        sums: What earlier calls returned of it.
        terminateds: By agent.
        truncateds: By agent.
    """

    episode: MultiAgentEpisode
    sums: AgentSums
    terminateds: Mapping[Hashable, Any]
    truncateds: Mapping[Hashable, Any]


class AgentStretch(NamedTuple):
    """The steps of one episode in a block: those from `start` up to `stop`.

    Attributes:
        env: The place of its environment.
        crew: Who acted in each of them.
        last: The observations after the last one, by agent.
        ending: None where the episode goes on.
    """

    env: int
    crew: Crew
    start: int
    stop: int
    last: Mapping[Hashable, Any]
    ending: Ending | None


class AgentBlock:
    """Collects steps of all environments.

    Args:
        running: The episodes, which are begun and replaced here, but get no steps.

    Attributes:
        num_ended: How many episodes ended.
    """

    def __init__(self, running: RunningMultiAgentEpisodes) -> None:
        self._running = running
        self._crews = [running.crew(index) for index in range(len(running.episodes))]
        self._is_open = all(map(self._is_together, range(len(self._crews))))
        self._layouts: list[AgentLayout] = []
        self._columns: list[dict[Any, dict[str, Nest]]] = []
        self._forms: dict[Any, dict[str, Any]] = {}
        self._last: Any = None
        self._rewards: list[list[Sequence[Any]]] = []
        self._infos: list[list[Mapping[Hashable, Any]]] = []
        self._times: list[float] = []
        self._starts = [0] * len(self._crews)
        self._over: list[AgentStretch] = []
        self.num_ended = 0

    def __len__(self) -> int:
        return len(self._times)

    def _is_together(self, index: int) -> bool:
        """Whether all agents of an environment that are not done are to act, and nothing hangs."""
        running = self._running
        if running.pending[index]:
            return True
        episode = running.episodes[index]
        alive = [agent for agent, single in episode.singles.items() if not single.is_done]
        acting = [agent for agent, _ in self._crews[index]]
        hanging = episode.hanging.actions or episode.hanging.rewards
        return bool(alive) and alive == acting and not hanging

    def add(
        self,
        layout: AgentLayout,
        observations: Mapping[Any, Nest],
        columns: Mapping[Any, Mapping[str, Nest]],
        transitions: AgentTransitions,
    ) -> tuple[int, int, Sequence[int]] | None:
        """Add a step of all environments.

        Args:
            layout: Who acted.
            observations: What they acted on, by module.
            columns: What was recorded of the modules' answers, actions among it.
            transitions: What the environments returned.

        Returns:
            How many steps that were, how often agents observed, and the environments where others
            are to act now. None, and nothing is changed, where a step has to be recorded by itself.
        """
        if transitions.failed or not self._is_open or any(self._running.gap_steps):
            return None
        together = self._together(layout, transitions)
        if together is None:
            return None
        rewards, ended = together
        kept_columns = {
            each: {Columns.OBS: rows, **columns[each]} for each, rows in observations.items()
        }
        if not self._fits(layout, kept_columns):
            return None
        running, pending = self._running, self._running.pending
        self._layouts.append(layout)
        self._columns.append(kept_columns)
        self._rewards.append(rewards)
        self._infos.append([infos and {**infos} for infos in transitions.infos])
        self._times.append(perf_counter())
        stop = len(self._times)
        begun = [index for index, waits in enumerate(pending) if waits]
        for index in ended:
            flags = {**transitions.terminateds[index]}, {**transitions.truncateds[index]}
            last = copied(transitions.observations[index])
            self._over.append(self._stretch(index, stop, last, flags))
            self._crews[index] = ()
        self.num_ended += len(ended)
        running.seen[:] = transitions.observations
        for index in begun:
            running.begin(index, transitions.observations[index], transitions.infos[index])
            self._crews[index] = running.crew(index)
            self._starts[index] = stop
            self._is_open = self._is_open and self._is_together(index)
        return len(pending) - len(begun), layout.count, [*ended, *begun]

    def _together(
        self, layout: AgentLayout, transitions: AgentTransitions
    ) -> tuple[list[Sequence[Any]], list[int]] | None:
        """The rewards of each environment, and which of them ended their episode.

        Returns:
            None where the agents of some environment do not go on, or end, together.
        """
        earned_rows: list[Sequence[Any]] = []
        ended = []
        each = zip(
            transitions.observations,
            transitions.rewards,
            transitions.terminateds,
            transitions.truncateds,
            layout.twice,
            self._running.pending,
            strict=True,
        )
        for index, (observed, earned, over, cut, twice, waits) in enumerate(each):
            if waits:
                earned_rows.append(())
                continue
            agents = layout.agents[index]
            if [*observed, *earned] != twice:
                if observed.keys() != {*agents} or earned.keys() != observed.keys():
                    return None
                earned = {agent: earned[agent] for agent in agents}
            if (over and over != NOBODY) or (cut and cut != NOBODY):
                if over.get(ALL) or cut.get(ALL):
                    ended.append(index)
                elif any(map(over.get, agents)) or any(map(cut.get, agents)):
                    return None  # Flags of others, who were done before, say nothing new.
            earned_rows.append([*earned.values()])
        return earned_rows, ended

    def _fits(self, layout: AgentLayout, columns: Mapping[Any, Mapping[str, Nest]]) -> bool:
        """Whether columns are those of the steps before, in this block and in the episodes."""
        known = [
            (column.dtype, column.shape) if type(column) is np.ndarray else _form(column)
            for of_module in columns.values()
            for column in of_module.values()
        ]
        names = [*map(list, columns.values())]
        if (layout, names, known) == self._last:  # the usual case
            return True
        forms = {
            module_id: {name: _form(column) for name, column in of_module.items()}
            for module_id, of_module in columns.items()
        }
        forms_before = self._forms
        if not forms_before and not self._continues(layout, columns):
            return False
        if any(
            forms_before.get(module_id, of_module) != of_module
            for module_id, of_module in forms.items()
        ):
            return False
        forms_before.update(forms)
        self._last = layout, names, known
        return True

    def _continues(self, layout: AgentLayout, columns: Mapping[Any, Mapping[str, Nest]]) -> bool:
        """Whether the outputs are those that the agents' episodes have already."""
        episodes = self._running.episodes
        for module_id, slots in layout.slots.items():
            names = {*columns[module_id], WEIGHTS_SEQ_NO} - {Columns.OBS, Columns.ACTIONS}
            for index, agent in slots:
                episode = episodes[index]
                episode.hand_out()
                single = episode.singles[agent]
                if single.rewards.raw and single.extra_model_outputs.keys() != names:
                    return False
        return True

    def _stretch(
        self, index: int, stop: int, last: Mapping[Hashable, Any], flags: Any = None
    ) -> AgentStretch:
        ending = None if flags is None else Ending(*self._running.replace(index), *flags)
        return AgentStretch(index, self._crews[index], self._starts[index], stop, last, ending)

    def stretches(self, last: Sequence[Mapping[Hashable, Any]]) -> list[AgentStretch]:
        """The stretches of episodes that ended, in order, and then of those that go on.

        Args:
            last: The observations after the last step, for each environment.
        """
        stop = len(self)
        return self._over + [
            self._stretch(index, stop, last[index])
            for index, crew in enumerate(self._crews)
            if crew and self._starts[index] < stop
        ]

    def columns(self) -> BlockOfAgents:
        """What was collected, as columns."""
        by_module: dict[Any, dict[str, Nest]] = {}
        rows: dict[Any, dict[Slot, int]] = {}
        for module_id, forms in self._forms.items():
            row_of = rows[module_id] = {}
            parts: list[tuple[int, int, Any]] = []  # First step, number of steps, rows.
            before = None
            times = [step for step, of_step in enumerate(self._columns) if module_id in of_step]
            for step in times:
                layout = self._layouts[step]
                if layout is before and parts[-1][0] + parts[-1][1] == step:
                    parts[-1] = (parts[-1][0], parts[-1][1] + 1, parts[-1][2])
                else:
                    slots = layout.slots[module_id]
                    parts.append(
                        (step, 1, [row_of.setdefault(slot, len(row_of)) for slot in slots])
                    )
                before = layout
            shape = len(row_of), len(self)
            kept_steps = [self._columns[step][module_id] for step in times]
            by_module[module_id] = {
                name: _by_slot([each[name] for each in kept_steps], parts, shape) for name in forms
            }
        return BlockOfAgents(by_module, rows, self._rewards, self._infos, self._times)


class BlockOfAgents(NamedTuple):
    """The columns of a block by module: for each agent its steps, one after the other.

    Attributes:
        columns: By module id; observations are those that were acted on.
        rows: The place in these columns by module id and slot.
        rewards: By step and environment, in the order of the crew.
        infos: By step and environment.
        times: When each step was made.
    """

    columns: dict[Any, dict[str, Nest]]
    rows: dict[Any, dict[Slot, int]]
    rewards: list[list[Sequence[Any]]]
    infos: list[list[Mapping[Hashable, Any]]]
    times: list[float]


def _by_slot(steps: Sequence[Nest], parts: Sequence[Any], shape: tuple[int, int]) -> Nest:
    """Columns of many steps put together: first by slot, then by step."""
    if type(steps[0]) is not np.ndarray:
        return nest.map_structure(lambda *leaves: _by_slot(leaves, parts, shape), *steps)
    first: Array = steps[0]
    rows_by_slot = np.empty((*shape, *first.shape[1:]), first.dtype)
    done = 0
    for start, count, rows in parts:
        stack = np.array(steps[done : done + count])
        rows_by_slot[rows, start : start + count] = stack.swapaxes(0, 1)
        done += count
    return rows_by_slot


def _form(column: Nest) -> Any:
    """What is the same in all steps of a column that make one array."""
    if type(column) is np.ndarray:
        return column.dtype, column.shape[1:]
    if type(column) is dict:
        return {key: _form(value) for key, value in column.items()}
    return nest.map_structure(_form, column)


def fill(
    episode: MultiAgentEpisode,
    stretch: AgentStretch,
    block: BlockOfAgents,
    weights_seq_no: int,
    *,
    is_final: bool,
) -> bool:
    """Add the steps of a stretch to its episode.

    Args:
        episode: Has the first observations.
        stretch: Which steps.
        block: Where they are.
        weights_seq_no: The number of the weights that gave them.
        is_final: Whether nobody adds steps any more, so that columns become arrays at once.

    Returns:
        Whether all observations are built alike.
    """
    episode.hand_out()
    steps = slice(stretch.start, stretch.stop)
    count = stretch.stop - stretch.start
    infos = [by_env[stretch.env] for by_env in block.infos[steps]]
    is_told = any(infos)
    rewards = zip(*[by_env[stretch.env] for by_env in block.rewards[steps]], strict=True)
    env_ts = range(episode.env_t + 1, episode.env_t + count + 1)
    time = block.times[stretch.stop - 1]
    is_alike = True
    for (agent, module_id), earned in zip(stretch.crew, rewards, strict=True):
        single = episode.singles[agent]
        row = block.rows[module_id][stretch.env, agent]
        columns = {
            name: nest.taken(by_env, (row, steps))
            for name, by_env in block.columns[module_id].items()
        }
        columns[WEIGHTS_SEQ_NO] = np.full(count, weights_seq_no)
        # The first observation is there already.
        after = nest.taken(columns[Columns.OBS], slice(1, None))
        is_alike &= extend(single, (after, [stretch.last[agent]]), columns, is_final)
        single.rewards.extend([*earned])
        agent_infos = (
            [by_env.get(agent) if by_env else None for by_env in infos]
            if is_told
            else [None] * count
        )
        single.infos.extend([{} if by_env is None else by_env for by_env in agent_infos])
        single.t += count
        single.last_step_time = time
        episode.env_ts[agent].extend(env_ts)
        if stretch.ending is not None:
            over, cut = stretch.ending.terminateds, stretch.ending.truncateds
            single.is_terminated = bool(over.get(ALL) or over.get(agent))
            single.is_truncated = bool(cut.get(ALL) or cut.get(agent))
    episode.stepped = tuple(agent for agent, _ in stretch.crew)
    episode.env_t += count
    episode.last_step_time = time
    if stretch.ending is not None:
        episode.is_terminated = bool(stretch.ending.terminateds.get(ALL))
        episode.is_truncated = bool(stretch.ending.truncateds.get(ALL))
    episode.open_journal()
    return is_alike
