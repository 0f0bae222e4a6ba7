"""Step policies through their connectors: one observation at a time, or thousands at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import nest
from ...core.errors import ConfigError, PieceError
from ..batches.step_rows import joined_batches
from ..connectors.connector import ARRAYS
from ..connectors.pipeline import ActionConnectorPipeline, AgentConnectorPipeline
from ..connectors.rows import Rows, answers_of
from ..connectors.types import ActionConnectorDataType, AgentConnectorDataType, PolicyOutputType
from .acting import Acting
from .endings import remembers
from .refusals import NUMBERS, Asked, no_numbers, told

if TYPE_CHECKING:
    from .policy import Policy

_COMPUTE = Acting.compute_actions_from_input_dict


def local_policy_inference(
    policy: Policy,
    env_id: Hashable,
    agent_id: Hashable,
    obs: Any,
    reward: float | None = None,
    terminated: bool | None = None,
    truncated: bool | None = None,
    info: Mapping[str, Any] | None = None,
    explore: bool | None = None,
    timestep: int | None = None,
) -> list[PolicyOutputType]:
    """Run one raw observation through a policy and all its connectors.

    Recurrent states, earlier actions and rewards are remembered per environment and agent until
    `policy.agent_connectors.reset(env_id)`.

    Args:
        policy: A policy with connectors.
        env_id: Which environment the observation is from.
        agent_id: Which agent in it.
        obs: The observation as the environment gave it.
        reward: What the last action earned; omitted on the first step of an episode.
        terminated: Whether the episode ended with that action.
        truncated: Whether the episode was truncated.
        info: The environment's info dict.
        explore: Whether to explore; None follows the policy's config.
        timestep: The global timestep for exploration schedules.

    Returns:
        One (actions, states, fetches) for each record the agent connectors let through; the
        actions are ready for the environment.

    Raises:
        ConfigError: The policy has no connectors.
    """
    policy = getattr(policy, "native", policy)
    agent_pipeline, plans = _pipelines(policy)
    columns: dict[str, Any] = {"new_obs": obs}
    if reward is not None:
        columns["rewards"] = reward
    if terminated is not None:
        columns["terminateds"] = terminated
    if truncated is not None:
        columns["truncateds"] = truncated
    if terminated is not None or truncated is not None:
        columns["dones"] = bool(terminated or truncated)  # the column of Ray 2.2 and older
    if info is not None:
        columns["infos"] = info
    sessions = getattr(agent_pipeline, "sessions", None)
    with policy.turn if sessions is None else agent_pipeline.turn:
        try:
            if sessions is not None and sessions.newest is not env_id:
                _use(policy, agent_pipeline, (env_id,))
            if policy.endings:
                policy.endings.check(policy, env_id, agent_id)
            if type(obs) is np.ndarray and obs.dtype.kind not in NUMBERS:
                raise no_numbers(obs)
            if plans is not None:
                agent_plan, action_plan = plans
                for change in agent_plan.changes:
                    columns = change(env_id, agent_id, columns)
                batch = agent_plan.build(env_id, agent_id, columns)
                answer = output = policy.answer_alone(batch, explore, timestep)
                is_array = isinstance(answer[0], ARRAYS)  # the states and fetches are, anyway
                for formula in action_plan.on_arrays if is_array else action_plan.formulas:
                    output = formula(output)
                outputs = [output]
                record = ActionConnectorDataType(env_id, agent_id, columns, answer)
                for hear in agent_plan.hear:
                    hear(record)
            else:
                rows = Rows([(env_id, agent_id)], {k: [v] for k, v in columns.items()})
                ready = _through(agent_pipeline, rows)
                outputs = _acted(policy, ready, explore, timestep) if ready else []
        except Exception as error:
            better = told(policy, [Asked(env_id, agent_id, obs, reward)], error)
            if better is error:
                raise
            raise better from error
        if terminated or truncated:
            policy.endings.note(policy, env_id, agent_id)
    return outputs


def batch_policy_inference(
    policy: Policy,
    env_ids: Sequence[Hashable],
    agent_ids: Sequence[Hashable],
    obs_batch: Any,
    rewards: Any = None,
    terminateds: Any = None,
    truncateds: Any = None,
    infos: Sequence[Mapping[str, Any]] | None = None,
    explore: bool | None = None,
    timestep: int | None = None,
) -> list[PolicyOutputType]:
    """Run many raw observations through a policy in one forward pass.

    Each (environment, agent) slot keeps its own history and recurrent state, as if it had been
    stepped alone by `local_policy_inference`.

    Args:
        policy: A policy with connectors.
        env_ids: The environment of each slot.
        agent_ids: The agent of each slot.
        obs_batch: Raw observations: a sequence of them, or arrays with a leading axis.
        rewards: What the last actions earned, (B,), or None on first steps.
        terminateds: Whether episodes ended with them, (B,).
        truncateds: Whether episodes were truncated, (B,).
        infos: One info dict per row.
        explore: Whether to explore; None follows the policy's config.
        timestep: The global timestep for exploration schedules.

    Returns:
        One (actions, states, fetches) for each record the agent connectors let through, in
        their order.
    """
    policy = getattr(policy, "native", policy)
    agent_pipeline, _ = _pipelines(policy)
    count = len(env_ids)
    observations = _slots(obs_batch, count)
    columns = {
        "rewards": rewards,
        "terminateds": terminateds,
        "truncateds": truncateds,
        "infos": infos,
    }
    present = {name: column for name, column in columns.items() if column is not None}
    ends = [present[name] for name in ("terminateds", "truncateds") if name in present]
    if ends:
        present["dones"] = np.logical_or.reduce([np.asarray(end, bool) for end in ends])
    for name, column in {"agent_ids": agent_ids, **present}.items():
        if len(column) != count:
            raise PieceError(
                f"{name} does not have an entry for each slot",
                expected=f"{count} entries",
                found=str(len(column)),
            )
    slots = list(zip(env_ids, agent_ids, strict=True))
    values = {"new_obs": observations, **present}
    rows = Rows(slots, {name: list(column) for name, column in values.items()})
    with getattr(agent_pipeline, "turn", policy.turn):  # connectors store complete steps
        outputs = []
        ready: Rows | list[AgentConnectorDataType] | None = None
        try:
            _use(policy, agent_pipeline, env_ids)
            _check_slots(policy, slots)
            if isinstance(obs_batch, np.ndarray) and obs_batch.dtype.kind not in NUMBERS:
                raise no_numbers(obs_batch)
            ready = _through(agent_pipeline, rows)
            outputs = _acted(policy, ready, explore, timestep) if len(ready) else []
        except Exception as error:
            if ready is None:
                earned = [None] * count if rewards is None else rewards
                records = list(map(Asked, env_ids, agent_ids, observations, earned))
            else:
                records = [Asked(*slot) for slot in _slots_of(ready)]
            better = told(policy, records, error)
            if better is error:
                raise
            raise better from error
        for place in map(int, np.flatnonzero(present.get("dones", ()))):
            policy.endings.note(policy, env_ids[place], agent_ids[place])
    return outputs


def _through(pipeline: Any, rows: Rows) -> Rows | list[AgentConnectorDataType]:
    """Apply all connectors of a pipeline to rows."""
    usual = AgentConnectorPipeline.__call__
    if isinstance(pipeline, AgentConnectorPipeline) and type(pipeline).__call__ is usual:
        return pipeline.passed(rows if rows.slots else [])
    return list(pipeline(rows.as_list()))


def _acted(
    policy: Policy,
    ready: Rows | list[AgentConnectorDataType],
    explore: bool | None,
    timestep: int | None,
) -> list[PolicyOutputType]:
    """Run the policy and the action connectors on the output of the agent connectors."""
    agent_pipeline: Any = policy.agent_connectors
    action_pipeline: Any = policy.action_connectors
    if not isinstance(ready, Rows) or ready.built is None:
        records = ready.as_list() if isinstance(ready, Rows) else ready
        if not all(hasattr(record.data, "sample_batch") for record in records):
            raise PieceError(
                "the agent connectors do not end in batches for the policy",
                hint="add a ViewRequirementAgentConnector as the last of them.",
            )
        batch = joined_batches([record.data.sample_batch for record in records])
        ready = Rows.asked(_slots_of(records), [record.data.raw_dict for record in records])
    else:
        batch = ready.built
    computed = policy.compute_actions_from_input_dict(batch, explore=explore, timestep=timestep)
    if isinstance(action_pipeline, ActionConnectorPipeline):
        outputs = action_pipeline.transform_answers(ready, computed)
    else:
        answers = answers_of(ready.slots, ready.raw(), computed)
        outputs = [action_pipeline(answer).output for answer in answers]
    if isinstance(agent_pipeline, AgentConnectorPipeline):
        agent_pipeline.hear_all(ready, computed)
    else:
        for answer in answers_of(ready.slots, ready.raw(), computed):
            agent_pipeline.on_policy_output(answer)
    return outputs


def _slots_of(ready: Rows | list[AgentConnectorDataType]) -> list[tuple[Any, Any]]:
    if isinstance(ready, Rows):
        return ready.slots
    return [(record.env_id, record.agent_id) for record in ready]


def _check_slots(policy: Policy, slots: Sequence[tuple[Any, Any]]) -> None:
    """Refuse slots that stand twice in one batch, or whose episode is over."""
    different = set(slots)
    if len(different) < len(slots) and remembers(policy):
        (env_id, agent_id), count = Counter(slots).most_common(1)[0]
        raise PieceError(
            f"agent {agent_id!r} of environment {env_id!r} stands {count} times in one batch, but "
            "its second answer depends on its first",
            expected="each slot once",
            hint="step it in several calls.",
        )
    if policy.endings:
        for env_id, agent_id in different:
            policy.endings.check(policy, env_id, agent_id)


def _pipelines(policy: Policy) -> tuple[Any, tuple[Any, Any] | None]:
    """Return the agent pipeline, and both plans if no connector needs the records of a step.

    Both pipelines are switched to evaluation.
    """
    agent: Any = policy.agent_connectors
    action: Any = policy.action_connectors
    if agent is None or action is None:
        raise ConfigError(
            f"policy {policy.name!r} has no connectors",
            hint="create the defaults: create_connectors_for_policy(policy, policy.config).",
        )
    agent_plan = getattr(agent, "in_step", agent.in_eval)()
    action_plan = getattr(action, "in_step", action.in_eval)()
    is_usual = type(policy).compute_actions_from_input_dict is _COMPUTE
    acts_itself = is_usual and _COMPUTE.__name__ not in vars(policy)
    has_plans = agent_plan is not None and action_plan is not None
    return agent, (agent_plan, action_plan) if acts_itself and has_plans else None


def _use(policy: Policy, pipeline: Any, env_ids: Sequence[Hashable]) -> None:
    """Record the use of environments, and evict the least recently used above the limit."""
    sessions = getattr(pipeline, "sessions", None)
    if sessions is not None:
        for env_id in sessions.use(env_ids):
            policy.reset_connectors(env_id)


def _slots(obs_batch: Any, count: int) -> Any:
    """One observation a slot, from a sequence of them or from arrays with a leading axis."""
    if isinstance(obs_batch, (list, np.ndarray)):
        if len(obs_batch) != count:
            raise PieceError(
                "obs_batch does not have an observation for each slot",
                expected=f"{count} observations",
                found=str(len(obs_batch)),
            )
        return obs_batch
    return [nest.map_structure(lambda leaf, i=i: leaf[i], obs_batch) for i in range(count)]
