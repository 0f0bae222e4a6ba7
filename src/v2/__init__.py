"""The ConnectorV2 stack: every public name of it, flat.

A name is loaded from its module on first use, so importing this package is cheap and loads no
torch. The table says where each name lives; it is the public surface.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_ANNOTATIONS: Final = (
    "AgentID AgentToModuleMappingFn AlgorithmConfigDict ConvFilterSpec DeviceType "
    "EnvActionType EnvConfigDict EnvCreator EnvID EnvInfoDict EnvObsType EnvType "
    "EpisodeID EpisodeType FileType FromConfigSpec GradInfoDict IsPolicyToTrain "
    "LearnerStatsDict LearningRateOrSchedule LocalOptimizer ModelConfigDict "
    "ModelGradients ModelInputDict ModelWeights ModuleID MultiAgentDict "
    "MultiAgentPolicyConfigDict MultiEnvDict NamedParamDict NetworkType Optimizer Param "
    "ParamDict ParamList ParamRef PartialAlgorithmConfigDict PolicyID PolicyState "
    "RLModuleSpecType ResultDict SampleBatchType ShouldModuleBeUpdatedFn SpaceStruct "
    "StateBatches StateDict TFPolicyV2Type TensorShape TensorStructType TensorType "
    "UnrollID ViewRequirementsDict"
)
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
    "AdaptActions": ".module_to_env.adapt_actions",
    "AdaptObservations": ".env_to_module.adapt_observations",
    "AdaptRewards": ".learner.adapt_rewards",
    "AddColumnsFromEpisodesToTrainBatch": ".learner.add_columns",
    "AddInfosFromEpisodesToTrainBatch": ".learner.add_infos",
    "AddNextObservationsFromEpisodesToTrainBatch": ".learner.add_next_observations",
    "AddObservationsFromEpisodesToBatch": ".common.add_observations",
    "AddOneTsToEpisodesAndTruncate": ".learner.add_one_ts",
    "AddPreviousSteps": ".env_to_module.add_previous_steps",
    "AddStatesFromEpisodesToBatch": ".common.add_states",
    "AddTimeDimToBatchAndZeroPad": ".common.add_time_dim",
    "AgentToModuleMapping": ".common.agent_to_module_mapping",
    "BatchIndividualItems": ".common.batch_individual_items",
    "ComputeReturnsToGo": ".learner.compute_returns_to_go",
    "ConnectorPipelineV2": ".pipeline",
    "ConnectorV2": ".connector",
    "EnvToModulePipeline": ".env_to_module.env_to_module_pipeline",
    "FlattenObservations": ".common.flatten_observations",
    "FrameStacking": ".common.frame_stacking",
    "FrameStackingEnvToModule": ".env_to_module.frame_stacking",
    "FrameStackingLearner": ".learner.frame_stacking",
    "GeneralAdvantageEstimation": ".learner.general_advantage_estimation",
    "GetActions": ".module_to_env.get_actions",
    "LearnerConnectorPipeline": ".learner.learner_connector_pipeline",
    "ListifyDataForVectorEnv": ".module_to_env.listify_data_for_vector_env",
    "MeanStdFilter": ".env_to_module.mean_std_filter",
    "ModuleToAgentUnmapping": ".common.module_to_agent_unmapping",
    "ModuleToEnvPipeline": ".module_to_env.module_to_env_pipeline",
    "MultiAgentObservationPreprocessor": ".env_to_module.observation_preprocessor",
    "NormalizeAndClipActions": ".module_to_env.normalize_and_clip_actions",
    "NumpyToTensor": ".common.numpy_to_tensor",
    "ObservationPreprocessor": ".env_to_module.observation_preprocessor",
    "PreprocessObservations": ".env_to_module.preprocess_observations",
    "PrevActionsPrevRewards": ".env_to_module.prev_actions_prev_rewards",
    "SquashGreedyActions": ".module_to_env.squash_greedy_actions",
    "ClipRewards": ".learner.clip_rewards",
    "RemoveSingleTsTimeRankFromBatch": ".module_to_env.remove_time_rank",
    "SingleAgentObservationPreprocessor": ".env_to_module.observation_preprocessor",
    "TensorToNumpy": ".common.tensor_to_numpy",
    "UnBatchToIndividualItems": ".module_to_env.unbatch_to_individual_items",
    "WriteObservationsToEpisodes": ".env_to_module.write_observations_to_episodes",
    "add_one_ts_to_episodes_and_truncate": ".learner.add_one_ts",
    "remove_last_ts_from_episodes_and_restore_truncateds": ".learner.add_one_ts",
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
    "get_initializer_fn": "..core.initializers",
    "normc_initializer": "..core.initializers",
    "same_padding": "..core.convolutions",
    "valid_padding": "..core.convolutions",
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
    # Learners
    "BCTorchLearner": ".learning.marwil",
    "Learner": ".learning.learner",
    "LearnerGroup": ".learning.learner_group",
    "LossError": ".learning.loss_check",
    "MARWILLearner": ".learning.marwil",
    "MARWILTorchLearner": ".learning.marwil",
    "PPOLearner": ".learning.ppo",
    "PPOTorchLearner": ".learning.ppo",
    "TorchLearner": ".learning.torch_learner",
    "UnknownOptimizerError": ".learning.optimizers",
    # Algorithms
    "Algorithm": ".algorithms.algorithm",
    "BC": ".algorithms.bc",
    "EnvRunnerGroup": ".algorithms.env_runner_group",
    "MARWIL": ".algorithms.marwil",
    "PPO": ".algorithms.ppo",
    "read_episodes": ".algorithms.episode_files",
    "synchronous_parallel_sample": ".algorithms.sampling",
    "write_episodes": ".algorithms.episode_files",
    # Results written down
    "CSVLogger": ".logging.loggers",
    "JsonLogger": ".logging.loggers",
    "ProgressLine": ".logging.progress_line",
    "TBXLogger": ".logging.loggers",
    "UnifiedLogger": ".logging.loggers",
    # Settings that change
    "Scheduler": ".schedules",
    # Configs, callbacks and metrics
    "AlgorithmConfig": ".config.algorithm_config",
    "BCConfig": ".algorithms.bc",
    "DefaultCallbacks": ".callbacks",
    "MARWILConfig": ".algorithms.marwil",
    "MetricsLogger": ".metrics.metrics_logger",
    "NotProvided": ".config.not_provided",
    "PPOConfig": ".algorithms.ppo",
    "PolicySpec": ".config.policies",
    "RLlibCallback": ".callbacks",
    "make_callback": ".callbacks",
    # Environments and runners
    "EnvContext": ".envs.context",
    "EnvRunner": ".env_runners.base",
    "EnvStepError": ".envs.failures",
    "GroupAgentsWrapper": ".envs.grouped_agents",
    "MultiAgentEnv": ".envs.multi_agent_env",
    "MultiAgentEnvRunner": ".env_runners.multi_agent",
    "NonFiniteError": ".env_runners.observation_watch",
    "ParallelPettingZooEnv": ".envs.petting_zoo",
    "PettingZooEnv": ".envs.petting_zoo",
    "SingleAgentEnvRunner": ".env_runners.single_agent",
    "make_multi_agent": ".envs.multi_agent_env",
    "register_env": ".envs.registry",
    # Episodes
    "InfiniteLookbackBuffer": ".episodes.lookback_buffer",
    "MultiAgentEnvError": ".episodes.errors",
    "MultiAgentEpisode": ".episodes.multi_agent",
    "SingleAgentEpisode": ".episodes.single_agent",
    # What old sources annotate and decorate with
    "override": "..core.annotations",
    **dict.fromkeys(_ANNOTATIONS.split(), "..core.typing_names"),
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
