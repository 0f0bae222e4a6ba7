"""Reading and writing the steps of a multi-agent episode, by environment or by agent steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from operator import attrgetter
from typing import Any

from ...core.types import Nest
from .agent_reading import AgentReading
from .errors import EpisodeKeyError
from .indexing import Indices
from .lookback_buffer import InfiniteLookbackBuffer
from .single_agent import SingleAgentEpisode


class AgentAccess(AgentReading):
    """The getters and setters of `MultiAgentEpisode`."""

    __slots__ = ()

    def get_observations(
        self,
        indices: Indices = None,
        agent_ids: Collection[Hashable] | Hashable | None = None,
        *,
        env_steps: bool = True,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
        one_hot_discrete: bool = False,
        return_list: bool = False,
    ) -> Nest:
        """Observations at some steps, by agent.

        Args:
            indices: One step, a list of steps, a slice, or None for all of the episode.
            agent_ids: One agent or several; all by default.
            env_steps: Whether the steps are those of the environment instead of each agent's own.
            neg_index_as_lookback: Whether -1 is the last step of look-back instead of the last one.
            fill: Stands for steps at which an agent has nothing; without it they are left out.
            one_hot_discrete: Whether Discrete and MultiDiscrete parts come as one-hot vectors.
            return_list: Whether to return a list with one dict for each environment step.

        Returns:
            A dict of agents that have anything at these steps: one item, or many as a list (or as
            arrays once the episode is numpy). With `return_list` a list of dicts of items.

        Raises:
            EpisodeIndexError: A single step does not exist and there is no `fill`.
            EpisodeKeyError: There is no such agent.
        """
        is_last = type(indices) is int and indices == -1 and env_steps and not return_list
        if is_last and agent_ids is None and not (neg_index_as_lookback or one_hot_discrete):
            row = self.last_row() if fill is None else None
            if row is not None:
                return row
        return self._get(
            "observations",
            indices,
            agent_ids,
            env_steps,
            neg_index_as_lookback,
            fill,
            one_hot_discrete,
            return_list,
        )

    def get_infos(
        self,
        indices: Indices = None,
        agent_ids: Collection[Hashable] | Hashable | None = None,
        *,
        env_steps: bool = True,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
        return_list: bool = False,
    ) -> Nest:
        """Infos at some steps, by agent; one with each observation."""
        return self._get(
            "infos", indices, agent_ids, env_steps, neg_index_as_lookback, fill, False, return_list
        )

    def get_actions(
        self,
        indices: Indices = None,
        agent_ids: Collection[Hashable] | Hashable | None = None,
        *,
        env_steps: bool = True,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
        one_hot_discrete: bool = False,
        return_list: bool = False,
    ) -> Nest:
        """Actions at some steps, by agent; those that hang are among them."""
        return self._get(
            "actions",
            indices,
            agent_ids,
            env_steps,
            neg_index_as_lookback,
            fill,
            one_hot_discrete,
            return_list,
        )

    def get_rewards(
        self,
        indices: Indices = None,
        agent_ids: Collection[Hashable] | Hashable | None = None,
        *,
        env_steps: bool = True,
        neg_index_as_lookback: bool = False,
        fill: float | None = None,
        return_list: bool = False,
    ) -> Nest:
        """Rewards at some steps, by agent; those that add up for an action that hangs too."""
        return self._get(
            "rewards",
            indices,
            agent_ids,
            env_steps,
            neg_index_as_lookback,
            fill,
            False,
            return_list,
        )

    def get_extra_model_outputs(
        self,
        key: str | None = None,
        indices: Indices = None,
        agent_ids: Collection[Hashable] | Hashable | None = None,
        *,
        env_steps: bool = True,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
        return_list: bool = False,
    ) -> Nest:
        """One of the modules' outputs besides actions, by agent; without a key all, by key.

        Raises:
            EpisodeKeyError: No agent has such an output.
        """
        self.hand_out()
        known: dict[str, None] = {}
        for agent, episode in self.singles.items():
            known |= dict.fromkeys(episode.extra_model_outputs)
            known |= dict.fromkeys(self.hanging.outputs.get(agent) or ())
        if key is not None:
            if key not in known:
                raise EpisodeKeyError(
                    f"episode {self.id_} has no extra model output {key!r}",
                    expected=f"one of {sorted(map(str, known))}",
                    hint="modules write outputs by returning them from their forward methods.",
                )
            return self._get(
                "extra_model_outputs",
                indices,
                agent_ids,
                env_steps,
                neg_index_as_lookback,
                fill,
                False,
                return_list,
                key,
            )
        by_agent: dict[Hashable, dict[str, Any]] = {}
        by_step: list[dict[Hashable, dict[str, Any]]] = []
        for name in known:
            found = self._get(
                "extra_model_outputs",
                indices,
                agent_ids,
                env_steps,
                neg_index_as_lookback,
                fill,
                False,
                return_list,
                name,
            )
            for step, row in enumerate(found if return_list else [found]):
                if return_list and len(by_step) == step:
                    by_step.append({})
                target = by_step[step] if return_list else by_agent
                for agent, value in row.items():
                    target.setdefault(agent, {})[name] = value
        return by_step if return_list else by_agent

    # Writing

    def set_observations(
        self,
        *,
        new_data: Mapping[Hashable, Any],
        at_indices: Indices = None,
        neg_index_as_lookback: bool = False,
    ) -> None:
        """Overwrite observations.

        Args:
            new_data: For each agent one observation for one step, or many for many.
            at_indices: Steps of each agent's own: one, a list, a slice, or None for all.
            neg_index_as_lookback: Whether -1 is the last step of look-back instead of the last one.

        Raises:
            EpisodeKeyError: There is no such agent.
            EpisodeIndexError: A step does not exist, or the sizes differ.
        """
        self._set(attrgetter("observations"), new_data, at_indices, neg_index_as_lookback)

    def set_actions(
        self,
        *,
        new_data: Mapping[Hashable, Any],
        at_indices: Indices = None,
        neg_index_as_lookback: bool = False,
    ) -> None:
        """Overwrite complete actions, at steps of each agent's own."""
        self._set(attrgetter("actions"), new_data, at_indices, neg_index_as_lookback)

    def set_rewards(
        self,
        *,
        new_data: Mapping[Hashable, Any],
        at_indices: Indices = None,
        neg_index_as_lookback: bool = False,
    ) -> None:
        """Overwrite complete rewards, at steps of each agent's own."""
        self._set(attrgetter("rewards"), new_data, at_indices, neg_index_as_lookback)

    def set_extra_model_outputs(
        self,
        *,
        key: str,
        new_data: Mapping[Hashable, Any],
        at_indices: Indices = None,
        neg_index_as_lookback: bool = False,
    ) -> None:
        """Overwrite one of the modules' outputs, at steps of each agent's own."""
        self._set(lambda single: single.output(key), new_data, at_indices, neg_index_as_lookback)

    def _set(
        self,
        column_of: Callable[[SingleAgentEpisode], InfiniteLookbackBuffer],
        new_data: Mapping[Hashable, Any],
        at_indices: Indices,
        neg: bool,
    ) -> None:
        self.hand_out()
        columns = [column_of(self.singles[agent]) for agent in new_data if self._knows(agent)]
        for column, data in zip(columns, new_data.values(), strict=True):
            column.set(data, at_indices=at_indices, neg_index_as_lookback=neg)
