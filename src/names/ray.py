"""Names that only sources written for Ray use and no public package serves.

Homes are modules below `rlconnect`. `stand-in` is a class that can be named and subclassed and
raises an error when it is used; `tune` is one that belongs to Ray Tune.
"""

from __future__ import annotations

from typing import Final

RAY: Final = """\
compat.aliases.ray_front: __version__ get init is_initialized put remote shutdown wait @ /ray
tune: ScalingConfig @ /ray.air.config /ray.air /ray.train
tune: CheckpointConfig FailureConfig RunConfig SyncConfig @ /ray.air.config /ray.air /ray.train
    /ray.tune
tune: get_checkpoint report @ /ray.air.session /ray.train /ray.tune
tune: get_context @ /ray.train /ray.tune
tune: Result @ /ray.air /ray.train /ray.tune
v2.algorithms.saved_run: Checkpoint=SavedFolder @ /ray.air.config /ray.air /ray.train /ray.tune
compat.aliases.plain_names: TIMESTAMP @ /ray.air.constants
compat.aliases.plain_names: TIME_THIS_ITER_S TRAINING_ITERATION @ /ray.air.constants
    /ray.tune.result
tune: MLflowLoggerCallback setup_mlflow @ /ray.air.integrations.mlflow
tune: WandbLoggerCallback setup_wandb @ /ray.air.integrations.wandb
tune: JupyterNotebookReporter PlacementGroupFactory ResumeConfig run_experiments with_resources @
    /ray.tune
tune: ExperimentAnalysis @ /ray.tune.analysis /ray.tune
tune: Callback @ /ray.tune.callback /ray.tune
tune: TuneError @ /ray.tune.error /ray.tune
tune: Experiment @ /ray.tune.experiment
tune: Trial @ /ray.tune.experiment.trial /ray.tune.experiment
compat.aliases.pretty_print: pretty_print @ /ray.tune.logger
tune: CSVLoggerCallback JsonLoggerCallback LoggerCallback TBXLoggerCallback @ /ray.tune.logger
tune: CLIReporter @ /ray.tune.progress_reporter /ray.tune
compat.aliases.ray_front: ENV_CREATOR _global_registry @ /ray.tune.registry
v2.saving.class_slots: get_trainable_cls=algorithm_named @ /ray.tune.registry
tune: register_trainable @ /ray.tune.registry /ray.tune
compat.aliases.plain_names: TIMESTEPS_TOTAL TIME_TOTAL_S @ /ray.tune.result
tune: ResultGrid @ /ray.tune.result_grid /ray.tune
tune: ASHAScheduler AsyncHyperBandScheduler FIFOScheduler HyperBandScheduler MedianStoppingRule
    PopulationBasedTraining TrialScheduler create_scheduler @ /ray.tune.schedulers
tune: PB2 @ /ray.tune.schedulers.pb2
tune: ConcurrencyLimiter Repeater SearchAlgorithm Searcher create_searcher @ /ray.tune.search
tune: BasicVariantGenerator @ /ray.tune.search.basic_variant /ray.tune.search
tune: OptunaSearch @ /ray.tune.search.optuna
tune: grid_search @ /ray.tune.search /ray.tune
tune: choice lograndint loguniform qlograndint qloguniform qrandint qrandn quniform randint randn
    sample_from uniform @ /ray.tune.search.sample /ray.tune
tune: Domain @ /ray.tune.search.sample
tune: CombinedStopper FunctionStopper MaximumIterationStopper NoopStopper TimeoutStopper
    TrialPlateauStopper @ /ray.tune.stopper
tune: Stopper @ /ray.tune.stopper /ray.tune
tune: Trainable with_parameters @ /ray.tune.trainable /ray.tune
tune: TuneConfig @ /ray.tune.tune_config /ray.tune.tuner /ray.tune
compat.aliases.plain_names: RayDeprecationWarning @ /ray.util.annotations
compat.aliases.ray_front: log_once @ /ray.util.debug /ray.util
compat.aliases.tree_front: assert_same_structure flatten_up_to is_nested map_structure
    map_structure_up_to map_structure_with_path @ /tree
core.nest: flatten flatten_with_path unflatten_as @ /tree
stand-in: APPO APPOConfig @ algorithms.appo.appo algorithms.appo
stand-in: DreamerV3 DreamerV3Config @ algorithms.dreamerv3
stand-in: IMPALA IMPALAConfig Impala ImpalaConfig @ algorithms.impala.impala algorithms.impala
stand-in: PPOTF1Policy PPOTF2Policy @ algorithms.ppo.ppo_tf_policy
stand-in: PPOTorchPolicy @ algorithms.ppo.ppo_torch_policy
stand-in: LearnerHyperparameters LearnerSpec @ core.learner.learner
stand-in: TrainingData @ core.learner.training_data
stand-in: Spec TensorSpec TypeSpec @ core.models.specs.specs_base
stand-in: SpecDict @ core.models.specs.specs_dict
stand-in: SpecType @ core.models.specs.typing
stand-in: MultiAgentRLModuleConfig @ core.rl_module.marl_module
stand-in: MultiRLModuleConfig @ core.rl_module.multi_rl_module
stand-in: TfRLModule @ core.rl_module.tf.tf_rl_module
core.columns: INPUT_ENV_SINGLE_SPACES INPUT_ENV_SPACES @ env
stand-in: TaskSettableEnv TaskType @ env.apis.task_settable_env
stand-in: BaseEnv @ env.base_env env /ray.rllib
stand-in: ExternalEnv @ env.external_env env /ray.rllib
stand-in: ExternalMultiAgentEnv @ env.external_multi_agent_env env
stand-in: RemoteBaseEnv @ env.remote_base_env env
stand-in: make_vec @ env.vector.registration
stand-in: VectorEnv @ env.vector_env env /ray.rllib
stand-in: wrap_atari_for_new_api_stack wrap_deepmind @ env.wrappers.atari_wrappers
stand-in: MultiAgentEpisode @ evaluation.episode
stand-in: Episode @ evaluation.episode evaluation
stand-in: EpisodeV2 @ evaluation.episode_v2
stand-in: RolloutMetrics @ evaluation.metrics
stand-in: ObservationFunction @ evaluation.observation_function
stand-in: RolloutWorker @ evaluation.rollout_worker evaluation /ray.rllib
stand-in: MultiAgentSampleBatchBuilder SampleBatchBuilder @ evaluation.sample_batch_builder
    evaluation
stand-in: SyncSampler @ evaluation.sampler evaluation
stand-in: WorkerSet @ evaluation.worker_set
compat.aliases.example_environments: MultiAgentCartPole @ examples.envs.classes.multi_agent
    examples.env.multi_agent
compat.aliases.example_environments: StatelessCartPole @ examples.envs.classes.stateless_cartpole
    examples.env.stateless_cartpole
compat.aliases.script_arguments: add_rllib_example_script_args run_rllib_example_script_experiment @
    examples.utils utils.test_utils
stand-in: FullyConnectedNetwork=TFFullyConnectedNetwork @ models.tf.fcnet
stand-in: normc_initializer=TFNormcInitializer @ models.tf.misc
stand-in: RecurrentNetwork=TFRecurrentNetwork @ models.tf.recurrent_net
stand-in: Categorical=TFCategorical Deterministic=TFDeterministic DiagGaussian=TFDiagGaussian
    TFActionDistribution @ models.tf.tf_action_dist
stand-in: TFModelV2 @ models.tf.tf_modelv2
stand-in: VisionNetwork=TFVisionNetwork @ models.tf.visionnet
stand-in: InputReader OutputWriter @ offline
stand-in: JsonReader @ offline.json_reader offline
stand-in: JsonWriter @ offline.json_writer offline
stand-in: OfflinePreLearner @ offline.offline_prelearner
stand-in: DynamicTFPolicyV2 @ policy.dynamic_tf_policy_v2
stand-in: EagerTFPolicyV2 @ policy.eager_tf_policy_v2
stand-in: PolicyMap @ policy.policy_map
stand-in: TFPolicy @ policy.tf_policy policy /ray.rllib
stand-in: EntropyCoeffSchedule KLCoeffMixin LearningRateSchedule TargetNetworkMixin
    ValueNetworkMixin @ policy.torch_mixins
stand-in: TorchPolicy @ policy.torch_policy policy /ray.rllib
stand-in: TorchPolicyV2 @ policy.torch_policy_v2
stand-in: FaultAwareApply FaultTolerantActorManager @ utils.actor_manager
compat.aliases.plain_names: is_overridden @ utils.annotations
compat.aliases.plain_names: DEPRECATED_VALUE @ utils.deprecation /ray._common.deprecation
compat.aliases.plain_names: Deprecated @ utils.deprecation /ray._common.deprecation
    /ray.util.annotations
compat.aliases.plain_names: deprecation_warning @ utils.deprecation utils /ray._common.deprecation
compat.aliases.plain_names: LEARNER_INFO @ utils.metrics.learner_info
stand-in: TimerAndPrometheusLogger @ utils.metrics.ray_metrics
stand-in: MiniBatchCyclicIterator @ utils.minibatch_utils
stand-in: NestedDict @ utils.nested_dict
compat.aliases.plain_names: LARGE_INTEGER MAX_LOG_NN_OUTPUT MIN_LOG_NN_OUTPUT @ utils.numpy utils
core.formulas.filters: SMALL_NUMBER @ utils.numpy utils.torch_utils utils
stand-in: MultiAgentReplayBuffer PrioritizedReplayBuffer
    ReplayBuffer @ utils.replay_buffers
stand-in: Runner @ utils.runners.runner
stand-in: RunnerGroup @ utils.runners.runner_group
compat.aliases.script_arguments: check_learning_achieved @ utils.test_utils
"""
