"""RLlib's old API stack: connectors, policies and local inference, without Ray.

    from rlconnect.legacy import Policy, local_policy_inference

Names are RLlib's and are fetched on first use, so that importing this package costs nothing.
Read `policy` and `inference` first, then `pipeline`; ARCHITECTURE.md walks one observation through.
"""

from __future__ import annotations

from ..core.importing.kept_names import KEPT
from ..core.importing.lazy_names import lazy_names

# Module -> the names it serves; a leading dot is this package, two the one above.
_HOMES = {
    ".policy.config": "AlgorithmConfig",
    ".connectors.connector": "ActionConnector AgentConnector Connector",
    ".connectors.context": "ConnectorContext",
    ".connectors.pipeline": "ActionConnectorPipeline AgentConnectorPipeline ConnectorPipeline",
    ".connectors.types": "ActionConnectorDataType AgentConnectorDataType AgentConnectorsOutput "
    "PolicyOutputType",
    ".connectors.registry": "get_connector register_connector",
    ".connectors.lambdas": "register_lambda_action_connector register_lambda_agent_connector",
    ".policy.default_connectors": "create_connectors_for_policy get_action_connectors_from_config "
    "get_agent_connectors_from_config get_synced_filter_connector "
    "maybe_get_filters_for_syncing restore_connectors_for_policy",
    ".connectors.agent.adapt_observations": "AdaptObservationsAgentConnector",
    ".connectors.agent.clip_reward": "ClipRewardAgentConnector",
    ".connectors.agent.env_sampling": "EnvSamplingAgentConnector",
    ".connectors.agent.flatten": "FlattenDataAgentConnector",
    ".connectors.agent.mean_std_filter": "ConcurrentMeanStdObservationFilterAgentConnector "
    "MeanStdObservationFilterAgentConnector",
    ".connectors.agent.obs_preproc": "ObsPreprocessorConnector",
    ".connectors.agent.state_buffer": "StateBufferConnector",
    ".connectors.agent.synced_filter": "SyncedFilterAgentConnector",
    ".connectors.agent.view_requirement": "ViewRequirementAgentConnector",
    ".connectors.action.adapt_actions": "AdaptActionsConnector",
    ".connectors.action.clip": "ClipActionsConnector",
    ".connectors.action.immutable": "ImmutableActionsConnector make_action_immutable",
    ".connectors.action.normalize": "NormalizeActionsConnector",
    ".connectors.action.to_numpy": "ConvertToNumpyConnector",
    # Batches
    ".batches.sample_batch": "SampleBatch",
    ".batches.multi_agent_batch": "MultiAgentBatch concat_samples concat_samples_into_ma_batch "
    "convert_ma_batch_to_sample_batch",
    ".batches.sequences": "add_time_dimension chop_into_sequences get_fold_unfold_fns "
    "pad_batch_to_sequences_of_same_size timeslice_along_seq_lens_with_overlap",
    ".views.collector": "AgentCollector",
    ".views.views": "ViewRequirement",
    ".batches.postprocessing": "Postprocessing compute_bootstrap_value "
    "compute_gae_for_sample_batch",
    "..core.arrays.returns": "adjust_nstep compute_advantages compute_value_targets "
    "discount_cumsum explained_variance extract_bootstrapped_values",
    # Observations
    ".observations.filter_base": "Filter NoFilter",
    ".observations.filters": "ConcurrentMeanStdFilter MeanStdFilter get_filter",
    "..core.formulas.running_stat": "RunningStat",
    ".observations.preprocessors": "AtariRamPreprocessor DictFlatteningPreprocessor "
    "GenericPixelPreprocessor MultiBinaryPreprocessor NoPreprocessor OneHotPreprocessor "
    "Preprocessor RepeatedValuesPreprocessor TupleFlatteningPreprocessor get_preprocessor "
    "get_preprocessor_for_space register_custom_preprocessor",
    # Spaces and values of them
    "..core.spaces.rllib_spaces": "FlexDict Repeated Simplex",
    "..core.spaces.codec": "gym_space_from_dict gym_space_to_dict space_from_dict space_to_dict",
    "..core.formulas.actions": "clip_action flatten_space flatten_to_single_ndarray "
    "get_base_struct_from_space get_original_space is_composite_space normalize_action "
    "unsquash_action",
    "..core.arrays.batching": "BatchedNdArray batch unbatch",
    "..core.rllib_utils.dummy_batches": "get_dummy_batch_for_space",
    "..core.rllib_utils.flat_inputs": "flatten_inputs_to_1d_tensor",
    "..core.arrays.one_hot": "one_hot one_hot_multidiscrete",
    "..core.rllib_utils.layer_formulas": "fc huber_loss l2_loss lstm relu sigmoid softmax",
    "..core.arrays.compare": "check",
    # Policies
    ".policy.policy": "Policy",
    ".policy.policy_spec": "PolicySpec",
    "..core.columns": "DEFAULT_POLICY_ID",
    ".policy.inference": "batch_policy_inference local_policy_inference",
    ".policy.export": "export_policies",
    ".policy.checkpoint_info": "get_checkpoint_info",
    ".policy.checkpoint_policies": "compute_log_likelihoods_from_input_dict "
    "create_policy_for_framework load_policies_from_checkpoint parse_policy_specs_from_checkpoint",
    # How policies explore
    ".exploration.exploration": "EpsilonGreedy Exploration PerWorkerEpsilonGreedy Random SoftQ "
    "StochasticSampling",
    ".exploration.noise": "GaussianNoise OrnsteinUhlenbeckNoise PerWorkerGaussianNoise "
    "PerWorkerOrnsteinUhlenbeckNoise",
    "..core.formulas.schedules": "ConstantSchedule ExponentialSchedule LinearSchedule "
    "PiecewiseSchedule PolynomialSchedule Schedule",
    # Networks and distributions, in torch
    ".models": "AppendBiasLayer AttentionWrapper ComplexInputNetwork FullyConnectedNetwork "
    "GTrXLNet LSTMWrapper LegacyModel MODEL_DEFAULTS ModelCatalog ModelV2 "
    "RecurrentNetwork RepeatedValues Reshape SlimConv2d SlimFC TorchModelV2 "
    "VisionNetwork flatten get_activation_fn get_filter_config get_initializer_fn "
    "normc_initializer register_custom_action_dist register_custom_model "
    "restore_original_dimensions same_padding valid_padding",
    ".distributions": "ActionDistribution TorchBeta TorchCategorical TorchDeterministic "
    "TorchDiagGaussian TorchDirichlet TorchDistributionWrapper TorchMultiActionDistribution "
    "TorchMultiCategorical TorchSlateMultiCategorical TorchSquashedGaussian "
    "get_torch_categorical_class_with_temperature",
    ".models.tensor_functions": "FLOAT_MAX FLOAT_MIN convert_to_torch_tensor "
    "reduce_mean_ignore_inf sequence_mask",
    "..core.rllib_utils.tensor_formulas": "copy_torch_tensors inverse_symlog set_torch_seed "
    "softmax_cross_entropy_with_logits symlog two_hot",
    "..core.rllib_utils.gradients": "clip_gradients compute_global_norm global_norm "
    "update_target_network",
}
# What old sources import and nothing depends on: served, and out of sight.
_KEPT_HOMES = {
    "..core.rllib_utils.container_values": "LambdaDefaultDict NullContextManager add_mixins "
    "flatten_dict force_list force_tuple unflatten_dict",
    "..core.rllib_utils.environment_errors": "EnvError NotSerializable StepFailedRecreateEnvError "
    "UnsupportedSpaceException",
    "..core.arrays.padding": "create_mask_and_seq_lens split_and_zero_pad "
    "split_and_zero_pad_n_episodes unpad_data_if_necessary",
    "..core.rllib_utils.annotations": "DeveloperAPI ExperimentalAPI OldAPIStack "
    "OverrideToImplementCustomLogic OverrideToImplementCustomLogic_CallToSuperRecommended "
    "PublicAPI",
    "..core.rllib_utils.frameworks": "convert_to_numpy try_import_jax try_import_tf try_import_tfp "
    "try_import_torch",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
_KEPT = {name: home for home, names in _KEPT_HOMES.items() for name in names.split()} | KEPT

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME, _KEPT)
