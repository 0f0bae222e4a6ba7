"""The new stack: rows of `rlconnect.v2` and of `rlconnect.v2.tuning`."""

from __future__ import annotations

from typing import Final

V2: Final = """\
.algorithms.algorithm: Algorithm @ = algorithms
.algorithms.bc: BC BCConfig @ algorithms.bc.bc = algorithms
.algorithms.cql: CQL CQLConfig @ algorithms.cql.cql = algorithms
.algorithms.dqn: DQN DQNConfig @ algorithms.dqn.dqn algorithms.dqn algorithms
.algorithms.env_runner_group: EnvRunnerGroup @ env.env_runner_group
.algorithms.episode_files: read_episodes write_episodes
.algorithms.iql: IQL IQLConfig @ algorithms.iql.iql =
.algorithms.marwil: MARWIL MARWILConfig @ algorithms.marwil.marwil = algorithms
.algorithms.offline_data: OfflineData @ offline.offline_data
.algorithms.ppo: PPO PPOConfig @ algorithms.ppo.ppo = algorithms
.algorithms.sac: SAC SACConfig @ algorithms.sac.sac = algorithms
.algorithms.sampling: synchronous_parallel_sample
.config.algorithm_config: AlgorithmConfig @ algorithms.algorithm_config algorithms
.config.callbacks: RLlibCallback @ algorithms.callbacks callbacks.callbacks
.config.callbacks: make_callback @ callbacks.utils
~.config.callbacks: DefaultCallbacks>RLlibCallback @ algorithms.callbacks
~.config.section: NotProvided @ algorithms.ppo.ppo utils.from_config
.config.policies: PolicySpec
.connectors.columnar: ColumnarPiece
.connectors.common.add_observations: AddObservationsFromEpisodesToBatch @
    connectors.common.add_observations_from_episodes_to_batch connectors.common
    connectors.env_to_module connectors.learner
.connectors.common.add_states: AddStatesFromEpisodesToBatch @
    connectors.common.add_states_from_episodes_to_batch connectors.common connectors.env_to_module
    connectors.learner
.connectors.common.add_time_dim: AddTimeDimToBatchAndZeroPad @
    connectors.common.add_time_dim_to_batch_and_zero_pad connectors.common connectors.env_to_module
    connectors.learner
.connectors.common.agent_to_module_mapping: AgentToModuleMapping @ = connectors.common
    connectors.env_to_module connectors.learner
.connectors.common.batch_individual_items: BatchIndividualItems @ = connectors.common
    connectors.env_to_module connectors.learner
.connectors.common.flatten_observations: FlattenObservations @ =
    connectors.env_to_module.flatten_observations connectors.env_to_module
.connectors.common.frame_stacking: FrameStacking @ = connectors.env_to_module.frame_stacking
    connectors.learner.frame_stacking
.connectors.common.agent_to_module_mapping: ModuleToAgentUnmapping @
    connectors.common.module_to_agent_unmapping connectors.module_to_env
.connectors.common.numpy_to_tensor: NumpyToTensor @ = connectors.common connectors.env_to_module
    connectors.learner
.connectors.common.tensor_to_numpy: TensorToNumpy @ = connectors.common connectors.module_to_env
.connectors.connector: ConnectorV2 @ connectors.connector_v2
.connectors.env_to_module.adapt_observations: AdaptObservations
.connectors.env_to_module.add_previous_steps: AddPreviousSteps
.connectors.env_to_module.env_to_module_pipeline: EnvToModulePipeline @ = connectors.env_to_module
.connectors.common.frame_stacking: FrameStackingEnvToModule @
    connectors.env_to_module.frame_stacking
.connectors.env_to_module.mean_std_filter: MeanStdFilter @ = connectors.env_to_module
.connectors.env_to_module.observation_preprocessor: MultiAgentObservationPreprocessor
    SingleAgentObservationPreprocessor @ =
~.connectors.env_to_module.observation_preprocessor: ObservationPreprocessor @ =
.connectors.env_to_module.observation_preprocessor: PreprocessObservations
.connectors.env_to_module.prev_actions_prev_rewards: PrevActionsPrevRewards @ =
    connectors.env_to_module
-.connectors.env_to_module.prev_actions_prev_rewards:
    PrevActionsPrevRewardsConnector>PrevActionsPrevRewards @ = connectors.env_to_module
.connectors.common.written_observations: WriteObservationsToEpisodes @
    connectors.env_to_module.write_observations_to_episodes connectors.env_to_module
.connectors.learner.adapt_rewards: AdaptRewards
.connectors.learner.add_columns: AddColumnsFromEpisodesToTrainBatch @
    connectors.learner.add_columns_from_episodes_to_train_batch connectors.learner
.connectors.learner.add_columns: AddInfosFromEpisodesToTrainBatch @
    connectors.learner.add_infos_from_episodes_to_train_batch connectors.learner
.connectors.learner.add_columns: AddNextObservationsFromEpisodesToTrainBatch @
    connectors.learner.add_next_observations_from_episodes_to_train_batch connectors.learner
.connectors.learner.add_one_ts: AddOneTsToEpisodesAndTruncate @
    connectors.learner.add_one_ts_to_episodes_and_truncate connectors.learner
.connectors.learner.add_one_ts: add_one_ts_to_episodes_and_truncate
    remove_last_ts_from_episodes_and_restore_truncateds @ utils.postprocessing.episodes
.connectors.learner.clip_rewards: ClipRewards
.connectors.learner.add_columns: ComputeReturnsToGo @ connectors.learner.compute_returns_to_go
    connectors.learner
.connectors.common.frame_stacking: FrameStackingLearner @ connectors.learner.frame_stacking
.connectors.learner.general_advantage_estimation: GeneralAdvantageEstimation @ = connectors.learner
.connectors.learner.learner_connector_pipeline: LearnerConnectorPipeline @ = connectors.learner
.connectors.module_to_env.adapt_actions: AdaptActions
.connectors.module_to_env.get_actions: GetActions @ = connectors.module_to_env
.connectors.module_to_env.listify_data_for_vector_env: ListifyDataForVectorEnv @ =
    connectors.module_to_env
.connectors.module_to_env.module_to_env_pipeline: ModuleToEnvPipeline @ = connectors.module_to_env
.connectors.module_to_env.normalize_and_clip_actions: NormalizeAndClipActions @ =
    connectors.module_to_env
.connectors.module_to_env.remove_time_rank: RemoveSingleTsTimeRankFromBatch @
    connectors.module_to_env.remove_single_ts_time_rank_from_batch connectors.module_to_env
.connectors.module_to_env.normalize_and_clip_actions: SquashGreedyActions
.connectors.module_to_env.unbatch_to_individual_items: UnBatchToIndividualItems @ =
    connectors.module_to_env
.connectors.pipeline: ConnectorPipelineV2 @ connectors.connector_pipeline_v2
.connectors.table: NotColumnar Table
.distributions.base: Distribution @ core.distribution.distribution models.distributions
.distributions.torch_base: TorchDistribution @ core.distribution.torch.torch_distribution
    models.torch.torch_distributions
.distributions.torch_continuous: TorchDeterministic TorchDiagGaussian TorchSquashedGaussian @
    core.distribution.torch.torch_distribution models.torch.torch_distributions
.distributions.torch_discrete: TorchCategorical TorchMultiCategorical @
    core.distribution.torch.torch_distribution models.torch.torch_distributions
.distributions.torch_multi: TorchMultiDistribution @ core.distribution.torch.torch_distribution
    models.torch.torch_distributions
.env_runners.base: EnvRunner @ env.env_runner
.env_runners.multi_agent: MultiAgentEnvRunner @ env.multi_agent_env_runner
.env_runners.observation_watch: NonFiniteError
.env_runners.single_agent: SingleAgentEnvRunner @ env.single_agent_env_runner
.envs.context: EnvContext @ env.env_context env.utils env
.envs.failures: EnvStepError
-.envs.foreign_agent_envs: SyncVectorMultiAgentEnv @ env.vector.sync_vector_multi_agent_env
-.envs.foreign_agent_envs: VectorMultiAgentEnv @ env.vector.vector_multi_agent_env
.envs.grouped_agents: GroupAgentsWrapper @ env.wrappers.group_agents_wrapper env
-.envs.grouped_agents: GROUP_INFO GROUP_REWARDS @ env.wrappers.group_agents_wrapper
.envs.multi_agent_env: make_multi_agent @ env.multi_agent_env
.envs.multi_agent_env: MultiAgentEnv @ env.multi_agent_env env.utils env /ray.rllib
-.envs.multi_agent_env: ENV_STATE @ env.multi_agent_env
.envs.petting_zoo: ParallelPettingZooEnv PettingZooEnv @ env.wrappers.pettingzoo_env env
.envs.registry: register_env @ /ray.tune.registry /ray.tune
.episodes.errors: MultiAgentEnvError @ utils.error
.episodes.lookback_buffer: InfiniteLookbackBuffer @ env.utils.infinite_lookback_buffer
.episodes.multi_agent: MultiAgentEpisode @ env.multi_agent_episode
.episodes.single_agent: SingleAgentEpisode @ env.single_agent_episode
.learning.cql: CQLTorchLearner @ algorithms.cql.torch.cql_torch_learner
.learning.iql: IQLLearner @ algorithms.iql.iql_learner
.learning.iql: IQLTorchLearner @ algorithms.iql.torch.iql_torch_learner
-.learning.iql: VF_LOSS @ algorithms.iql.iql_learner
.learning.dqn: DQNLearner @ algorithms.dqn.dqn_learner
.learning.dqn: DQNTorchLearner @ algorithms.dqn.torch.dqn_torch_learner
-.learning.dqn: QF_LOSS_KEY QF_MAX_KEY QF_MEAN_KEY QF_MIN_KEY TD_ERROR_MEAN_KEY @
    algorithms.dqn.dqn_learner algorithms.sac.sac_learner
.learning.learner: Learner @ core.learner.learner core.learner
.learning.learner_group: LearnerGroup @ core.learner.learner_group core.learner
.learning.marwil: BCTorchLearner
.learning.marwil: MARWILLearner @ algorithms.marwil.marwil_learner
.learning.marwil: MARWILTorchLearner @ algorithms.marwil.torch.marwil_torch_learner
.learning.optimizers: UnknownOptimizerError
.learning.ppo: PPOLearner @ algorithms.ppo.ppo_learner
.learning.ppo: PPOTorchLearner @ algorithms.ppo.torch.ppo_torch_learner
.learning.sac: SACLearner @ algorithms.sac.sac_learner
.learning.sac: SACTorchLearner @ algorithms.sac.torch.sac_torch_learner
-.learning.sac: LOGPS_KEY QF_TWIN_LOSS_KEY @ algorithms.sac.sac_learner
.learning.torch_learner: TorchLearner @ core.learner.torch.torch_learner
.learning.update_losses: LossError
.logging.loggers: CSVLogger JsonLogger TBXLogger UnifiedLogger
-.logging.loggers: Logger TBXLogger UnifiedLogger @ /ray.tune.logger
.logging.progress_line: ProgressLine
.metrics.metrics_logger: MetricsLogger @ utils.metrics.metrics_logger
-.metrics.names: LEARNER_RESULTS_VF_EXPLAINED_VAR_KEY @ algorithms.marwil.torch.marwil_torch_learner
    algorithms.ppo.torch.ppo_torch_learner algorithms.ppo.ppo algorithms.ppo.ppo_learner
-.metrics.names: POLICY_LOSS_KEY VF_LOSS_KEY @ algorithms.marwil.torch.marwil_torch_learner
    algorithms.ppo.torch.ppo_torch_learner core.learner.learner
-.metrics.names: ENV_RUNNER_RESULTS ENV_RUNNER_SAMPLING_TIMER LEARNER_RESULTS LEARNER_UPDATE_TIMER
    NUM_AGENT_STEPS_SAMPLED NUM_ENV_STEPS_SAMPLED SAMPLE_TIMER SYNCH_WORKER_WEIGHTS_TIMER TIMERS @
    algorithms.ppo.ppo
-.metrics.names: LEARNER_RESULTS_CURR_ENTROPY_COEFF_KEY @ algorithms.ppo.ppo
    algorithms.ppo.ppo_learner
-.metrics.names: NUM_ENV_STEPS_SAMPLED_LIFETIME @ algorithms.ppo.ppo algorithms.ppo.ppo_learner
    core.learner.learner
-.metrics.names: NUM_MODULE_STEPS_TRAINED_LIFETIME @ algorithms.ppo.ppo core.learner.learner
-.metrics.names: LEARNER_STATS_KEY @ algorithms.ppo.ppo utils.metrics.learner_info
-.metrics.names: LEARNER_RESULTS_CURR_KL_COEFF_KEY LEARNER_RESULTS_KL_KEY
    LEARNER_RESULTS_VF_LOSS_UNCLIPPED_KEY @ algorithms.ppo.torch.ppo_torch_learner
    algorithms.ppo.ppo algorithms.ppo.ppo_learner
-.metrics.names: ENTROPY_KEY @ algorithms.ppo.torch.ppo_torch_learner core.learner.learner
-.metrics.names: COMPONENT_ENV_RUNNER COMPONENT_ENV_TO_MODULE_CONNECTOR COMPONENT_EVAL_ENV_RUNNER
    COMPONENT_MODULE_TO_ENV_CONNECTOR @ core
-.metrics.names: DATASET_NUM_ITERS_TRAINED DATASET_NUM_ITERS_TRAINED_LIFETIME DEFAULT_OPTIMIZER
    MODULE_TRAIN_BATCH_SIZE_MEAN NUM_AGENT_STEPS_TRAINED NUM_ENV_STEPS_TRAINED
    NUM_ENV_STEPS_TRAINED_LIFETIME NUM_MODULE_STEPS_TRAINED @ core.learner.learner
-.metrics.names: COMPONENT_METRICS_LOGGER COMPONENT_OPTIMIZER @ core.learner.learner core
-.metrics.names: COMPONENT_RL_MODULE @ core.learner.learner utils.checkpoints core
-.metrics.names: DIFF_NUM_GRAD_UPDATES_VS_SAMPLER_POLICY NUM_NON_TRAINABLE_PARAMETERS
    NUM_TRAINABLE_PARAMETERS @ core.learner.torch.torch_learner
-.metrics.names: LR_KEY WEIGHTS_SEQ_NO @ core.learner.torch.torch_learner core.learner.learner
-.metrics.names: COMPONENT_LEARNER COMPONENT_LEARNER_GROUP @ utils.checkpoints core
-.metrics.names: * @ utils.metrics
.modules.action_distributions: UnsupportedSpaceException
.modules.encoders: TorchActorCriticEncoder TorchStatefulActorCriticEncoder @
    core.models.torch.encoder
.modules.apis: TARGET_NETWORK_ACTION_DIST_INPUTS @ core.rl_module.apis
.modules.apis: InferenceOnlyAPI @ core.rl_module.apis.inference_only_api core.rl_module.apis
.modules.apis: QNetAPI @ core.rl_module.apis.q_net_api core.rl_module.apis
.modules.apis: SelfSupervisedLossAPI @ core.rl_module.apis.self_supervised_loss_api
    core.rl_module.apis
.modules.apis: TargetNetworkAPI @ core.rl_module.apis.target_network_api core.rl_module.apis
.modules.apis: ValueFunctionAPI @ core.rl_module.apis.value_function_api core.rl_module.apis
.modules.bc: DefaultBCTorchRLModule @ algorithms.bc.torch.default_bc_torch_rl_module
-.modules.bc: BCTorchRLModuleWithSharedGlobalEncoder=DefaultBCTorchRLModule
-.modules.bc: BCTorchRLModule>DefaultBCTorchRLModule @ algorithms.bc.torch.bc_torch_rl_module
    algorithms.bc.bc_rl_module
.modules.catalog: Catalog @ core.models.catalog
-.modules.catalog: _check_if_diag_gaussian @ algorithms.ppo.ppo_catalog
.modules.catalogs: BCCatalog @ algorithms.bc.bc_catalog
.modules.catalogs: DQNCatalog @ algorithms.dqn.dqn_catalog
.modules.catalogs: PPOCatalog @ algorithms.ppo.ppo_catalog
.modules.catalogs: SACCatalog @ algorithms.sac.sac_catalog
-.modules.catalogs: DQNRainbowCatalog>DQNCatalog @ algorithms.dqn.dqn_rainbow_catalog
-.modules.catalogs: MARWILCatalog=PPOCatalog @ algorithms.marwil.marwil_catalog
.modules.described: DescribedTorchRLModule
.modules.cql: DefaultCQLTorchRLModule @ algorithms.cql.torch.default_cql_torch_rl_module
.modules.dqn: DefaultDQNRLModule @ algorithms.dqn.default_dqn_rl_module
.modules.dqn: DefaultDQNTorchRLModule @ algorithms.dqn.torch.default_dqn_torch_rl_module
-.modules.dqn: DQNTorchRLModule=DefaultDQNTorchRLModule
-.modules.dqn: ATOMS QF_LOGITS QF_NEXT_PREDS QF_PROBS QF_TARGET_NEXT_PREDS QF_TARGET_NEXT_PROBS @
    algorithms.dqn.default_dqn_rl_module
-.modules.dqn: QF_PREDS @ algorithms.dqn.default_dqn_rl_module algorithms.sac.sac_learner
-.modules.dqn: DQNRainbowTorchRLModule>DefaultDQNTorchRLModule @
    algorithms.dqn.torch.dqn_rainbow_torch_rl_module
.modules.encoders: TorchCNNEncoder TorchGRUEncoder TorchLSTMEncoder TorchMLPEncoder @
    core.models.torch.encoder
.modules.layers: TorchFreeLogStdMLPHead TorchMLPHead @ core.models.torch.heads
.modules.iql: DefaultIQLRLModule @ algorithms.iql.default_iql_rl_module
.modules.iql: DefaultIQLTorchRLModule @ algorithms.iql.torch.default_iql_torch_rl_module
-.modules.iql: QF_TARGET_PREDS VF_PREDS_NEXT @ algorithms.iql.iql_learner
.modules.layers: get_activation_fn
.modules.layers: TorchCNN TorchMLP @ core.models.torch.primitives
-.modules.layers: LayerNorm1D @ core.models.torch.primitives
.modules.model_config: DefaultModelConfig @ core.rl_module.default_model_config
~.modules.rl_module: RLModuleConfig @ core.rl_module.rl_module
.modules.multi_rl_module: UnknownModuleError
.modules.multi_rl_module: MultiRLModule @ core.rl_module.multi_rl_module core.rl_module
~.modules.multi_rl_module: MultiAgentRLModule>MultiRLModule @ core.rl_module.marl_module
    core.rl_module
.modules.multi_spec: MultiRLModuleSpec @ core.rl_module.multi_rl_module core.rl_module
~.modules.multi_spec: MultiAgentRLModuleSpec>MultiRLModuleSpec @ core.rl_module.marl_module
.modules.encoders: TorchMultiStreamEncoder @ core.models.torch.encoder
.modules.network_configs: ActorCriticEncoderConfig CNNEncoderConfig FreeLogStdMLPHeadConfig
    MLPEncoderConfig MLPHeadConfig ModelConfig MultiStreamEncoderConfig RecurrentEncoderConfig @
    core.models.configs
.modules.networks: ACTOR ActorCriticEncoder CRITIC ENCODER_OUT Encoder Model
    StatefulActorCriticEncoder @ core.models.base
.modules.ppo: DefaultAPPORLModule @ algorithms.appo.default_appo_rl_module
.modules.ppo: DefaultAPPOTorchRLModule @ algorithms.appo.torch.default_appo_torch_rl_module
.modules.ppo: DefaultPPORLModule @ algorithms.ppo.default_ppo_rl_module
.modules.ppo: DefaultPPOTorchRLModule @ algorithms.ppo.torch.default_ppo_torch_rl_module
-.modules.ppo: APPOTorchRLModule=DefaultAPPOTorchRLModule
    IMPALATorchRLModule=DefaultPPOTorchRLModule ImpalaTorchRLModule=DefaultPPOTorchRLModule
-.modules.ppo: MARWILTorchRLModule=DefaultPPOTorchRLModule @
    algorithms.marwil.torch.marwil_torch_rl_module
-.modules.ppo: PPORLModule=DefaultPPORLModule @ algorithms.ppo.ppo_rl_module
~.modules.ppo: PPOTorchRLModule>DefaultPPOTorchRLModule @ algorithms.ppo.torch.ppo_torch_rl_module
.modules.rl_module: InferenceOnlyError
.modules.rl_module: RLModule @ core.rl_module.rl_module core.rl_module
.modules.sac: DefaultSACRLModule @ algorithms.sac.default_sac_rl_module
.modules.sac: DefaultSACTorchRLModule @ algorithms.sac.torch.default_sac_torch_rl_module
-.modules.sac: ACTION_DIST_INPUTS_NEXT ACTION_LOG_PROBS ACTION_LOG_PROBS_NEXT ACTION_PROBS
    ACTION_PROBS_NEXT QF_TARGET_NEXT QF_TWIN_PREDS @ algorithms.sac.sac_learner
-.modules.sac: SACTorchRLModule>DefaultSACTorchRLModule @ algorithms.sac.torch.sac_torch_rl_module
.modules.schedules: Scheduler @ utils.schedules.scheduler
.modules.spec: RLModuleSpec @ core.rl_module.rl_module core.rl_module
~.modules.spec: SingleAgentRLModuleSpec>RLModuleSpec @ core.rl_module.rl_module
.modules.torch_model: make_target_network update_target_network @ core.learner.utils
.modules.torch_model: TorchModel @ core.models.torch.base
.modules.torch_rl_module: WeightShapeError
.modules.torch_rl_module: TorchRLModule @ core.rl_module.torch.torch_rl_module core.rl_module.torch
.recorded.prelearner: OfflinePreLearner
.replay.episode_replay_buffer: EpisodeReplayBuffer @ utils.replay_buffers.episode_replay_buffer
    utils.replay_buffers
.replay.multi_agent_episode_buffer: MultiAgentEpisodeReplayBuffer @
    utils.replay_buffers.multi_agent_episode_buffer utils.replay_buffers
.replay.multi_agent_episode_buffer: MultiAgentPrioritizedEpisodeReplayBuffer @
    utils.replay_buffers.multi_agent_prioritized_episode_buffer utils.replay_buffers
.replay.prioritized_episode_buffer: PrioritizedEpisodeReplayBuffer @
    utils.replay_buffers.prioritized_episode_buffer utils.replay_buffers
-.saving.checkpoint_files: CHECKPOINT_VERSION @ policy.policy utils.checkpoints
.saving.checkpointable: Checkpointable @ utils.checkpoints
.tuning: tuning=
..core.arrays.batching: BatchedNdArray batch unbatch
..core.arrays.compare: check
..core.arrays.one_hot: one_hot
..core.arrays.padding: create_mask_and_seq_lens split_and_zero_pad split_and_zero_pad_n_episodes
    unpad_data_if_necessary @ utils.postprocessing.zero_padding
..core.arrays.returns: compute_value_targets @ utils.postprocessing.value_predictions
..core.columns: DEFAULT_AGENT_ID @ core
..core.columns: Columns @ core.columns core
..core.columns: DEFAULT_MODULE_ID @ core.learner.learner core
..core.columns: ALL_MODULES @ core.learner.torch.torch_learner algorithms.ppo.ppo
    core.learner.learner utils.metrics core
~..core.columns: DEFAULT_POLICY_ID @ core.learner.learner utils.metrics.learner_info core
..core.errors: UnknownClassError
..core.formulas.actions: clip_action flatten_to_single_ndarray get_base_struct_from_space
    normalize_action unsquash_action
..core.formulas.convolutions: same_padding valid_padding
..core.formulas.initializers: get_initializer_fn normc_initializer
"""

TUNING: Final = """\
.tuner: Tuner @ /ray.tune.tuner /ray.tune
.tuner: run @ /ray.tune
..runs.training_run: TrainingRun
"""
