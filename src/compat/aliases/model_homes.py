"""Policies, batches, models and action distributions of the old stack.

A row says which names a module of `ray.rllib` has, and where ours are: see `table`.
"""

from typing import Final

HOMES: Final = {
    "models": "legacy: ActionDistribution MODEL_DEFAULTS ModelCatalog ModelV2 Preprocessor",
    "models.action_dist": "legacy: ActionDistribution",
    "models.catalog": "legacy: ModelCatalog",
    "models.distributions": "v2: Distribution",
    "models.modelv2": "legacy: ModelV2 flatten restore_original_dimensions",
    "models.preprocessors": (
        "legacy: AtariRamPreprocessor DictFlatteningPreprocessor GenericPixelPreprocessor "
        "MultiBinaryPreprocessor NoPreprocessor OneHotPreprocessor Preprocessor "
        "RepeatedValuesPreprocessor TupleFlatteningPreprocessor get_preprocessor"
    ),
    "models.repeated_values": "legacy: RepeatedValues",
    "models.tf.fcnet": "stand-in: FullyConnectedNetwork=TFFullyConnectedNetwork",
    "models.tf.misc": "stand-in: normc_initializer=TFNormcInitializer",
    "models.tf.recurrent_net": "stand-in: RecurrentNetwork=TFRecurrentNetwork",
    "models.tf.tf_action_dist": (
        "stand-in: Categorical=TFCategorical Deterministic=TFDeterministic "
        "DiagGaussian=TFDiagGaussian TFActionDistribution"
    ),
    "models.tf.tf_modelv2": "stand-in: TFModelV2",
    "models.tf.visionnet": "stand-in: VisionNetwork=TFVisionNetwork",
    "models.torch.attention_net": "legacy: AttentionWrapper GTrXLNet",
    "models.torch.complex_input_net": "legacy: ComplexInputNetwork",
    "models.torch.fcnet": "legacy: FullyConnectedNetwork",
    "models.torch.misc": (
        "legacy: AppendBiasLayer Reshape SlimConv2d SlimFC normc_initializer same_padding "
        "valid_padding"
    ),
    "models.torch.modules": (
        "legacy.models.gtrxl: GRUGate RelativeMultiHeadAttention SkipConnection"
    ),
    "models.torch.modules.gru_gate": "legacy.models.gtrxl: GRUGate",
    "models.torch.modules.noisy_layer": "legacy.heads.noisy: NoisyLayer",
    "models.torch.modules.relative_multi_head_attention": (
        "legacy.models.gtrxl: RelativeMultiHeadAttention RelativePositionEmbedding"
    ),
    "models.torch.modules.skip_connection": "legacy.models.gtrxl: SkipConnection",
    "models.torch.recurrent_net": "legacy: LSTMWrapper RecurrentNetwork",
    "models.torch.torch_action_dist": (
        "legacy: TorchBeta TorchCategorical TorchDeterministic TorchDiagGaussian TorchDirichlet "
        "TorchDistributionWrapper TorchMultiActionDistribution TorchMultiCategorical "
        "TorchSlateMultiCategorical TorchSquashedGaussian "
        "get_torch_categorical_class_with_temperature"
    ),
    "models.torch.torch_distributions": (
        "v2: TorchCategorical TorchDeterministic TorchDiagGaussian TorchDistribution "
        "TorchMultiCategorical TorchMultiDistribution TorchSquashedGaussian"
    ),
    "models.torch.torch_modelv2": "legacy: TorchModelV2",
    "models.torch.visionnet": "legacy: VisionNetwork",
    "models.utils": "legacy: get_activation_fn get_filter_config get_initializer_fn",
    "policy": "legacy: Policy; stand-in: TFPolicy TorchPolicy",
    "policy.dynamic_tf_policy_v2": "stand-in: DynamicTFPolicyV2",
    "policy.eager_tf_policy_v2": "stand-in: EagerTFPolicyV2",
    "policy.policy": "legacy: Policy PolicySpec; v2.saving.checkpoint_files: CHECKPOINT_VERSION",
    "policy.policy_map": "stand-in: PolicyMap",
    "policy.rnn_sequencing": (
        "legacy: add_time_dimension chop_into_sequences get_fold_unfold_fns "
        "pad_batch_to_sequences_of_same_size timeslice_along_seq_lens_with_overlap"
    ),
    "policy.sample_batch": (
        "legacy: DEFAULT_POLICY_ID MultiAgentBatch SampleBatch concat_samples "
        "concat_samples_into_ma_batch convert_ma_batch_to_sample_batch"
    ),
    "policy.tf_policy": "stand-in: TFPolicy",
    "policy.torch_mixins": (
        "stand-in: EntropyCoeffSchedule KLCoeffMixin LearningRateSchedule TargetNetworkMixin "
        "ValueNetworkMixin"
    ),
    "policy.torch_policy": "stand-in: TorchPolicy",
    "policy.torch_policy_v2": "stand-in: TorchPolicyV2",
    "policy.view_requirement": "legacy: ViewRequirement",
}
