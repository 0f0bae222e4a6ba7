"""Sampling with all env runners until there is enough to learn from."""

from __future__ import annotations

from typing import Any

from .env_runner_group import EnvRunnerGroup


def synchronous_parallel_sample(
    *,
    worker_set: EnvRunnerGroup,
    max_agent_steps: int | None = None,
    max_env_steps: int | None = None,
    concat: bool = True,
    sample_timeout_s: float | None = None,
    random_actions: bool = False,
    _uses_new_env_runners: bool = True,
    _return_metrics: bool = False,
) -> Any:
    """Let all runners sample, again and again until there are enough steps.

    Args:
        worker_set: The runners.
        max_agent_steps: Enough, in steps of agents.
        max_env_steps: Enough, in steps of environments; without either, once is enough.
        concat: Whether episodes come in one list instead of one for each runner's sample.
        sample_timeout_s: How long remote runners may take.
        random_actions: Whether actions are drawn from the action spaces.
        _uses_new_env_runners: Kept for RLlib's sake; there are no others.
        _return_metrics: Whether to give the runners' metrics, too; else they stay with a runner
            of this process.

    Returns:
        Episodes; with metrics, a pair of episodes and a list of metrics.
    """
    by_agent = max_agent_steps is not None
    enough = (max_agent_steps if by_agent else max_env_steps) or 0
    given = {"random_actions": True} if random_actions else {}
    lists: list[list[Any]] = []
    metrics: list[Any] = []
    states: list[Any] = []
    steps = 0
    while True:
        samples = worker_set.sample(
            timeout_s=sample_timeout_s, has_metrics=_return_metrics, **given
        )
        for sample in samples:
            lists.append(sample.episodes)
            metrics.append(sample.metrics)
            states.append(sample.connector_state)
            steps += sum(
                each.agent_steps() if by_agent else each.env_steps() for each in sample.episodes
            )
        # Where nothing came, all are lost or late: the caller goes on with what there is.
        worker_set.sync_env_runner_states(connector_states=states)
        states = []
        if steps >= enough or not samples:
            break
    episodes = [episode for each in lists for episode in each] if concat else lists
    return (episodes, metrics) if _return_metrics else episodes
