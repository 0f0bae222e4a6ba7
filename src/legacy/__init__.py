"""RLlib's old API stack: connectors, policies and local inference, without Ray.

    from rlconnect.legacy import Policy, local_policy_inference

Names are RLlib's and are fetched on first use, so that importing this package costs nothing.
Read `policy` and `inference` first, then `pipeline`; ARCHITECTURE.md walks one observation through.
"""

from __future__ import annotations

from ..core.kept_names import KEPT
from ..core.lazy_names import lazy_names

# Module -> the names it serves; a leading dot is this package, two the one above.
_HOMES = {
    ".config": "AlgorithmConfig",
    ".connector": "ActionConnector AgentConnector Connector",
    ".context": "ConnectorContext",
    ".pipeline": "ActionConnectorPipeline AgentConnectorPipeline ConnectorPipeline",
    ".types": "ActionConnectorDataType AgentConnectorDataType AgentConnectorsOutput "
    "PolicyOutputType",
    ".registry": "get_connector register_connector",
    ".lambdas": "register_lambda_action_connector register_lambda_agent_connector",
    ".defaults": "create_connectors_for_policy get_action_connectors_from_config "
    "get_agent_connectors_from_config get_synced_filter_connector "
    "maybe_get_filters_for_syncing restore_connectors_for_policy",
    ".agent.adapt_observations": "AdaptObservationsAgentConnector",
    ".agent.clip_reward": "ClipRewardAgentConnector",
    ".agent.env_sampling": "EnvSamplingAgentConnector",
    ".agent.flatten": "FlattenDataAgentConnector",
    ".agent.mean_std_filter": "ConcurrentMeanStdObservationFilterAgentConnector "
    "MeanStdObservationFilterAgentConnector",
    ".agent.obs_preproc": "ObsPreprocessorConnector",
    ".agent.state_buffer": "StateBufferConnector",
    ".agent.synced_filter": "SyncedFilterAgentConnector",
    ".agent.view_requirement": "ViewRequirementAgentConnector",
    ".action.adapt_actions": "AdaptActionsConnector",
    ".action.clip": "ClipActionsConnector",
    ".action.immutable": "ImmutableActionsConnector make_action_immutable",
    ".action.normalize": "NormalizeActionsConnector",
    ".action.to_numpy": "ConvertToNumpyConnector",
    # Batches
    ".sample_batch": "SampleBatch",
    ".multi_agent_batch": "MultiAgentBatch concat_samples concat_samples_into_ma_batch "
    "convert_ma_batch_to_sample_batch",
    ".sequences": "add_time_dimension chop_into_sequences get_fold_unfold_fns "
    "pad_batch_to_sequences_of_same_size timeslice_along_seq_lens_with_overlap",
    ".collector": "AgentCollector",
    ".views": "ViewRequirement",
    ".postprocessing": "Postprocessing compute_bootstrap_value compute_gae_for_sample_batch",
    "..core.returns": "adjust_nstep compute_advantages compute_value_targets discount_cumsum "
    "explained_variance extract_bootstrapped_values",
    # Observations
    ".filter_base": "Filter NoFilter",
    ".filters": "ConcurrentMeanStdFilter MeanStdFilter get_filter",
    "..core.running_stat": "RunningStat",
    ".preprocessors": "AtariRamPreprocessor DictFlatteningPreprocessor GenericPixelPreprocessor "
    "MultiBinaryPreprocessor NoPreprocessor OneHotPreprocessor Preprocessor "
    "RepeatedValuesPreprocessor TupleFlatteningPreprocessor get_preprocessor "
    "get_preprocessor_for_space register_custom_preprocessor",
    # Spaces and values of them
    "..core.rllib_spaces": "FlexDict Repeated Simplex",
    "..core.space_codec": "gym_space_from_dict gym_space_to_dict space_from_dict space_to_dict",
    "..core.actions": "clip_action flatten_space flatten_to_single_ndarray "
    "get_base_struct_from_space get_original_space is_composite_space normalize_action "
    "unsquash_action",
    "..core.batching": "BatchedNdArray batch unbatch",
    "..core.dummy_batches": "get_dummy_batch_for_space",
    "..core.flat_inputs": "flatten_inputs_to_1d_tensor",
    "..core.one_hot": "one_hot one_hot_multidiscrete",
    "..core.layer_formulas": "fc huber_loss l2_loss lstm relu sigmoid softmax",
    "..core.compare": "check",
    # Policies
    ".policy": "Policy",
    ".policy_spec": "PolicySpec",
    "..core.columns": "DEFAULT_POLICY_ID",
    ".inference": "batch_policy_inference local_policy_inference",
    ".export": "export_policies",
    ".checkpoint_info": "get_checkpoint_info",
    ".checkpoint_policies": "compute_log_likelihoods_from_input_dict create_policy_for_framework "
    "load_policies_from_checkpoint parse_policy_specs_from_checkpoint",
    # How policies explore
    ".exploration": "EpsilonGreedy Exploration PerWorkerEpsilonGreedy Random SoftQ "
    "StochasticSampling",
    ".exploration_noise": "GaussianNoise OrnsteinUhlenbeckNoise PerWorkerGaussianNoise "
    "PerWorkerOrnsteinUhlenbeckNoise",
    ".schedules": "ConstantSchedule ExponentialSchedule LinearSchedule PiecewiseSchedule "
    "PolynomialSchedule Schedule",
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
    "..core.tensor_formulas": "copy_torch_tensors inverse_symlog set_torch_seed "
    "softmax_cross_entropy_with_logits symlog two_hot",
    "..core.gradients": "clip_gradients compute_global_norm global_norm update_target_network",
}
# What old sources import and nothing depends on: served, and out of sight.
_KEPT_HOMES = {
    "..core.container_values": "LambdaDefaultDict NullContextManager add_mixins flatten_dict "
    "force_list force_tuple unflatten_dict",
    "..core.environment_errors": "EnvError NotSerializable StepFailedRecreateEnvError "
    "UnsupportedSpaceException",
    "..core.padding": "create_mask_and_seq_lens split_and_zero_pad "
    "split_and_zero_pad_n_episodes unpad_data_if_necessary",
    "..core.annotations": "DeveloperAPI ExperimentalAPI OldAPIStack "
    "OverrideToImplementCustomLogic OverrideToImplementCustomLogic_CallToSuperRecommended "
    "PublicAPI",
    "..core.frameworks": "convert_to_numpy try_import_jax try_import_tf try_import_tfp "
    "try_import_torch",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
_KEPT = {name: home for home, names in _KEPT_HOMES.items() for name in names.split()} | KEPT

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME, _KEPT)
