"""The env runner of several agents in each environment."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from typing_extensions import override

from ...core.columns import Columns
from ...core.errors import ConfigError
from ...core.types import Nest
from ..envs.foreign_agent_envs import ForeignAgentEnvs
from ..envs.multi_agent_envs import AgentTransitions, MultiAgentEnvs, copied, make_multi_agent_envs
from ..episodes.multi_agent import MultiAgentEpisode
from ..metrics.names import EPISODE_AGENT_STEPS, WEIGHTS_SEQ_NO
from .agent_block import fill
from .agent_row_acting import AgentRowActing
from .observation_watch import warn_if_outside
from .random_actions import RandomActions
from .row_sampling import RowSampling
from .running_multi_agent import RunningMultiAgentEpisodes
from .sample_size import SampleSize

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig

ENV: Final = "__env__"
ENV_SINGLE: Final = "__env_single__"


class MultiAgentEnvRunner(RowSampling):
    """Steps a vector of multi-agent environments with the modules of a `MultiRLModule`.

    See `EnvRunner` for its arguments. The config has to be a multi-agent one. Only agents that
    observed act; with `count_steps_by="agent_steps"` each agent's observation counts as a step
    towards `num_timesteps`.

    Raises:
        ConfigError: The config is not a multi-agent one.

    Example:
        >>> from rlconnect.v2 import PPOConfig, make_multi_agent
        >>> config = (
        ...     PPOConfig()
        ...     .environment(make_multi_agent("CartPole-v1"), env_config={"num_agents": 2})
        ...     .multi_agent(policies={"p"}, policy_mapping_fn=lambda agent, episode, **_: "p")
        ... )
        >>> runner = MultiAgentEnvRunner(config=config)
        >>> sum(len(episode) for episode in runner.sample(num_timesteps=10))
        10
    """

    running: RunningMultiAgentEpisodes

    def __init__(self, *, config: AlgorithmConfig, **kwargs: Any) -> None:
        if not config.is_multi_agent:
            raise ConfigError(
                f"{type(self).__name__} needs a multi-agent config",
                expected="policies and a policy_mapping_fn",
                found=f"policies {sorted(map(str, config.policies))}",
                hint="config.multi_agent(policies={...}, policy_mapping_fn=...).",
            )
        super().__init__(config=config, **kwargs)

    # Making

    @override
    def make_env(self) -> None:
        self.stop()
        self.stepper, context = make_multi_agent_envs(
            self.config, self.worker_index, self.num_workers
        )
        self.env = self.stepper
        if not self.config.disable_env_checking:
            self.env.try_out()
        self._begin_with_envs()
        self._on_environment_created(context)

    @override
    def _stepper_of(self, env: Any) -> Any:
        return env if isinstance(env, MultiAgentEnvs) else ForeignAgentEnvs(env)

    @override
    def _begin_with_envs(self) -> None:
        super()._begin_with_envs()
        self._draw = RandomActions(self.env.single_action_space.spaces, self._seed)
        self._agent_steps: list[Mapping[Hashable, int]] = []
        self._counts_agents = self.config.count_steps_by == "agent_steps"

    @override
    def _module_spec(self) -> Any:
        return self.config.get_multi_rl_module_spec(
            env=self.env, spaces=self.get_spaces(), inference_only=True
        )

    @override
    def get_spaces(self) -> dict[str, tuple[Any, Any]]:
        if self.env is None:
            return self.spaces
        by_module: dict[str, tuple[Any, Any]] = {
            ENV: (None, None),
            ENV_SINGLE: (self.env.single_observation_space, self.env.single_action_space),
        }
        obs_space, done = self._env_to_module.observation_space, self._env_to_module.action_space
        for module_id in obs_space.spaces:
            by_module[module_id] = (obs_space[module_id], done[module_id])
        return by_module

    # Sampling

    @override
    def new_running(self) -> RunningMultiAgentEpisodes:
        return RunningMultiAgentEpisodes(
            self.env.single_observation_space.spaces,
            self.env.single_action_space.spaces,
            self.config.policy_mapping_fn,
            self.num_envs,
            keeps_chunks=bool(self._hooks.of("on_episode_end")),
        )

    @override
    def _look_at_reset(self, observations: Any, is_checked: bool) -> None:
        if is_checked:
            warn_if_outside(self.env.single_observation_space.spaces, observations)

    @override
    def _row_acting(self, random_actions: bool) -> AgentRowActing | None:
        if random_actions or self.teaching is not None:
            return None
        return AgentRowActing.of(self._env_to_module, self._module_to_env, self.module)

    @override
    def _record_alone(
        self,
        rows: AgentRowActing,
        kept: Mapping[Any, Mapping[str, Nest]],
        transitions: AgentTransitions,
        size: SampleSize,
    ) -> bool:
        layout = rows.layout
        added = None
        if len(rows.block):  # It may go into a block of its own.
            # The environments may have written over what they returned before.
            last = layout.by_env(rows.seen, layout.agents)
            self._hand_out(rows, is_final=False, last=last)
            rows.renew()
            added = rows.add(kept, transitions)
        if added is None:
            observations = [*map(copied, transitions.observations)]
            columns = layout.listed(kept)
            columns.setdefault(Columns.ACTIONS, [{} for _ in layout.agents])
            actions, _, outputs = self._taken_apart(columns)
            added = self._record(transitions._replace(observations=observations), actions, outputs)
            rows.renew()
        self._add(*added)
        return True

    @override
    def _hand_out(self, rows: AgentRowActing, *, is_final: bool, last: ByEnv | None = None) -> None:
        block, running = rows.block, self.running
        if not len(block):
            return
        columns = block.columns()
        for stretch in block.stretches([*map(copied, running.seen)] if last is None else last):
            ending = stretch.ending
            episode = running.episodes[stretch.env] if ending is None else ending.episode
            is_last = (is_final or ending is not None) and not self._is_mixed
            is_alike = fill(episode, stretch, columns, self._weights_seq_no, is_final=is_last)
            if ending is None:
                running.to_act[stretch.env] = (*stretch.last,)
            else:
                if not is_alike:
                    self._to_module([episode], explore=False)  # Pieces say what is wrong with it.
                self._count_ended([running.close(episode, ending.sums)])

    @override
    def _end_call(self, lookback: int | None, size: SampleSize) -> list[MultiAgentEpisode]:
        running = self.running
        by_agent, by_module = running.observed()
        self._count(self._steps, by_agent, by_module, self._in_envs)
        self._agent_steps += running.agent_steps
        running.agent_steps = []
        return self._finished(running.take(lookback)[: size.episodes])

    # One step

    @override
    def _act_at_random(self) -> tuple[ByEnv, ByEnv, Any]:
        actions = [*map(self._draw, self.running.to_act)]
        return actions, actions, repeat(None)

    @override
    def _act(self, answers: Any) -> tuple[ByEnv, ByEnv, Any]:
        if answers is None and not self._cached_to_module:  # Nobody is to act.
            nothing: ByEnv = [{}] * self.num_envs
            return nothing, nothing, repeat(None)
        return super()._act(answers)

    @override
    def _taken_apart(self, columns: dict[str, Any]) -> tuple[ByEnv, ByEnv, Any]:
        actions, for_env, outputs = taken_apart(columns, self.running.to_act, self._weights_seq_no)
        if self.teaching is not None:
            self.teaching.put(outputs, self.running)
        return actions, for_env, outputs

    @override
    def _advance(self, actions: ByEnv, *, copies: bool = True) -> AgentTransitions:
        before = perf_counter()
        running = self.running
        each = zip(actions, running.pending, running.gap_steps, strict=True)
        transitions: AgentTransitions = self.stepper.advance(
            [None if waits and not gap else action for action, waits, gap in each], copies=copies
        )
        self._in_envs.append(perf_counter() - before)
        if self.teaching is not None:
            self.teaching.follow_agents(transitions, self.running.pending)
        return transitions

    @override
    def _record(
        self, transitions: AgentTransitions, actions: ByEnv, outputs: Any
    ) -> tuple[int, int]:
        running, failed = self.running, transitions.failed
        tell, is_watched = self._call_on_episode, bool(self._hooks.of("on_episode_step"))
        steps = agent_steps = 0
        over = []
        for index, (action, output) in enumerate(zip(actions, outputs, strict=False)):
            if failed and index in failed:
                running.lose(index)
                self._end(index)
                running.begin(index, transitions.observations[index], transitions.infos[index])
                tell("on_episode_start", running.episodes[index], index)
            elif running.pending[index]:
                if running.is_waiting(index, transitions):
                    continue
                running.begin(index, transitions.observations[index], transitions.infos[index])
                tell("on_episode_start", running.episodes[index], index)
            else:
                is_over = running.add(index, transitions, action, output)
                steps += 1
                agent_steps += len(transitions.observations[index])
                if is_watched:
                    tell("on_episode_step", running.episodes[index], index)
                if is_over:
                    over.append(running.episodes[index])
                    self._end(index)
        if failed:
            self._survive(steps)
        if over and not self._is_silent:  # So that pieces have seen the last observations, too.
            self._to_module(over, self._explore)
        return steps, agent_steps

    @override
    def _singles(self, episode: MultiAgentEpisode) -> dict[str, Any]:
        return {f", agent {agent!r}": single for agent, single in episode.agent_episodes.items()}

    @override
    def get_metrics(self) -> Any:
        """Give what was logged since the last time, by RLlib's keys."""
        window = self.config.metrics_num_episodes_for_smoothing
        for steps in self._agent_steps:
            for agent, count in steps.items():
                key = (EPISODE_AGENT_STEPS, str(agent))
                self.metrics.log_value(key, count, reduce="mean", window=window)
        self._agent_steps = []
        return super().get_metrics()


