"""What RLlib keeps under `utils`, and its front door.

A row says which names a module of `ray.rllib` has, and where ours are: see `table`.
"""

from typing import Final

_BUFFERS: Final = (
    "EpisodeReplayBuffer MultiAgentEpisodeReplayBuffer MultiAgentPrioritizedEpisodeReplayBuffer "
    "MultiAgentReplayBuffer PrioritizedEpisodeReplayBuffer PrioritizedReplayBuffer ReplayBuffer"
)

HOMES: Final = {
    "": (
        "legacy: Policy SampleBatch; stand-in: BaseEnv ExternalEnv RolloutWorker TFPolicy "
        "TorchPolicy VectorEnv; v2: MultiAgentEnv"
    ),
    "utils": (
        "compat.aliases.plain_names: LARGE_INTEGER MAX_LOG_NN_OUTPUT MIN_LOG_NN_OUTPUT "
        "deprecation_warning; core.formulas.filters: SMALL_NUMBER; legacy: ConstantSchedule "
        "DeveloperAPI ExponentialSchedule Filter LinearSchedule NullContextManager "
        "PiecewiseSchedule PolynomialSchedule PublicAPI add_mixins check fc flatten_dict "
        "force_list force_tuple lstm one_hot override relu sigmoid softmax try_import_jax "
        "try_import_tf try_import_tfp try_import_torch unflatten_dict"
    ),
    "utils.annotations": (
        "compat.aliases.plain_names: is_overridden; legacy: DeveloperAPI "
        "OverrideToImplementCustomLogic OverrideToImplementCustomLogic_CallToSuperRecommended "
        "PublicAPI override"
    ),
    "utils.actor_manager": "stand-in: FaultAwareApply FaultTolerantActorManager",
    "utils.checkpoints": (
        "legacy: get_checkpoint_info; v2: Checkpointable; v2.saving.checkpoint_files: "
        "CHECKPOINT_VERSION; v2.metrics.names: COMPONENT_LEARNER COMPONENT_LEARNER_GROUP "
        "COMPONENT_RL_MODULE"
    ),
    "utils.deprecation": (
        "compat.aliases.plain_names: DEPRECATED_VALUE Deprecated deprecation_warning"
    ),
    "utils.error": (
        "legacy: EnvError NotSerializable UnsupportedSpaceException; v2: MultiAgentEnvError"
    ),
    "utils.exploration": (
        "legacy: EpsilonGreedy Exploration GaussianNoise OrnsteinUhlenbeckNoise "
        "PerWorkerEpsilonGreedy PerWorkerGaussianNoise PerWorkerOrnsteinUhlenbeckNoise Random "
        "SoftQ StochasticSampling; legacy.exploration.config: ParameterNoise"
    ),
    "utils.exploration.epsilon_greedy": "legacy: EpsilonGreedy",
    "utils.exploration.exploration": "legacy: Exploration",
    "utils.exploration.gaussian_noise": "legacy: GaussianNoise",
    "utils.exploration.ornstein_uhlenbeck_noise": "legacy: OrnsteinUhlenbeckNoise",
    "utils.exploration.parameter_noise": "legacy.exploration.config: ParameterNoise",
    "utils.exploration.per_worker_epsilon_greedy": "legacy: PerWorkerEpsilonGreedy",
    "utils.exploration.per_worker_gaussian_noise": "legacy: PerWorkerGaussianNoise",
    "utils.exploration.per_worker_ornstein_uhlenbeck_noise": (
        "legacy: PerWorkerOrnsteinUhlenbeckNoise"
    ),
    "utils.exploration.random": "legacy: Random",
    "utils.exploration.soft_q": "legacy: SoftQ",
    "utils.exploration.stochastic_sampling": "legacy: StochasticSampling",
    "utils.filter": (
        "legacy: ConcurrentMeanStdFilter Filter MeanStdFilter NoFilter RunningStat get_filter"
    ),
    "utils.framework": (
        "legacy: get_activation_fn try_import_jax try_import_tf try_import_tfp try_import_torch"
    ),
    "utils.from_config": "v2: NotProvided",
    "utils.lambda_defaultdict": "legacy: LambdaDefaultDict",
    "utils.metrics": "v2: ALL_MODULES; v2.metrics.names: *",
    "utils.metrics.learner_info": (
        "compat.aliases.plain_names: LEARNER_INFO; v2: DEFAULT_POLICY_ID; v2.metrics.names: "
        "LEARNER_STATS_KEY"
    ),
    "utils.metrics.metrics_logger": "v2: MetricsLogger",
    "utils.metrics.ray_metrics": "stand-in: TimerAndPrometheusLogger",
    "utils.minibatch_utils": "stand-in: MiniBatchCyclicIterator",
    "utils.nested_dict": "stand-in: NestedDict",
    "utils.numpy": (
        "compat.aliases.plain_names: LARGE_INTEGER MAX_LOG_NN_OUTPUT MIN_LOG_NN_OUTPUT; "
        "core.formulas.filters: SMALL_NUMBER; legacy: convert_to_numpy fc "
        "flatten_inputs_to_1d_tensor huber_loss l2_loss lstm make_action_immutable one_hot "
        "one_hot_multidiscrete relu sigmoid softmax"
    ),
    "utils.policy": (
        "legacy: compute_log_likelihoods_from_input_dict create_policy_for_framework "
        "load_policies_from_checkpoint local_policy_inference parse_policy_specs_from_checkpoint"
    ),
    "utils.postprocessing.episodes": (
        "v2: add_one_ts_to_episodes_and_truncate "
        "remove_last_ts_from_episodes_and_restore_truncateds"
    ),
    "utils.postprocessing.value_predictions": (
        "legacy: extract_bootstrapped_values; v2: compute_value_targets"
    ),
    "utils.postprocessing.zero_padding": (
        "v2: create_mask_and_seq_lens split_and_zero_pad split_and_zero_pad_n_episodes "
        "unpad_data_if_necessary"
    ),
    "utils.replay_buffers": f"stand-in: {_BUFFERS}",
    "utils.replay_buffers.episode_replay_buffer": "stand-in: EpisodeReplayBuffer",
    "utils.replay_buffers.multi_agent_episode_buffer": "stand-in: MultiAgentEpisodeReplayBuffer",
    "utils.replay_buffers.prioritized_episode_buffer": "stand-in: PrioritizedEpisodeReplayBuffer",
    "utils.runners.runner": "stand-in: Runner",
    "utils.runners.runner_group": "stand-in: RunnerGroup",
    "utils.schedules": (
        "legacy: ConstantSchedule ExponentialSchedule LinearSchedule PiecewiseSchedule "
        "PolynomialSchedule Schedule"
    ),
    "utils.schedules.constant_schedule": "legacy: ConstantSchedule",
    "utils.schedules.exponential_schedule": "legacy: ExponentialSchedule",
    "utils.schedules.linear_schedule": "legacy: LinearSchedule",
    "utils.schedules.piecewise_schedule": "legacy: PiecewiseSchedule",
    "utils.schedules.polynomial_schedule": "legacy: PolynomialSchedule",
    "utils.schedules.schedule": "legacy: Schedule",
    "utils.schedules.scheduler": "v2: Scheduler",
    "utils.serialization": (
        "legacy: gym_space_from_dict gym_space_to_dict space_from_dict space_to_dict"
    ),
    "utils.spaces.flexdict": "legacy: FlexDict",
    "utils.spaces.repeated": "legacy: Repeated",
    "utils.spaces.simplex": "legacy: Simplex",
    "utils.spaces.space_utils": (
        "legacy: BatchedNdArray batch clip_action flatten_space flatten_to_single_ndarray "
        "get_base_struct_from_space get_dummy_batch_for_space get_original_space "
        "is_composite_space normalize_action unbatch unsquash_action"
    ),
    "utils.test_utils": (
        "compat.aliases.script_arguments: add_rllib_example_script_args check_learning_achieved "
        "run_rllib_example_script_experiment; legacy: check"
    ),
    "utils.torch_utils": (
        "core.formulas.filters: SMALL_NUMBER; legacy: FLOAT_MAX FLOAT_MIN clip_gradients "
        "compute_global_norm convert_to_torch_tensor copy_torch_tensors explained_variance "
        "flatten_inputs_to_1d_tensor global_norm huber_loss inverse_symlog l2_loss one_hot "
        "reduce_mean_ignore_inf sequence_mask set_torch_seed softmax_cross_entropy_with_logits "
        "symlog two_hot update_target_network"
    ),
    "utils.typing": (
        "legacy: ActionConnectorDataType AgentConnectorDataType AgentConnectorsOutput AgentID "
        "AgentToModuleMappingFn AlgorithmConfigDict ConvFilterSpec DeviceType EnvActionType "
        "EnvConfigDict EnvCreator EnvID EnvInfoDict EnvObsType EnvType EpisodeID EpisodeType "
        "ExperimentalAPI FileType FromConfigSpec GradInfoDict IsPolicyToTrain LearnerStatsDict "
        "LearningRateOrSchedule LocalOptimizer ModelConfigDict ModelGradients ModelInputDict "
        "ModelWeights ModuleID MultiAgentDict MultiAgentPolicyConfigDict MultiEnvDict "
        "NamedParamDict NetworkType OldAPIStack Optimizer Param ParamDict ParamList ParamRef "
        "PartialAlgorithmConfigDict PolicyID PolicyOutputType PolicyState RLModuleSpecType "
        "ResultDict SampleBatchType ShouldModuleBeUpdatedFn SpaceStruct StateBatches StateDict "
        "TFPolicyV2Type TensorShape TensorStructType TensorType UnrollID ViewRequirementsDict"
    ),
}
