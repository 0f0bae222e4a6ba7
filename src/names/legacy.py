"""The old stack: rows of `rlconnect.legacy`; the package says how one is written."""

from __future__ import annotations

from typing import Final

LEGACY: Final = """\
.batches.multi_agent_batch: concat_samples concat_samples_into_ma_batch
    convert_ma_batch_to_sample_batch @ policy.sample_batch
.batches.multi_agent_batch: MultiAgentBatch @ policy.sample_batch evaluation
.batches.postprocessing: Postprocessing compute_bootstrap_value compute_gae_for_sample_batch @
    evaluation.postprocessing
.batches.sample_batch: SampleBatch @ policy.sample_batch evaluation /ray.rllib
.batches.sequences: add_time_dimension chop_into_sequences get_fold_unfold_fns
    pad_batch_to_sequences_of_same_size timeslice_along_seq_lens_with_overlap @
    policy.rnn_sequencing
.connectors.action.adapt_actions: AdaptActionsConnector
.connectors.action.clip: ClipActionsConnector @ =
.connectors.action.immutable: ImmutableActionsConnector @ =
.connectors.action.immutable: make_action_immutable @ utils.numpy
.connectors.action.normalize: NormalizeActionsConnector @ =
.connectors.action.to_numpy: ConvertToNumpyConnector @ connectors.action.lambdas
.connectors.agent.adapt_observations: AdaptObservationsAgentConnector
.connectors.agent.clip_reward: ClipRewardAgentConnector @ =
.connectors.agent.env_sampling: EnvSamplingAgentConnector @ =
.connectors.agent.flatten: FlattenDataAgentConnector @ connectors.agent.lambdas
.connectors.agent.mean_std_filter: ConcurrentMeanStdObservationFilterAgentConnector
    MeanStdObservationFilterAgentConnector @ =
.connectors.agent.mean_std_filter: SyncedFilterAgentConnector @ connectors.agent.synced_filter
.connectors.agent.obs_preproc: ObsPreprocessorConnector @ =
.connectors.agent.state_buffer: StateBufferConnector @ =
.connectors.agent.view_requirement: ViewRequirementAgentConnector @ =
.connectors.connector: ActionConnector AgentConnector Connector @ =
.connectors.context: ConnectorContext @ connectors.connector
.connectors.lambdas: register_lambda_action_connector @ connectors.action.lambdas
.connectors.lambdas: register_lambda_agent_connector @ connectors.agent.lambdas
.connectors.pipeline: ActionConnectorPipeline @ connectors.action.pipeline
.connectors.pipeline: AgentConnectorPipeline @ connectors.agent.pipeline
.connectors.pipeline: ConnectorPipeline @ connectors.connector
.connectors.registry: get_connector register_connector @ =
-.connectors.timers: _Timer=Timer @ /ray.util.timer
.connectors.types: ActionConnectorDataType AgentConnectorDataType AgentConnectorsOutput
    PolicyOutputType @ utils.typing
.distributions.torch_base: ActionDistribution @ models.action_dist models
.distributions.torch_base: TorchDistributionWrapper @ models.torch.torch_action_dist
.distributions.torch_continuous: TorchBeta TorchDeterministic TorchDiagGaussian TorchDirichlet
    TorchSquashedGaussian @ models.torch.torch_action_dist
.distributions.torch_discrete: TorchCategorical TorchMultiCategorical TorchSlateMultiCategorical
    get_torch_categorical_class_with_temperature @ models.torch.torch_action_dist
.distributions.torch_multi: TorchMultiActionDistribution @ models.torch.torch_action_dist
-.exploration.config: ParameterNoise @ utils.exploration.parameter_noise utils.exploration
.exploration.exploration: EpsilonGreedy @ utils.exploration.epsilon_greedy utils.exploration
.exploration.exploration: Exploration @ utils.exploration.exploration utils.exploration
.exploration.exploration: PerWorkerEpsilonGreedy @ utils.exploration.per_worker_epsilon_greedy
    utils.exploration
.exploration.exploration: Random @ utils.exploration.random utils.exploration
.exploration.exploration: SoftQ @ utils.exploration.soft_q utils.exploration
.exploration.exploration: StochasticSampling @ utils.exploration.stochastic_sampling
    utils.exploration
.exploration.noise: GaussianNoise @ utils.exploration.gaussian_noise utils.exploration
.exploration.noise: OrnsteinUhlenbeckNoise @ utils.exploration.ornstein_uhlenbeck_noise
    utils.exploration
.exploration.noise: PerWorkerGaussianNoise @ utils.exploration.per_worker_gaussian_noise
    utils.exploration
.exploration.noise: PerWorkerOrnsteinUhlenbeckNoise @
    utils.exploration.per_worker_ornstein_uhlenbeck_noise utils.exploration
-.heads.dqn_model: DQNTorchModel @ algorithms.dqn.dqn_torch_model
-.heads.dqn_model: NoisyLayer @ models.torch.modules.noisy_layer
-.heads.sac_model: SACTorchModel @ algorithms.sac.sac_torch_model
.distributions.registered: register_custom_action_dist register_custom_model
.models.attention: AttentionWrapper GTrXLNet @ models.torch.attention_net
.models.base: LegacyModel
.models.base: ModelV2 @ models.modelv2 models
.models.base: TorchModelV2 @ models.torch.torch_modelv2
.models.complex: ComplexInputNetwork @ models.torch.complex_input_net
.models.defaults: MODEL_DEFAULTS @ models
.models.defaults: get_filter_config @ models.utils
.models.fcnet: FullyConnectedNetwork @ models.torch.fcnet
.models.layers: AppendBiasLayer Reshape SlimConv2d SlimFC normc_initializer same_padding
    valid_padding @ models.torch.misc
.models.layers: get_activation_fn @ models.utils utils.framework
.models.layers: get_initializer_fn @ models.utils
.models.lstm: LSTMWrapper RecurrentNetwork @ models.torch.recurrent_net
.models.model_catalog: ModelCatalog @ models.catalog models
.models.flat_layout: flatten restore_original_dimensions @ models.modelv2
.models.flat_layout: RepeatedValues @ models.repeated_values
.models.visionnet: VisionNetwork @ models.torch.visionnet
-.models.attention: GRUGate @ models.torch.modules.gru_gate models.torch.modules
-.models.attention: RelativePositionEmbedding @ models.torch.modules.relative_multi_head_attention
-.models.attention: RelativeMultiHeadAttention @ models.torch.modules.relative_multi_head_attention
    models.torch.modules
-.models.attention: SkipConnection @ models.torch.modules.skip_connection models.torch.modules
.models.tensor_functions: FLOAT_MAX FLOAT_MIN convert_to_torch_tensor reduce_mean_ignore_inf
    sequence_mask @ utils.torch_utils
.observations.filters: NoFilter @ utils.filter
.observations.filters: Filter @ utils.filter utils
.observations.filters: ConcurrentMeanStdFilter MeanStdFilter get_filter @ utils.filter
.observations.preprocessors: get_preprocessor_for_space register_custom_preprocessor
.observations.preprocessors: AtariRamPreprocessor DictFlatteningPreprocessor
    GenericPixelPreprocessor MultiBinaryPreprocessor NoPreprocessor OneHotPreprocessor
    RepeatedValuesPreprocessor TupleFlatteningPreprocessor get_preprocessor @ models.preprocessors
.observations.preprocessors: Preprocessor @ models.preprocessors models
.policy.checkpoint_policies: get_checkpoint_info @ utils.checkpoints
.policy.checkpoint_policies: compute_log_likelihoods_from_input_dict create_policy_for_framework
    load_policies_from_checkpoint parse_policy_specs_from_checkpoint @ utils.policy
.policy.config: AlgorithmConfig
.policy.default_connectors: create_connectors_for_policy get_action_connectors_from_config
    get_agent_connectors_from_config get_synced_filter_connector maybe_get_filters_for_syncing
    restore_connectors_for_policy @ connectors.util
.policy.export: export_policies
.policy.inference: batch_policy_inference
.policy.inference: local_policy_inference @ utils.policy
.policy.policy: Policy @ = policy /ray.rllib
.policy.policy_spec: PolicySpec @ policy.policy
.views.collector: AgentCollector @ evaluation.collectors.agent_collector
.views.views: ViewRequirement @ policy.view_requirement
..core.arrays.batching: BatchedNdArray batch unbatch @ utils.spaces.space_utils
..core.arrays.compare: check @ utils.test_utils utils
..core.arrays.one_hot: one_hot_multidiscrete @ utils.numpy
..core.arrays.one_hot: one_hot @ utils.numpy utils.torch_utils utils
~..core.arrays.padding: create_mask_and_seq_lens split_and_zero_pad split_and_zero_pad_n_episodes
    unpad_data_if_necessary
..core.arrays.returns: compute_value_targets
..core.arrays.returns: adjust_nstep discount_cumsum @ evaluation.postprocessing
..core.arrays.returns: compute_advantages @ evaluation.postprocessing evaluation
..core.arrays.returns: extract_bootstrapped_values @ utils.postprocessing.value_predictions
..core.arrays.returns: explained_variance @ utils.torch_utils
..core.columns: DEFAULT_POLICY_ID @ policy.sample_batch
..core.formulas.actions: clip_action flatten_space flatten_to_single_ndarray
    get_base_struct_from_space get_original_space is_composite_space normalize_action
    unsquash_action @ utils.spaces.space_utils
..core.formulas.running_stat: RunningStat @ utils.filter
..core.formulas.schedules: ConstantSchedule @ utils.schedules.constant_schedule utils.schedules
    utils
..core.formulas.schedules: ExponentialSchedule @ utils.schedules.exponential_schedule
    utils.schedules utils
..core.formulas.schedules: LinearSchedule @ utils.schedules.linear_schedule utils.schedules utils
..core.formulas.schedules: PiecewiseSchedule @ utils.schedules.piecewise_schedule utils.schedules
    utils
..core.formulas.schedules: PolynomialSchedule @ utils.schedules.polynomial_schedule utils.schedules
    utils
..core.formulas.schedules: Schedule @ utils.schedules.schedule utils.schedules
~..core.rllib_utils.annotations: DeveloperAPI @ core.rl_module utils.annotations utils
    /ray.util.annotations
~..core.rllib_utils.annotations: PublicAPI @ env.utils utils.annotations utils /ray.util.annotations
~..core.rllib_utils.annotations: OverrideToImplementCustomLogic
    OverrideToImplementCustomLogic_CallToSuperRecommended @ utils.annotations
~..core.rllib_utils.annotations: ExperimentalAPI OldAPIStack @ utils.typing
~..core.rllib_utils.container_values: NullContextManager add_mixins flatten_dict force_list
    force_tuple unflatten_dict @ utils
~..core.rllib_utils.container_values: LambdaDefaultDict @ utils.lambda_defaultdict
..core.rllib_utils.dummy_batches: get_dummy_batch_for_space @ utils.spaces.space_utils
~..core.rllib_utils.environment_errors: StepFailedRecreateEnvError @ env.env_errors
~..core.rllib_utils.environment_errors: EnvError @ env.utils utils.error
~..core.rllib_utils.environment_errors: NotSerializable UnsupportedSpaceException @ utils.error
..core.rllib_utils.layer_formulas: flatten_inputs_to_1d_tensor @ utils.numpy utils.torch_utils
~..core.rllib_utils.frameworks: try_import_jax try_import_tf try_import_tfp try_import_torch @
    utils.framework utils
~..core.rllib_utils.frameworks: convert_to_numpy @ utils.numpy
..core.rllib_utils.gradients: clip_gradients compute_global_norm global_norm update_target_network @
    utils.torch_utils
..core.rllib_utils.layer_formulas: fc lstm relu sigmoid softmax @ utils.numpy utils
..core.rllib_utils.layer_formulas: huber_loss l2_loss @ utils.numpy utils.torch_utils
..core.rllib_utils.tensor_formulas: copy_torch_tensors inverse_symlog set_torch_seed
    softmax_cross_entropy_with_logits symlog two_hot @ utils.torch_utils
..core.spaces.ray_layouts: gym_space_from_dict gym_space_to_dict space_from_dict space_to_dict @
    utils.serialization
..core.spaces.rllib_spaces: FlexDict @ utils.spaces.flexdict
..core.spaces.rllib_spaces: Repeated @ utils.spaces.repeated
..core.spaces.rllib_spaces: Simplex @ utils.spaces.simplex
"""
