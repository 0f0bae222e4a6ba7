"""Modules, catalogs, learners and distributions of the new stack.

A row says which names a module of `ray.rllib` has, and where ours are: see `table`.
"""

from typing import Final

HOMES: Final = {
    "core": (
        "v2: ALL_MODULES Columns DEFAULT_AGENT_ID DEFAULT_MODULE_ID DEFAULT_POLICY_ID; "
        "v2.metrics.names: COMPONENT_ENV_RUNNER COMPONENT_ENV_TO_MODULE_CONNECTOR "
        "COMPONENT_EVAL_ENV_RUNNER COMPONENT_LEARNER COMPONENT_LEARNER_GROUP "
        "COMPONENT_METRICS_LOGGER COMPONENT_MODULE_TO_ENV_CONNECTOR COMPONENT_OPTIMIZER "
        "COMPONENT_RL_MODULE"
    ),
    "core.columns": "v2: Columns",
    "core.distribution.distribution": "v2: Distribution",
    "core.distribution.torch.torch_distribution": (
        "v2: TorchCategorical TorchDeterministic TorchDiagGaussian TorchDistribution "
        "TorchMultiCategorical TorchMultiDistribution TorchSquashedGaussian"
    ),
    "core.learner": "v2: Learner LearnerGroup",
    "core.learner.learner": (
        "stand-in: LearnerHyperparameters LearnerSpec; v2: ALL_MODULES DEFAULT_MODULE_ID "
        "DEFAULT_POLICY_ID Learner; v2.metrics.names: COMPONENT_METRICS_LOGGER "
        "COMPONENT_OPTIMIZER COMPONENT_RL_MODULE DATASET_NUM_ITERS_TRAINED "
        "DATASET_NUM_ITERS_TRAINED_LIFETIME DEFAULT_OPTIMIZER ENTROPY_KEY LR_KEY "
        "MODULE_TRAIN_BATCH_SIZE_MEAN NUM_AGENT_STEPS_TRAINED NUM_ENV_STEPS_SAMPLED_LIFETIME "
        "NUM_ENV_STEPS_TRAINED NUM_ENV_STEPS_TRAINED_LIFETIME NUM_MODULE_STEPS_TRAINED "
        "NUM_MODULE_STEPS_TRAINED_LIFETIME POLICY_LOSS_KEY VF_LOSS_KEY WEIGHTS_SEQ_NO"
    ),
    "core.learner.learner_group": "v2: LearnerGroup",
    "core.learner.torch.torch_learner": (
        "v2: ALL_MODULES TorchLearner; v2.metrics.names: DIFF_NUM_GRAD_UPDATES_VS_SAMPLER_POLICY "
        "LR_KEY NUM_NON_TRAINABLE_PARAMETERS NUM_TRAINABLE_PARAMETERS WEIGHTS_SEQ_NO"
    ),
    "core.learner.training_data": "stand-in: TrainingData",
    "core.learner.utils": "v2: make_target_network update_target_network",
    "core.models.base": (
        "v2: ACTOR ActorCriticEncoder CRITIC ENCODER_OUT Encoder Model StatefulActorCriticEncoder"
    ),
    "core.models.catalog": "v2: Catalog",
    "core.models.configs": (
        "v2: ActorCriticEncoderConfig CNNEncoderConfig FreeLogStdMLPHeadConfig MLPEncoderConfig "
        "MLPHeadConfig ModelConfig MultiStreamEncoderConfig RecurrentEncoderConfig"
    ),
    "core.models.specs.specs_base": "stand-in: Spec TensorSpec TypeSpec",
    "core.models.specs.specs_dict": "stand-in: SpecDict",
    "core.models.specs.typing": "stand-in: SpecType",
    "core.models.torch.base": "v2: TorchModel",
    "core.models.torch.encoder": (
        "v2: TorchActorCriticEncoder TorchCNNEncoder TorchGRUEncoder TorchLSTMEncoder "
        "TorchMLPEncoder TorchMultiStreamEncoder TorchStatefulActorCriticEncoder"
    ),
    "core.models.torch.heads": "v2: TorchFreeLogStdMLPHead TorchMLPHead",
    "core.models.torch.primitives": "v2: TorchCNN TorchMLP; v2.modules.layers: LayerNorm1D",
    "core.rl_module": (
        "legacy: DeveloperAPI; v2: MultiAgentRLModule MultiRLModule MultiRLModuleSpec RLModule "
        "RLModuleSpec"
    ),
    "core.rl_module.apis": (
        "v2: InferenceOnlyAPI QNetAPI SelfSupervisedLossAPI TARGET_NETWORK_ACTION_DIST_INPUTS "
        "TargetNetworkAPI ValueFunctionAPI"
    ),
    "core.rl_module.apis.inference_only_api": "v2: InferenceOnlyAPI",
    "core.rl_module.apis.q_net_api": "v2: QNetAPI",
    "core.rl_module.apis.self_supervised_loss_api": "v2: SelfSupervisedLossAPI",
    "core.rl_module.apis.target_network_api": "v2: TargetNetworkAPI",
    "core.rl_module.apis.value_function_api": "v2: ValueFunctionAPI",
    "core.rl_module.default_model_config": "v2: DefaultModelConfig",
    "core.rl_module.marl_module": (
        "stand-in: MultiAgentRLModuleConfig; v2: MultiAgentRLModule MultiAgentRLModuleSpec"
    ),
    "core.rl_module.multi_rl_module": (
        "stand-in: MultiRLModuleConfig; v2: MultiRLModule MultiRLModuleSpec"
    ),
    "core.rl_module.rl_module": (
        "v2: RLModule RLModuleConfig RLModuleSpec SingleAgentRLModuleSpec"
    ),
    "core.rl_module.tf.tf_rl_module": "stand-in: TfRLModule",
    "core.rl_module.torch": "v2: TorchRLModule",
    "core.rl_module.torch.torch_rl_module": "v2: TorchRLModule",
}
