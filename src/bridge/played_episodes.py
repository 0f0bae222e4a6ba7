"""One episode in a live environment, by whatever answers observations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any


def play_alone(
    env: Any, obs: Any, act: Callable[[Any, Any], Any], after: Callable[..., Any] | None = None
) -> tuple[float, int, Any]:
    """Play an episode of one agent to its end.

    Args:
        env: Has been reset.
        obs: The first observation.
        act: Takes an observation and the last reward, None at first; gives an action.
        after: Told each action and what came of it, as `step()` gives it.

    Returns:
        The sum of rewards, the number of steps, and the last observation.
    """
    total, length, reward, is_over = 0.0, 0, None, False
    while not is_over:
        action = act(obs, reward)
        obs, reward, terminated, truncated, info = env.step(action)
        if after is not None:
            after(action, obs, reward, terminated, truncated, info)
        total, length = total + float(reward), length + 1
        is_over = terminated or truncated
    return total, length, obs


def play_together(
    env: Any,
    obs: Mapping[Hashable, Any],
    act: Callable[[Mapping[Hashable, Any], Mapping[Hashable, float] | None], Any],
    after: Callable[..., Any] | None = None,
) -> tuple[float, int, set[Hashable]]:
    """Play an episode of several agents to its end.

    Args:
        env: Its dicts are by agent; it has been reset.
        obs: The first observations.
        act: Takes the observations of who acts, and what each of them has earned since it acted
            last, None at first; gives their actions.
        after: Told the actions and what came of them, as `step()` gives it.

    Returns:
        The sum of all rewards, the number of steps, and who took part.
    """
    total, length, is_over = 0.0, 0, False
    waiting: dict[Hashable, float] = {}
    agents: set[Hashable] = set()
    while not is_over:
        earned = {agent: waiting.pop(agent, 0.0) for agent in obs} if agents else None
        agents |= set(obs)
        actions = act(obs, earned)
        obs, rewards, terminateds, truncateds, infos = env.step(actions)
        if after is not None:
            after(actions, obs, rewards, terminateds, truncateds, infos)
        for agent, reward in rewards.items():
            waiting[agent] = waiting.get(agent, 0.0) + float(reward)
        total, length = total + float(sum(rewards.values())), length + 1
        is_over = bool(terminateds.get("__all__") or truncateds.get("__all__"))
        ended = [agent for agent in obs if terminateds.get(agent) or truncateds.get(agent)]
        obs = {agent: observation for agent, observation in obs.items() if agent not in ended}
    return total, length, agents
