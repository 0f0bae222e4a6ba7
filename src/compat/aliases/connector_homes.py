"""Connectors of both stacks.

A row says which names a module of `ray.rllib` has, and where ours are: see `table`.
"""

from typing import Final

HOMES: Final = {
    "connectors.action.clip": "legacy: ClipActionsConnector",
    "connectors.action.immutable": "legacy: ImmutableActionsConnector",
    "connectors.action.lambdas": "legacy: ConvertToNumpyConnector register_lambda_action_connector",
    "connectors.action.normalize": "legacy: NormalizeActionsConnector",
    "connectors.action.pipeline": "legacy: ActionConnectorPipeline",
    "connectors.agent.clip_reward": "legacy: ClipRewardAgentConnector",
    "connectors.agent.env_sampling": "legacy: EnvSamplingAgentConnector",
    "connectors.agent.lambdas": "legacy: FlattenDataAgentConnector register_lambda_agent_connector",
    "connectors.agent.mean_std_filter": (
        "legacy: ConcurrentMeanStdObservationFilterAgentConnector "
        "MeanStdObservationFilterAgentConnector"
    ),
    "connectors.agent.obs_preproc": "legacy: ObsPreprocessorConnector",
    "connectors.agent.pipeline": "legacy: AgentConnectorPipeline",
    "connectors.agent.state_buffer": "legacy: StateBufferConnector",
    "connectors.agent.synced_filter": "legacy: SyncedFilterAgentConnector",
    "connectors.agent.view_requirement": "legacy: ViewRequirementAgentConnector",
    "connectors.common": (
        "v2: AddObservationsFromEpisodesToBatch AddStatesFromEpisodesToBatch "
        "AddTimeDimToBatchAndZeroPad AgentToModuleMapping BatchIndividualItems NumpyToTensor "
        "TensorToNumpy"
    ),
    "connectors.common.add_observations_from_episodes_to_batch": (
        "v2: AddObservationsFromEpisodesToBatch"
    ),
    "connectors.common.add_states_from_episodes_to_batch": "v2: AddStatesFromEpisodesToBatch",
    "connectors.common.add_time_dim_to_batch_and_zero_pad": "v2: AddTimeDimToBatchAndZeroPad",
    "connectors.common.agent_to_module_mapping": "v2: AgentToModuleMapping",
    "connectors.common.batch_individual_items": "v2: BatchIndividualItems",
    "connectors.common.flatten_observations": "v2: FlattenObservations",
    "connectors.common.frame_stacking": "v2: FrameStacking",
    "connectors.common.module_to_agent_unmapping": "v2: ModuleToAgentUnmapping",
    "connectors.common.numpy_to_tensor": "v2: NumpyToTensor",
    "connectors.common.tensor_to_numpy": "v2: TensorToNumpy",
    "connectors.connector": (
        "legacy: ActionConnector AgentConnector Connector ConnectorContext ConnectorPipeline"
    ),
    "connectors.connector_pipeline_v2": "v2: ConnectorPipelineV2",
    "connectors.connector_v2": "v2: ConnectorV2",
    "connectors.env_to_module": (
        "v2: AddObservationsFromEpisodesToBatch AddStatesFromEpisodesToBatch "
        "AddTimeDimToBatchAndZeroPad AgentToModuleMapping BatchIndividualItems "
        "EnvToModulePipeline FlattenObservations MeanStdFilter NumpyToTensor "
        "PrevActionsPrevRewards PrevActionsPrevRewardsConnector=PrevActionsPrevRewards "
        "WriteObservationsToEpisodes"
    ),
    "connectors.env_to_module.env_to_module_pipeline": "v2: EnvToModulePipeline",
    "connectors.env_to_module.flatten_observations": "v2: FlattenObservations",
    "connectors.env_to_module.frame_stacking": "v2: FrameStacking FrameStackingEnvToModule",
    "connectors.env_to_module.mean_std_filter": "v2: MeanStdFilter",
    "connectors.env_to_module.observation_preprocessor": (
        "v2: MultiAgentObservationPreprocessor ObservationPreprocessor "
        "SingleAgentObservationPreprocessor"
    ),
    "connectors.env_to_module.prev_actions_prev_rewards": (
        "v2: PrevActionsPrevRewards PrevActionsPrevRewardsConnector=PrevActionsPrevRewards"
    ),
    "connectors.env_to_module.write_observations_to_episodes": "v2: WriteObservationsToEpisodes",
    "connectors.learner": (
        "v2: AddColumnsFromEpisodesToTrainBatch AddInfosFromEpisodesToTrainBatch "
        "AddNextObservationsFromEpisodesToTrainBatch AddObservationsFromEpisodesToBatch "
        "AddOneTsToEpisodesAndTruncate AddStatesFromEpisodesToBatch AddTimeDimToBatchAndZeroPad "
        "AgentToModuleMapping BatchIndividualItems ComputeReturnsToGo GeneralAdvantageEstimation "
        "LearnerConnectorPipeline NumpyToTensor"
    ),
    "connectors.learner.add_columns_from_episodes_to_batch": (
        "v2: AddColumnsFromEpisodesToBatch=AddColumnsFromEpisodesToTrainBatch"
    ),
    "connectors.learner.add_columns_from_episodes_to_train_batch": (
        "v2: AddColumnsFromEpisodesToTrainBatch"
    ),
    "connectors.learner.add_infos_from_episodes_to_train_batch": (
        "v2: AddInfosFromEpisodesToTrainBatch"
    ),
    "connectors.learner.add_next_observations_from_episodes_to_train_batch": (
        "v2: AddNextObservationsFromEpisodesToTrainBatch"
    ),
    "connectors.learner.add_one_ts_to_episodes_and_truncate": "v2: AddOneTsToEpisodesAndTruncate",
    "connectors.learner.compute_returns_to_go": "v2: ComputeReturnsToGo",
    "connectors.learner.frame_stacking": "v2: FrameStacking FrameStackingLearner",
    "connectors.learner.general_advantage_estimation": "v2: GeneralAdvantageEstimation",
    "connectors.learner.learner_connector_pipeline": "v2: LearnerConnectorPipeline",
    "connectors.module_to_env": (
        "v2: GetActions ListifyDataForVectorEnv ModuleToAgentUnmapping ModuleToEnvPipeline "
        "NormalizeAndClipActions RemoveSingleTsTimeRankFromBatch TensorToNumpy "
        "UnBatchToIndividualItems"
    ),
    "connectors.module_to_env.get_actions": "v2: GetActions",
    "connectors.module_to_env.listify_data_for_vector_env": "v2: ListifyDataForVectorEnv",
    "connectors.module_to_env.module_to_env_pipeline": "v2: ModuleToEnvPipeline",
    "connectors.module_to_env.normalize_and_clip_actions": "v2: NormalizeAndClipActions",
    "connectors.module_to_env.remove_single_ts_time_rank_from_batch": (
        "v2: RemoveSingleTsTimeRankFromBatch"
    ),
    "connectors.module_to_env.unbatch_to_individual_items": "v2: UnBatchToIndividualItems",
    "connectors.registry": "legacy: get_connector register_connector",
    "connectors.util": (
        "legacy: create_connectors_for_policy get_action_connectors_from_config "
        "get_agent_connectors_from_config get_synced_filter_connector "
        "maybe_get_filters_for_syncing restore_connectors_for_policy"
    ),
}
