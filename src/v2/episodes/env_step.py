"""One environment step of a multi-agent episode, agent by agent.

Who acted and observed completes a step; who acted without an observation hangs; rewards add up
until the next observation. Everything is checked before anything is changed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .errors import MultiAgentEnvError

if TYPE_CHECKING:
    from .agent_columns import AgentColumns
    from .single_agent import SingleAgentEpisode

ALL: Final = "__all__"
_NONE: Final[Mapping[Any, Any]] = {}
NOBODY: Final[Mapping[Any, Any]] = {ALL: False}
"""The flags most environments return: nobody is done."""

Flags: TypeAlias = tuple[Mapping[Hashable, Any], Mapping[Hashable, Any]]
"""Which agents are terminated and which are truncated."""

Completed: TypeAlias = tuple[Any, ...]
"""A step of one agent's own, which acted and now observed: its id, its episode, observation,
action, infos, outputs, terminated flag, truncated flag. A plain tuple, as one is made per agent."""


def sort_out(
    episode: AgentColumns,
    observations: Mapping[Hashable, Any],
    actions: Mapping[Hashable, Any],
    rewards: Mapping[Hashable, Any],
    infos: Mapping[Hashable, Any],
    outputs: Mapping[Hashable, Any],
    flags: Flags | None,
) -> tuple[list[Completed], list[Hashable], list[Hashable], list[tuple[Hashable, bool, bool]]]:
    """Decide what a step means for each agent, without changing the episode.

    Args:
        episode: The episode.
        observations: As for `add_env_step`, like the next four.
        actions: By agent.
        rewards: By agent.
        infos: By agent.
        outputs: By agent.
        flags: Who is terminated and who truncated; None if nobody is.

    Returns:
        The steps of their own that agents complete; agents whose action begins to wait for an
        observation; agents that observed for the first time; agents that are done without a step,
        with their flags.

    Raises:
        MultiAgentEnvError: The data contradicts itself or what was before.
    """
    completed: list[Completed] = []
    hanging: list[Hashable] = []
    arrived: list[Hashable] = []
    idle_ends: list[tuple[Hashable, bool, bool]] = []
    agents = episode.singles
    waiting, waiting_outputs = (
        episode.hanging.actions,
        episode.hanging.outputs,
    )
    terminated = truncated = False
    for agent, observation in observations.items():
        single = agents.get(agent)
        if flags:
            terminated, truncated = _flags_of(agent, *flags)
        if single is None:
            if agent in actions:
                raise _wrong(agent, "acted before its first observation")
            # Who comes and goes at once never can act: there is nothing to learn from it.
            if not (terminated or truncated):
                arrived.append(agent)
            continue
        if single.is_terminated or single.is_truncated:
            raise _after_the_end(agent)
        if agent in actions:
            if agent in waiting:
                raise _acted_twice(agent)
            if agent not in rewards and agent not in episode.hanging.rewards:
                raise _wrong(
                    agent,
                    "acted and observed, but got no reward",
                    "return a reward for each agent that acts and observes, 0.0 if need be.",
                )
            action, agent_outputs = actions[agent], outputs.get(agent) or _NONE
        elif agent in waiting:
            action, agent_outputs = waiting[agent], waiting_outputs.get(agent) or _NONE
        elif terminated or truncated:
            # As in RLlib: a last observation that no action led to belongs to no step.
            idle_ends.append((agent, terminated, truncated))
            continue
        else:
            raise _wrong(
                agent,
                "observed again without having acted",
                "an agent that observes must act before it can observe again.",
            )
        if agent_outputs or single.extra_model_outputs:
            _check_outputs(agent, single, agent_outputs)
        info = infos.get(agent)
        completed.append(
            (agent, single, observation, action, info, agent_outputs, terminated, truncated)
        )
    for agent, action in actions.items():
        if agent in observations:
            continue
        single = agents.get(agent)
        if single is None:
            raise _wrong(agent, "acted before its first observation")
        if single.is_terminated or single.is_truncated:
            raise _after_the_end(agent)
        if agent in waiting:
            raise _acted_twice(agent)
        agent_outputs = outputs.get(agent) or _NONE
        if agent_outputs or single.extra_model_outputs:
            _check_outputs(agent, single, agent_outputs)
        ended = flags and _ended(agent, single, action, infos, agent_outputs, *flags)
        if ended:
            completed.append(ended)
        else:
            hanging.append(agent)
    for agent in rewards:
        if agent not in observations and agent not in actions:
            single = agents.get(agent)
            if single is not None and (single.is_terminated or single.is_truncated):
                raise _after_the_end(agent)
    if flags:
        everybody = any(each.get(ALL) for each in flags)
        for agent in agents if everybody else {**flags[0], **flags[1]}:
            single = agents.get(agent)
            if single is None or single.is_done or agent in observations or agent in actions:
                continue
            if agent in waiting:
                agent_outputs = waiting_outputs.get(agent) or _NONE
                ended = _ended(agent, single, waiting[agent], infos, agent_outputs, *flags)
                if ended:
                    completed.append(ended)
            else:
                terminated, truncated = _flags_of(agent, *flags)
                if terminated or truncated:
                    idle_ends.append((agent, terminated, truncated))
    return completed, hanging, arrived, idle_ends


def _flags_of(
    agent: Hashable, terminateds: Mapping[Hashable, Any], truncateds: Mapping[Hashable, Any]
) -> tuple[bool, bool]:
    return (
        bool(terminateds.get(ALL) or terminateds.get(agent)),
        bool(truncateds.get(ALL) or truncateds.get(agent)),
    )


def _ended(
    agent: Hashable,
    single: SingleAgentEpisode,
    action: Any,
    infos: Mapping[Hashable, Any],
    outputs: Mapping[str, Any],
    terminateds: Mapping[Hashable, Any],
    truncateds: Mapping[Hashable, Any],
) -> Completed | None:
    """The last step of an agent that acted and is done: its last observation is repeated."""
    terminated, truncated = _flags_of(agent, terminateds, truncateds)
    if truncated:
        raise _wrong(
            agent,
            "acted and was truncated, but got no last observation",
            "return the observation at the truncation: its value is needed to bootstrap.",
        )
    if not terminated:
        return None
    info = infos[agent] if agent in infos else single.get_infos(-1)
    return agent, single, single.get_observations(-1), action, info, outputs, True, False


def _check_outputs(
    agent: Hashable, single: SingleAgentEpisode, agent_outputs: Mapping[str, Any]
) -> None:
    columns = single.extra_model_outputs
    if agent_outputs.keys() != columns.keys() and single.rewards.len_incl_lookback():
        raise _wrong(
            agent,
            f"has the extra model outputs {sorted(map(str, agent_outputs))} where it had "
            f"{sorted(map(str, columns))} before",
            "an output must be there from the agent's first step on.",
        )


def _wrong(agent: Hashable, what: str, hint: str = "") -> MultiAgentEnvError:
    return MultiAgentEnvError(f"Agent {agent} {what}", hint=hint, agent_id=agent)


def _acted_twice(agent: Hashable) -> MultiAgentEnvError:
    return _wrong(
        agent,
        "acted again before it observed what its last action did",
        "only agents in the last observations are to act: see get_agents_to_act().",
    )


def _after_the_end(agent: Hashable) -> MultiAgentEnvError:
    return _wrong(
        agent,
        "is done already, but there is more data for it",
        "do not return observations, actions or rewards for agents after their end.",
    )
