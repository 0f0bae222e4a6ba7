"""Steps in which all agents act and observe, written down as they come.

Most multi-agent environments step all their agents at once. Handing each step to each agent's
episode at once costs several list appends for each agent and step; here a step is one row, and many
rows are handed out in one go, column by column, when somebody looks at an agent's episode.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, TypeAlias

from typing_extensions import Self

from .single_agent import SingleAgentEpisode
from .stepping import begin_outputs

Groups: TypeAlias = list[tuple[Any, list[tuple[Any, Hashable]], Callable[[Any], Sequence[Any]]]]
"""By module: its id, the ids of episode and agent of each row, what picks the rows of a step."""

_NONE: Final[Mapping[Any, Any]] = {}


class Journal:
    """Rows of steps of agents that all step together.

    Args:
        agents: The agents, in the order they appeared.

    Attributes:
        agents: Nobody else acts, and none of them is done.
        rows: Observations, actions, rewards and infos by agent; outputs of each agent.
        thrice: The agents of the observations, actions and rewards of a step that belongs here.
    """

    __slots__ = ("_groups", "_keys", "_outputs_of", "agents", "rows", "thrice")

    def __init__(self, agents: list[Hashable]) -> None:
        self.agents = agents
        self._groups: Groups | None = None
        self.thrice = agents * 3
        # What the steps must have as extra model outputs, the same for all agents; None means that
        # no step was made yet.
        self._keys: tuple[str, ...] | None = None
        self._outputs_of: Callable[[Any], Any] = tuple
        self.rows: list[tuple[Any, ...]] = []

    @classmethod
    def of(
        cls, agents: Mapping[Hashable, SingleAgentEpisode], stepped: Sequence[Hashable]
    ) -> Self | None:
        """A journal for the agents of the last step, if they are all that are not done."""
        alive = [agent for agent, single in agents.items() if not single.is_done]
        if not alive or alive != list(stepped):
            return None
        singles = [agents[agent] for agent in alive]
        if not all(map(_is_listed, singles)):
            return None
        journal = cls(alive)
        begun = [bool(single.rewards.raw) for single in singles]
        if any(begun):
            keys = singles[0].extra_model_outputs.keys()
            if not all(begun) or any(one.extra_model_outputs.keys() != keys for one in singles):
                return None
            journal._expect((*keys,))
        return journal

    def _expect(self, keys: tuple[str, ...]) -> None:
        self._keys = keys
        if keys:
            self._outputs_of = itemgetter(*keys)

    def takes(
        self,
        observations: Mapping[Hashable, Any],
        actions: Mapping[Hashable, Any],
        rewards: Mapping[Hashable, Any],
        infos: Mapping[Hashable, Any] | None,
        outputs: Mapping[Hashable, Any] | None,
    ) -> bool:
        """Write a step down; do nothing if its outputs are not those of the steps before.

        The caller has seen that the agents of observations, actions and rewards are `thrice`.
        """
        by_agent = None
        if outputs:
            agents = self.agents
            if [*outputs] != agents:
                return False
            each = outputs.values()
            keys = self._keys
            if keys is None:
                first = outputs[agents[0]] or ()
                if any(
                    (agent_outputs or {}).keys() != dict(first).keys() for agent_outputs in each
                ):
                    return False
                self._expect((*first,))
                keys = self._keys or ()
            if keys:
                try:
                    by_agent = [*map(self._outputs_of, each)]
                except (KeyError, TypeError):
                    return False
                # Missing outputs are seen at once. For more than there were before one agent is
                # looked at in each step, in turn: counting them all takes longer than the rest.
                if len(outputs[agents[len(self.rows) % len(agents)]]) != len(keys):
                    return False
            elif any(each):
                return False
        elif self._keys:
            return False
        else:
            self._keys = ()
        self.rows.append(
            ({**observations}, {**actions}, {**rewards}, infos and {**infos}, by_agent)
        )
        return True

    def groups(self, singles: Mapping[Hashable, SingleAgentEpisode]) -> Groups:
        """Which agents a module acts for; told once, as nobody gets hold of their episodes.

        Args:
            singles: The agents' episodes.
        """
        if self._groups is None:
            by_module: dict[Any, list[Hashable]] = {}
            for agent in self.agents:
                by_module.setdefault(singles[agent].module_id, []).append(agent)
            self._groups = [
                (
                    module_id,
                    [(singles[agent].multi_agent_episode_id, agent) for agent in agents],
                    picking(agents),
                )
                for module_id, agents in by_module.items()
            ]
        return self._groups

    def last_observations(self) -> dict[Hashable, Any]:
        """The observations of the last row, by agent."""
        last: dict[Hashable, Any] = self.rows[-1][0]
        return last.copy()

    def last_outputs(self, key: str) -> dict[Hashable, Any]:
        """One of the extra model outputs of the last row, by agent; empty if it has none."""
        keys, by_agent = self._keys or (), self.rows[-1][4]
        if key not in keys:
            return {}
        if len(keys) > 1:
            place = keys.index(key)
            by_agent = [agent_outputs[place] for agent_outputs in by_agent]
        return dict(zip(self.agents, by_agent, strict=True))

    def hand_out(
        self,
        agents: Mapping[Hashable, SingleAgentEpisode],
        env_ts: Mapping[Hashable, list[int]],
        env_t: int,
        time: float | None,
    ) -> None:
        """Give the rows to the agents' episodes and forget them.

        Args:
            agents: The episodes.
            env_ts: The environment steps of the agents' observations.
            env_t: The environment step of the last row.
            time: When it was made.
        """
        rows, self.rows = self.rows, []
        steps = range(env_t - len(rows) + 1, env_t + 1)
        keys = self._keys or ()
        observations, actions, rewards = (
            zip(*[row[part].values() for row in rows], strict=True) for part in range(3)
        )
        infos = [row[3] or _NONE for row in rows]
        outputs_by_agent = zip(*[row[4] for row in rows], strict=True) if keys else repeat(())
        for agent, observed, acted, earned, agent_outputs in zip(
            self.agents, observations, actions, rewards, outputs_by_agent, strict=False
        ):
            single = agents[agent]
            single.observations.raw.extend(observed)
            single.actions.raw.extend(acted)
            single.rewards.raw.extend(earned)
            single.infos.raw.extend(
                [{} if (info := each.get(agent)) is None else info for each in infos]
            )
            outputs = single.extra_model_outputs
            if len(outputs) != len(keys):
                begin_outputs(single, dict.fromkeys(keys), 0)
            if len(keys) == 1:
                outputs[keys[0]].raw.extend(agent_outputs)
            elif keys:
                for key, column in zip(keys, zip(*agent_outputs, strict=True), strict=True):
                    outputs[key].raw.extend(column)
            single.t += len(rows)
            single.last_step_time = time
            env_ts[agent].extend(steps)


def _is_listed(single: SingleAgentEpisode) -> bool:
    buffers = (single.observations, single.actions, single.rewards, single.infos)
    return all(
        type(buffer.raw) is list for buffer in (*buffers, *single.extra_model_outputs.values())
    )


def picking(keys: Sequence[Any]) -> Callable[[Any], Sequence[Any]]:
    """What takes the items of some agents from a dict, or those at some places from a list."""
    return itemgetter(*keys) if len(keys) > 1 else lambda items: [items[key] for key in keys]
