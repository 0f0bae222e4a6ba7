"""The ConnectorV2 stack: every public name of it, flat.

A name is loaded from its module on first use, so importing this package is cheap and loads no
torch. The table says where each name lives; it is the public surface.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_HOME: Final = {
    # Columns and ids
    "ALL_MODULES": ".columns",
    "Columns": ".columns",
    "DEFAULT_AGENT_ID": ".columns",
    "DEFAULT_MODULE_ID": ".columns",
    "DEFAULT_POLICY_ID": ".columns",
    # What modules promise
    "InferenceOnlyAPI": ".apis",
    "QNetAPI": ".apis",
    "SelfSupervisedLossAPI": ".apis",
    "TARGET_NETWORK_ACTION_DIST_INPUTS": ".apis",
    "TargetNetworkAPI": ".apis",
    "ValueFunctionAPI": ".apis",
    # Saving
    "Checkpointable": ".checkpointable",
    "UnknownClassError": ".class_names",
    # Pieces and pipelines
    "ConnectorPipelineV2": ".pipeline",
    "ConnectorV2": ".connector",
    "EnvToModulePipeline": ".env_to_module.env_to_module_pipeline",
    "LearnerConnectorPipeline": ".learner.learner_connector_pipeline",
    "ModuleToEnvPipeline": ".module_to_env.module_to_env_pipeline",
    # Modules
    "DefaultAPPORLModule": ".modules.ppo",
    "DefaultAPPOTorchRLModule": ".modules.ppo",
    "DefaultBCTorchRLModule": ".modules.bc",
    "DefaultDQNRLModule": ".modules.dqn",
    "DefaultDQNTorchRLModule": ".modules.dqn",
    "DefaultModelConfig": ".modules.model_config",
    "DefaultPPORLModule": ".modules.ppo",
    "DefaultPPOTorchRLModule": ".modules.ppo",
    "DefaultSACRLModule": ".modules.sac",
    "DefaultSACTorchRLModule": ".modules.sac",
    "InferenceOnlyError": ".modules.rl_module",
    "MultiAgentRLModule": ".modules.multi_rl_module:MultiRLModule",
    "MultiAgentRLModuleSpec": ".modules.multi_spec:MultiRLModuleSpec",
    "MultiRLModule": ".modules.multi_rl_module",
    "MultiRLModuleSpec": ".modules.multi_spec",
    "PPOTorchRLModule": ".modules.ppo:DefaultPPOTorchRLModule",
    "RLModule": ".modules.rl_module",
    "RLModuleSpec": ".modules.spec",
    "SingleAgentRLModuleSpec": ".modules.spec:RLModuleSpec",
    "TorchRLModule": ".modules.torch_rl_module",
    "UnknownModuleError": ".modules.multi_rl_module",
    "UnsupportedSpaceException": ".modules.action_distributions",
    "WeightShapeError": ".modules.torch_rl_module",
    "make_target_network": ".modules.target_networks",
    "update_target_network": ".modules.target_networks",
    # Catalogs and the networks they build
    "ACTOR": ".modules.networks",
    "ActorCriticEncoder": ".modules.networks",
    "ActorCriticEncoderConfig": ".modules.network_configs",
    "BCCatalog": ".modules.catalogs",
    "CNNEncoderConfig": ".modules.network_configs",
    "CRITIC": ".modules.networks",
    "Catalog": ".modules.catalog",
    "DQNCatalog": ".modules.catalogs",
    "ENCODER_OUT": ".modules.networks",
    "Encoder": ".modules.networks",
    "FreeLogStdMLPHeadConfig": ".modules.network_configs",
    "MLPEncoderConfig": ".modules.network_configs",
    "MLPHeadConfig": ".modules.network_configs",
    "Model": ".modules.networks",
    "ModelConfig": ".modules.network_configs",
    "MultiStreamEncoderConfig": ".modules.network_configs",
    "PPOCatalog": ".modules.catalogs",
    "RecurrentEncoderConfig": ".modules.network_configs",
    "SACCatalog": ".modules.catalogs",
    "StatefulActorCriticEncoder": ".modules.networks",
    "TorchActorCriticEncoder": ".modules.actor_critic",
    "TorchCNN": ".modules.layers",
    "TorchCNNEncoder": ".modules.encoders",
    "TorchFreeLogStdMLPHead": ".modules.heads",
    "TorchGRUEncoder": ".modules.encoders",
    "TorchLSTMEncoder": ".modules.encoders",
    "TorchMLP": ".modules.layers",
    "TorchMLPEncoder": ".modules.encoders",
    "TorchMLPHead": ".modules.heads",
    "TorchModel": ".modules.torch_model",
    "TorchMultiStreamEncoder": ".modules.multi_stream",
    "TorchStatefulActorCriticEncoder": ".modules.actor_critic",
    "get_activation_fn": ".modules.layers",
    "get_initializer_fn": ".modules.layers",
    # Action distributions
    "Distribution": ".distributions.base",
    "TorchCategorical": ".distributions.torch_discrete",
    "TorchDeterministic": ".distributions.torch_continuous",
    "TorchDiagGaussian": ".distributions.torch_continuous",
    "TorchDistribution": ".distributions.torch_base",
    "TorchMultiCategorical": ".distributions.torch_discrete",
    "TorchMultiDistribution": ".distributions.torch_multi",
    "TorchSquashedGaussian": ".distributions.torch_continuous",
    # Functions used beside connectors
    "BatchedNdArray": "..core.batching",
    "batch": "..core.batching",
    "check": "..core.compare",
    "clip_action": "..core.actions",
    "compute_value_targets": "..core.returns",
    "create_mask_and_seq_lens": "..core.padding",
    "flatten_to_single_ndarray": "..core.actions",
    "get_base_struct_from_space": "..core.actions",
    "normalize_action": "..core.actions",
    "one_hot": "..core.one_hot",
    "split_and_zero_pad": "..core.padding",
    "split_and_zero_pad_n_episodes": "..core.padding",
    "unbatch": "..core.batching",
    "unpad_data_if_necessary": "..core.padding",
    "unsquash_action": "..core.actions",
    # Settings that change
    "Scheduler": ".schedules",
    # Episodes
    "InfiniteLookbackBuffer": ".episodes.lookback_buffer",
    "MultiAgentEnvError": ".episodes.errors",
    "MultiAgentEpisode": ".episodes.multi_agent",
    "SingleAgentEpisode": ".episodes.single_agent",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, own_name = _HOME[name].partition(":")  # an old spelling says what it means
    value = getattr(import_module(module, __name__), own_name or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