ByEnv: TypeAlias = Sequence[Mapping[Hashable, Any]]
"""For each environment items by agent."""


def taken_apart(
    columns: dict[str, Any], to_act: Sequence[Sequence[Hashable]], weights_seq_no: int
) -> tuple[ByEnv, ByEnv, list[dict[Hashable, dict[str, Any]]]]:
    """Actions as the modules have them, as the environments take them, and all else.

    Args:
        columns: For each name a dict by agent for each environment.
        to_act: The agents to act in each environment, in their order.
        weights_seq_no: An output that is the same for all.
    """
    actions = [*map(_in_order, columns.pop(Columns.ACTIONS), to_act)]
    for_env = columns.pop(Columns.ACTIONS_FOR_ENV, None)
    outputs = [
        {
            agent: {
                **{
                    name: row[agent]
                    for name, row in zip(columns, rows, strict=True)
                    if agent in row
                },
                WEIGHTS_SEQ_NO: weights_seq_no,
            }
            for agent in by_agent
        }
        for by_agent, *rows in zip(actions, *columns.values(), strict=True)
    ]
    return actions, actions if for_env is None else [*map(_in_order, for_env, to_act)], outputs


def _in_order(
    actions: Mapping[Hashable, Any], agents: Sequence[Hashable]
) -> Mapping[Hashable, Any]:
    """Actions in the order of the agents' observations, where they come module by module."""
    try:
        ordered = {agent: actions[agent] for agent in agents}
    except KeyError:  # A user's piece has left some out.
        return actions
    return ordered if len(ordered) == len(actions) else actions
