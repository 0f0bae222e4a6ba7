"""Sampling in rows: what a runner of many agents does while nobody looks at running episodes."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Final

from ...core.columns import Columns
from ...core.types import Nest
from ..envs.multi_agent_envs import AgentTransitions, copied
from ..episodes.multi_agent import MultiAgentEpisode
from .agent_answers import ByEnv, taken_apart
from .agent_block import AgentBlock
from .agent_filling import fill
from .agent_layout import AgentLayout
from .agent_row_acting import AgentRowActing
from .running_multi_agent import RunningMultiAgentEpisodes
from .sample_size import SampleSize
from .vector_runner import VectorEnvRunner


class AgentRowSampling(VectorEnvRunner):
    """A runner that acts on rows and collects steps in blocks.

    Steps in which agents come, leave, wait or are late are recorded by themselves; so are those
    in which an environment fails.
    """

    running: RunningMultiAgentEpisodes
    _in_envs: list[float]

    @abc.abstractmethod
    def _record(
        self, transitions: AgentTransitions, actions: ByEnv, outputs: Any
    ) -> tuple[int, int, list[MultiAgentEpisode]]:
        """Add a step of all environments to their episodes."""

    def _row_acting(self) -> AgentRowActing | None:
        """The way to act on rows, if nobody sees episodes before they are returned, as arrays."""
        is_watched = any(map(self._hooks.of, _WATCHING)) or self.teaching is not None
        if not self.config.episodes_to_numpy or is_watched:
            return None
        return AgentRowActing.of(self._env_to_module, self._module_to_env, self.module)

    def _advance(self, actions: ByEnv, *, copies: bool = True) -> AgentTransitions:
        """Step the environments; those that wait for an episode are reset."""
        before = perf_counter()
        waiting = zip(actions, self.running.pending, strict=True)
        transitions: AgentTransitions = self.stepper.advance(
            [None if waits else action for action, waits in waiting], copies=copies
        )
        self._in_envs.append(perf_counter() - before)
        if self.teaching is not None:
            self.teaching.follow_agents(transitions, self.running.pending)
        return transitions

    def _sample_rows(
        self, rows: AgentRowActing, size: SampleSize, explore: bool, steps: int, counted: int
    ) -> tuple[int, int, dict[str, Any] | None]:
        """Step until it is enough, or until a step has to be made by pieces one by one.

        Args:
            rows: The way to act, from the batch at hand.
            size: How much to sample.
            explore: Whether modules explore.
            steps: How many steps were made.
            counted: How much of the size that is.

        Returns:
            How many steps were made now and how much that is; and outputs of the modules that
            pieces are to take one by one.
        """
        running, lifetime = self.running, self.num_env_steps_sampled_lifetime
        counts_agents = self.config.count_steps_by == "agent_steps"
        block, outputs, is_acting, is_final = AgentBlock(running), None, False, True
        forward = self.module.steady_pass(explore)
        try:
            while size.wants_more(counted, self._num_ended + block.num_ended):
                is_acting = True
                batch, layout, observations = self._cached_to_module, rows.layout, rows.seen
                outputs = self._forward(batch, explore, lifetime + steps, forward) if batch else {}
                columns = rows.columns(outputs, explore)
                if columns is None:
                    is_final = False
                    break
                is_acting = False
                actions = {module_of: each[Columns.ACTIONS] for module_of, each in columns.items()}
                sent = {
                    module_of: each.pop(Columns.ACTIONS_FOR_ENV, actions[module_of])
                    for module_of, each in columns.items()
                }
                transitions = self._advance(layout.by_env(sent, running.seen), copies=False)
                added = block.add(layout, observations, columns, transitions)
                if added is None and len(block):  # It may go into a block of its own.
                    # The environments may have written over what they returned before.
                    self._hand_out(
                        block, layout.by_env(observations, layout.agents), is_final=False
                    )
                    block = AgentBlock(running)
                    added = block.add(layout, observations, columns, transitions)
                if added is None:
                    added = self._record_listed(layout, columns, transitions)
                    block = AgentBlock(running)
                new_steps, new_agent_steps, changed = added
                steps += new_steps
                counted += new_agent_steps if counts_agents else new_steps
                outputs = None
                self._cached_to_module = rows.batch(running, changed)
                if self._cached_to_module is None:
                    is_final = False
                    break
        except Exception as error:
            self._hand_out(block, running.seen, is_final=False)
            if is_acting:
                running.explain(error)
            raise
        self._hand_out(block, [*map(copied, running.seen)], is_final=is_final)
        if self._cached_to_module is None:
            self._cached_to_module = self._to_module(running.episodes, explore)
        return steps, counted, None if is_final else outputs

    def _record_listed(
        self,
        layout: AgentLayout,
        columns: Mapping[Any, Mapping[str, Nest]],
        transitions: AgentTransitions,
    ) -> tuple[int, int, Sequence[int]]:
        """Record a step by itself; what is returned is what `AgentBlock.add` returns."""
        transitions = transitions._replace(observations=[*map(copied, transitions.observations)])
        listed = layout.listed(columns)
        listed.setdefault(Columns.ACTIONS, [{} for _ in layout.agents])
        actions, _, outputs = taken_apart(listed, self.running.to_act, self._weights_seq_no)
        steps, agent_steps, _ = self._record(transitions, actions, outputs)
        return steps, agent_steps, range(self.num_envs)

    def _hand_out(self, block: AgentBlock, last: ByEnv, *, is_final: bool) -> None:
        """Give the steps of a block to episodes, and close those that ended.

        Args:
            block: The steps.
            last: The observations after them.
            is_final: Whether that is all for now.
        """
        if not len(block):
            return
        running, columns = self.running, block.columns()
        for stretch in block.stretches(last):
            ending = stretch.ending
            episode = running.episodes[stretch.env] if ending is None else ending.episode
            is_last = (is_final or ending is not None) and not self._is_mixed
            is_alike = fill(episode, stretch, columns, self._weights_seq_no, is_final=is_last)
            if ending is None:
                running.to_act[stretch.env] = (*stretch.last,)
            else:
                if not is_alike:
                    self._to_module([episode], explore=False)  # Pieces say what is wrong with it.
                self._num_ended += 1
                self._counts.add_ended(running.close(episode, ending.sums))


_WATCHING: Final = (
    "on_episode_created",
    "on_episode_start",
    "on_episode_step",
    "on_episode_end",
)
"""Hooks that see running episodes."""
