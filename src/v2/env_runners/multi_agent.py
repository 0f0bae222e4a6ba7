"""The env runner of several agents in each environment."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from gymnasium.spaces import Space
from typing_extensions import override

from ...core.errors import ConfigError
from ...core.spaces.fit import explain_mismatch
from ...core.text.visible import visible_lines
from ..envs.foreign_agent_envs import ForeignAgentEnvs
from ..envs.multi_agent_envs import AgentTransitions, MultiAgentEnvs, make_multi_agent_envs
from ..episodes.multi_agent import MultiAgentEpisode
from ..metrics.names import EPISODE_AGENT_STEPS
from .agent_answers import ByEnv, taken_apart
from .agent_row_sampling import AgentRowSampling
from .random_actions import RandomActions
from .running_multi_agent import RunningMultiAgentEpisodes
from .sample_size import SampleSize

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig

ENV: Final = "__env__"
ENV_SINGLE: Final = "__env_single__"


class MultiAgentEnvRunner(AgentRowSampling):
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
            _warn_if_outside(self.env.single_observation_space.spaces, observations)
        if self.teaching is not None:
            self.teaching.begin()

    @override
    def _sample(
        self, size: SampleSize, explore: bool, random_actions: bool
    ) -> list[MultiAgentEpisode]:
        running = self.running
        is_silent = random_actions and self._reads_only()
        is_all_own = self._has_only_own_pieces()
        counts_agents = self.config.count_steps_by == "agent_steps"
        rows = None if random_actions else self._row_acting()
        answers: dict[str, Any] | None = None
        actions: ByEnv
        for_env: ByEnv
        counted = steps = 0
        seconds = self._in_envs = []
        while size.wants_more(counted, self._num_ended):
            # The first step goes the usual way: it takes the timers of all pieces.
            if rows is not None and is_all_own and self._metrics_now is None:
                if rows.begin(running, self._shared_data):
                    steps, counted, answers = self._sample_rows(rows, size, explore, steps, counted)
                rows = None
                continue
            if random_actions:
                for_env = actions = [*map(self._draw, running.to_act)]
                outputs = repeat(None)
            else:
                t = self.num_env_steps_sampled_lifetime + steps
                actions, for_env, outputs = self._act(explore, t, answers)
                answers = None
            transitions = self._advance(for_env)
            new_steps, new_agent_steps, over = self._record(transitions, actions, outputs)
            steps += new_steps
            counted += new_agent_steps if counts_agents else new_steps
            if not is_silent:
                if over:  # So that pieces have seen the last observations, too.
                    self._to_module(over, explore)
                self._cached_to_module = self._to_module(running.episodes, explore)
            if is_all_own:  # Its timers are taken once in a call.
                self._metrics_now = None
        if is_silent and seconds:
            self._cached_to_module = self._to_module(running.episodes, explore)
        by_agent, by_module = running.observed()
        self._count(steps, by_agent, by_module, seconds)
        self._agent_steps += running.agent_steps
        running.agent_steps = []
        lookback = None if size.is_in_episodes else self.config.episode_lookback_horizon
        return self._finished(running.take(lookback)[: size.episodes])

    def _act(
        self, explore: bool, t: int, answers: dict[str, Any] | None
    ) -> tuple[ByEnv, ByEnv, Any]:
        """Actions as the modules have them, as the environments take them, and all else.

        Args:
            explore: Whether modules explore.
            t: The number of the step.
            answers: What modules gave already.
        """
        batch = self._cached_to_module
        if answers is None and not batch:  # Nobody is to act.
            nothing: ByEnv = [{}] * self.num_envs
            return nothing, nothing, repeat(None)
        try:
            outputs = self._forward(batch, explore, t) if answers is None else answers
            columns = self._to_env(outputs, explore)
        except Exception as error:
            self.running.explain(error)
            raise
        actions, for_env, outputs_of = taken_apart(
            columns, self.running.to_act, self._weights_seq_no
        )
        if self.teaching is not None:
            self.teaching.put(outputs_of, self.running)
        return actions, for_env, outputs_of

    @override
    def _record(
        self, transitions: AgentTransitions, actions: ByEnv, outputs: Any
    ) -> tuple[int, int, list[MultiAgentEpisode]]:
        """Add a step of all environments to their episodes.

        Returns:
            How many steps were made, how often agents observed, and the episodes that are over.
        """
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
        return steps, agent_steps, over

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


def _warn_if_outside(spaces: Mapping[Hashable, Space[Any]], by_env: Sequence[Any]) -> None:
    """Warn of first observations that lie outside of their agent's space."""
    for index, observations in enumerate(by_env):
        for agent, observation in observations.items():
            reason = agent in spaces and explain_mismatch(spaces[agent], observation)
            if reason:
                warnings.warn(
                    f"Environment {index} returned an observation outside of the space of agent "
                    f"{agent!r}: {visible_lines(reason)}.",
                    UserWarning,
                    stacklevel=2,
                )
                return
