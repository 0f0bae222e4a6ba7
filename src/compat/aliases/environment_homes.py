"""Environments, episodes, runners, and what evaluated the old stack.

A row says which names a module of `ray.rllib` has, and where ours are: see `table`.
"""

from typing import Final

HOMES: Final = {
    "callbacks.callbacks": "v2: RLlibCallback",
    "callbacks.utils": "v2: make_callback",
    "env": (
        "core.columns: INPUT_ENV_SINGLE_SPACES INPUT_ENV_SPACES; stand-in: BaseEnv ExternalEnv "
        "ExternalMultiAgentEnv RemoteBaseEnv VectorEnv; v2: EnvContext GroupAgentsWrapper "
        "MultiAgentEnv ParallelPettingZooEnv PettingZooEnv"
    ),
    "env.apis.task_settable_env": "stand-in: TaskSettableEnv TaskType",
    "env.base_env": "stand-in: BaseEnv",
    "env.env_context": "v2: EnvContext",
    "env.env_errors": "legacy: StepFailedRecreateEnvError",
    "env.env_runner": "v2: EnvRunner",
    "env.env_runner_group": "v2: EnvRunnerGroup",
    "env.external_env": "stand-in: ExternalEnv",
    "env.external_multi_agent_env": "stand-in: ExternalMultiAgentEnv",
    "env.multi_agent_env": "v2: MultiAgentEnv make_multi_agent; v2.envs.multi_agent_env: ENV_STATE",
    "env.multi_agent_env_runner": "v2: MultiAgentEnvRunner",
    "env.multi_agent_episode": "v2: MultiAgentEpisode",
    "env.remote_base_env": "stand-in: RemoteBaseEnv",
    "env.single_agent_env_runner": "v2: SingleAgentEnvRunner",
    "env.single_agent_episode": "v2: SingleAgentEpisode",
    "env.utils": "legacy: EnvError PublicAPI; v2: EnvContext MultiAgentEnv",
    "env.utils.infinite_lookback_buffer": "v2: InfiniteLookbackBuffer",
    "env.vector.registration": "stand-in: make_vec",
    "env.vector.sync_vector_multi_agent_env": "v2.envs.foreign_agent_envs: SyncVectorMultiAgentEnv",
    "env.vector.vector_multi_agent_env": "v2.envs.foreign_agent_envs: VectorMultiAgentEnv",
    "env.vector_env": "stand-in: VectorEnv",
    "env.wrappers.atari_wrappers": "stand-in: wrap_atari_for_new_api_stack wrap_deepmind",
    "env.wrappers.group_agents_wrapper": (
        "v2: GroupAgentsWrapper; v2.envs.grouped_agents: GROUP_INFO GROUP_REWARDS"
    ),
    "env.wrappers.pettingzoo_env": "v2: ParallelPettingZooEnv PettingZooEnv",
    "evaluation": (
        "legacy: MultiAgentBatch SampleBatch compute_advantages; stand-in: Episode "
        "MultiAgentSampleBatchBuilder RolloutWorker SampleBatchBuilder SyncSampler"
    ),
    "evaluation.collectors.agent_collector": "legacy: AgentCollector",
    "evaluation.episode": "stand-in: Episode MultiAgentEpisode",
    "evaluation.episode_v2": "stand-in: EpisodeV2",
    "evaluation.metrics": "stand-in: RolloutMetrics",
    "evaluation.observation_function": "stand-in: ObservationFunction",
    "evaluation.postprocessing": (
        "legacy: Postprocessing adjust_nstep compute_advantages compute_bootstrap_value "
        "compute_gae_for_sample_batch discount_cumsum"
    ),
    "evaluation.rollout_worker": "stand-in: RolloutWorker",
    "evaluation.sample_batch_builder": "stand-in: MultiAgentSampleBatchBuilder SampleBatchBuilder",
    "evaluation.sampler": "stand-in: SyncSampler",
    "evaluation.worker_set": "stand-in: WorkerSet",
    "offline": "stand-in: InputReader JsonReader JsonWriter OutputWriter",
    "offline.json_reader": "stand-in: JsonReader",
    "offline.json_writer": "stand-in: JsonWriter",
    "offline.offline_data": "stand-in: OfflineData",
    "offline.offline_prelearner": "stand-in: OfflinePreLearner",
}
