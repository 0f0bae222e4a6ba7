# Made of the table in __init__.py by `make stubs`.
from . import tuning as tuning
from ..core.arrays.batching import BatchedNdArray as BatchedNdArray, batch as batch, unbatch as unbatch
from ..core.arrays.compare import check as check
from ..core.arrays.one_hot import one_hot as one_hot
from ..core.arrays.padding import create_mask_and_seq_lens as create_mask_and_seq_lens, split_and_zero_pad as split_and_zero_pad, split_and_zero_pad_n_episodes as split_and_zero_pad_n_episodes, unpad_data_if_necessary as unpad_data_if_necessary
from ..core.arrays.returns import compute_value_targets as compute_value_targets
from ..core.columns import ALL_MODULES as ALL_MODULES, Columns as Columns, DEFAULT_AGENT_ID as DEFAULT_AGENT_ID, DEFAULT_MODULE_ID as DEFAULT_MODULE_ID, DEFAULT_POLICY_ID as DEFAULT_POLICY_ID
from ..core.errors import UnknownClassError as UnknownClassError
from ..core.formulas.actions import clip_action as clip_action, flatten_to_single_ndarray as flatten_to_single_ndarray, get_base_struct_from_space as get_base_struct_from_space, normalize_action as normalize_action, unsquash_action as unsquash_action
from ..core.formulas.convolutions import same_padding as same_padding, valid_padding as valid_padding
from ..core.formulas.initializers import get_initializer_fn as get_initializer_fn, normc_initializer as normc_initializer
from ..core.rllib_utils.annotations import override as override
from ..core.rllib_utils.typing_names import AgentID as AgentID, AgentToModuleMappingFn as AgentToModuleMappingFn, AlgorithmConfigDict as AlgorithmConfigDict, ConvFilterSpec as ConvFilterSpec, DeviceType as DeviceType, EnvActionType as EnvActionType, EnvConfigDict as EnvConfigDict, EnvCreator as EnvCreator, EnvID as EnvID, EnvInfoDict as EnvInfoDict, EnvObsType as EnvObsType, EnvType as EnvType, EpisodeID as EpisodeID, EpisodeType as EpisodeType, FileType as FileType, FromConfigSpec as FromConfigSpec, GradInfoDict as GradInfoDict, IsPolicyToTrain as IsPolicyToTrain, LearnerStatsDict as LearnerStatsDict, LearningRateOrSchedule as LearningRateOrSchedule, LocalOptimizer as LocalOptimizer, ModelConfigDict as ModelConfigDict, ModelGradients as ModelGradients, ModelInputDict as ModelInputDict, ModelWeights as ModelWeights, ModuleID as ModuleID, MultiAgentDict as MultiAgentDict, MultiAgentPolicyConfigDict as MultiAgentPolicyConfigDict, MultiEnvDict as MultiEnvDict, NamedParamDict as NamedParamDict, NetworkType as NetworkType, Optimizer as Optimizer, Param as Param, ParamDict as ParamDict, ParamList as ParamList, ParamRef as ParamRef, PartialAlgorithmConfigDict as PartialAlgorithmConfigDict, PolicyID as PolicyID, PolicyState as PolicyState, RLModuleSpecType as RLModuleSpecType, ResultDict as ResultDict, SampleBatchType as SampleBatchType, ShouldModuleBeUpdatedFn as ShouldModuleBeUpdatedFn, SpaceStruct as SpaceStruct, StateBatches as StateBatches, StateDict as StateDict, TFPolicyV2Type as TFPolicyV2Type, TensorShape as TensorShape, TensorStructType as TensorStructType, TensorType as TensorType, UnrollID as UnrollID, ViewRequirementsDict as ViewRequirementsDict
from .algorithms.algorithm import Algorithm as Algorithm
from .algorithms.bc import BC as BC, BCConfig as BCConfig
from .algorithms.cql import CQL as CQL, CQLConfig as CQLConfig
from .algorithms.dqn import DQN as DQN, DQNConfig as DQNConfig
from .algorithms.env_runner_group import EnvRunnerGroup as EnvRunnerGroup
from .algorithms.episode_files import read_episodes as read_episodes, write_episodes as write_episodes
from .algorithms.iql import IQL as IQL, IQLConfig as IQLConfig
from .algorithms.marwil import MARWIL as MARWIL, MARWILConfig as MARWILConfig
from .algorithms.offline_data import OfflineData as OfflineData
from .algorithms.ppo import PPO as PPO, PPOConfig as PPOConfig
from .algorithms.sac import SAC as SAC, SACConfig as SACConfig
from .algorithms.sampling import synchronous_parallel_sample as synchronous_parallel_sample
from .config.algorithm_config import AlgorithmConfig as AlgorithmConfig
from .config.callbacks import RLlibCallback as _RLlibCallback, RLlibCallback as RLlibCallback, make_callback as make_callback
from .config.policies import PolicySpec as PolicySpec
from .config.section import NotProvided as NotProvided
from .connectors.columnar import ColumnarPiece as ColumnarPiece
from .connectors.common.add_observations import AddObservationsFromEpisodesToBatch as AddObservationsFromEpisodesToBatch
from .connectors.common.add_states import AddStatesFromEpisodesToBatch as AddStatesFromEpisodesToBatch
from .connectors.common.add_time_dim import AddTimeDimToBatchAndZeroPad as AddTimeDimToBatchAndZeroPad
from .connectors.common.agent_to_module_mapping import AgentToModuleMapping as AgentToModuleMapping, ModuleToAgentUnmapping as ModuleToAgentUnmapping
from .connectors.common.batch_individual_items import BatchIndividualItems as BatchIndividualItems
from .connectors.common.flatten_observations import FlattenObservations as FlattenObservations
from .connectors.common.frame_stacking import FrameStacking as FrameStacking, FrameStackingEnvToModule as FrameStackingEnvToModule, FrameStackingLearner as FrameStackingLearner
from .connectors.common.numpy_to_tensor import NumpyToTensor as NumpyToTensor
from .connectors.common.tensor_to_numpy import TensorToNumpy as TensorToNumpy
from .connectors.common.written_observations import WriteObservationsToEpisodes as WriteObservationsToEpisodes
from .connectors.connector import ConnectorV2 as ConnectorV2
from .connectors.env_to_module.adapt_observations import AdaptObservations as AdaptObservations
from .connectors.env_to_module.add_previous_steps import AddPreviousSteps as AddPreviousSteps
from .connectors.env_to_module.env_to_module_pipeline import EnvToModulePipeline as EnvToModulePipeline
from .connectors.env_to_module.mean_std_filter import MeanStdFilter as MeanStdFilter
from .connectors.env_to_module.observation_preprocessor import MultiAgentObservationPreprocessor as MultiAgentObservationPreprocessor, ObservationPreprocessor as ObservationPreprocessor, PreprocessObservations as PreprocessObservations, SingleAgentObservationPreprocessor as SingleAgentObservationPreprocessor
from .connectors.env_to_module.prev_actions_prev_rewards import PrevActionsPrevRewards as PrevActionsPrevRewards
from .connectors.learner.adapt_rewards import AdaptRewards as AdaptRewards
from .connectors.learner.add_columns import AddColumnsFromEpisodesToTrainBatch as AddColumnsFromEpisodesToTrainBatch, AddInfosFromEpisodesToTrainBatch as AddInfosFromEpisodesToTrainBatch, AddNextObservationsFromEpisodesToTrainBatch as AddNextObservationsFromEpisodesToTrainBatch, ComputeReturnsToGo as ComputeReturnsToGo
from .connectors.learner.add_one_ts import AddOneTsToEpisodesAndTruncate as AddOneTsToEpisodesAndTruncate, add_one_ts_to_episodes_and_truncate as add_one_ts_to_episodes_and_truncate, remove_last_ts_from_episodes_and_restore_truncateds as remove_last_ts_from_episodes_and_restore_truncateds
from .connectors.learner.clip_rewards import ClipRewards as ClipRewards
from .connectors.learner.general_advantage_estimation import GeneralAdvantageEstimation as GeneralAdvantageEstimation
from .connectors.learner.learner_connector_pipeline import LearnerConnectorPipeline as LearnerConnectorPipeline
from .connectors.module_to_env.adapt_actions import AdaptActions as AdaptActions
from .connectors.module_to_env.get_actions import GetActions as GetActions
from .connectors.module_to_env.listify_data_for_vector_env import ListifyDataForVectorEnv as ListifyDataForVectorEnv
from .connectors.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline as ModuleToEnvPipeline
from .connectors.module_to_env.normalize_and_clip_actions import NormalizeAndClipActions as NormalizeAndClipActions, SquashGreedyActions as SquashGreedyActions
from .connectors.module_to_env.remove_time_rank import RemoveSingleTsTimeRankFromBatch as RemoveSingleTsTimeRankFromBatch
from .connectors.module_to_env.unbatch_to_individual_items import UnBatchToIndividualItems as UnBatchToIndividualItems
from .connectors.pipeline import ConnectorPipelineV2 as ConnectorPipelineV2
from .connectors.table import NotColumnar as NotColumnar, Table as Table
from .distributions.base import Distribution as Distribution
from .distributions.torch_base import TorchDistribution as TorchDistribution
from .distributions.torch_continuous import TorchDeterministic as TorchDeterministic, TorchDiagGaussian as TorchDiagGaussian, TorchSquashedGaussian as TorchSquashedGaussian
from .distributions.torch_discrete import TorchCategorical as TorchCategorical, TorchMultiCategorical as TorchMultiCategorical
from .distributions.torch_multi import TorchMultiDistribution as TorchMultiDistribution
from .env_runners.base import EnvRunner as EnvRunner
from .env_runners.multi_agent import MultiAgentEnvRunner as MultiAgentEnvRunner
from .env_runners.observation_watch import NonFiniteError as NonFiniteError
from .env_runners.single_agent import SingleAgentEnvRunner as SingleAgentEnvRunner
from .envs.context import EnvContext as EnvContext
from .envs.failures import EnvStepError as EnvStepError
from .envs.grouped_agents import GroupAgentsWrapper as GroupAgentsWrapper
from .envs.multi_agent_env import MultiAgentEnv as MultiAgentEnv, make_multi_agent as make_multi_agent
from .envs.petting_zoo import ParallelPettingZooEnv as ParallelPettingZooEnv, PettingZooEnv as PettingZooEnv
from .envs.registry import register_env as register_env
from .episodes.errors import MultiAgentEnvError as MultiAgentEnvError
from .episodes.lookback_buffer import InfiniteLookbackBuffer as InfiniteLookbackBuffer
from .episodes.multi_agent import MultiAgentEpisode as MultiAgentEpisode
from .episodes.single_agent import SingleAgentEpisode as SingleAgentEpisode
from .learning.cql import CQLTorchLearner as CQLTorchLearner
from .learning.dqn import DQNLearner as DQNLearner, DQNTorchLearner as DQNTorchLearner
from .learning.iql import IQLLearner as IQLLearner, IQLTorchLearner as IQLTorchLearner
from .learning.learner import Learner as Learner
from .learning.learner_group import LearnerGroup as LearnerGroup
from .learning.marwil import BCTorchLearner as BCTorchLearner, MARWILLearner as MARWILLearner, MARWILTorchLearner as MARWILTorchLearner
from .learning.optimizers import UnknownOptimizerError as UnknownOptimizerError
from .learning.ppo import PPOLearner as PPOLearner, PPOTorchLearner as PPOTorchLearner
from .learning.sac import SACLearner as SACLearner, SACTorchLearner as SACTorchLearner
from .learning.torch_learner import TorchLearner as TorchLearner
from .learning.update_losses import LossError as LossError
from .logging.loggers import CSVLogger as CSVLogger, JsonLogger as JsonLogger, TBXLogger as TBXLogger, UnifiedLogger as UnifiedLogger
from .logging.progress_line import ProgressLine as ProgressLine
from .metrics.metrics_logger import MetricsLogger as MetricsLogger
from .modules.action_distributions import UnsupportedSpaceException as UnsupportedSpaceException
from .modules.apis import InferenceOnlyAPI as InferenceOnlyAPI, QNetAPI as QNetAPI, SelfSupervisedLossAPI as SelfSupervisedLossAPI, TARGET_NETWORK_ACTION_DIST_INPUTS as TARGET_NETWORK_ACTION_DIST_INPUTS, TargetNetworkAPI as TargetNetworkAPI, ValueFunctionAPI as ValueFunctionAPI
from .modules.bc import DefaultBCTorchRLModule as DefaultBCTorchRLModule
from .modules.catalog import Catalog as Catalog
from .modules.catalogs import BCCatalog as BCCatalog, DQNCatalog as DQNCatalog, PPOCatalog as PPOCatalog, SACCatalog as SACCatalog
from .modules.cql import DefaultCQLTorchRLModule as DefaultCQLTorchRLModule
from .modules.described import DescribedTorchRLModule as DescribedTorchRLModule
from .modules.dqn import DefaultDQNRLModule as DefaultDQNRLModule, DefaultDQNTorchRLModule as DefaultDQNTorchRLModule
from .modules.encoders import TorchActorCriticEncoder as TorchActorCriticEncoder, TorchCNNEncoder as TorchCNNEncoder, TorchGRUEncoder as TorchGRUEncoder, TorchLSTMEncoder as TorchLSTMEncoder, TorchMLPEncoder as TorchMLPEncoder, TorchMultiStreamEncoder as TorchMultiStreamEncoder, TorchStatefulActorCriticEncoder as TorchStatefulActorCriticEncoder
from .modules.iql import DefaultIQLRLModule as DefaultIQLRLModule, DefaultIQLTorchRLModule as DefaultIQLTorchRLModule
from .modules.layers import TorchCNN as TorchCNN, TorchFreeLogStdMLPHead as TorchFreeLogStdMLPHead, TorchMLP as TorchMLP, TorchMLPHead as TorchMLPHead, get_activation_fn as get_activation_fn
from .modules.model_config import DefaultModelConfig as DefaultModelConfig
from .modules.multi_rl_module import MultiRLModule as _MultiRLModule, MultiRLModule as MultiRLModule, UnknownModuleError as UnknownModuleError
from .modules.multi_spec import MultiRLModuleSpec as _MultiRLModuleSpec, MultiRLModuleSpec as MultiRLModuleSpec
from .modules.network_configs import ActorCriticEncoderConfig as ActorCriticEncoderConfig, CNNEncoderConfig as CNNEncoderConfig, FreeLogStdMLPHeadConfig as FreeLogStdMLPHeadConfig, MLPEncoderConfig as MLPEncoderConfig, MLPHeadConfig as MLPHeadConfig, ModelConfig as ModelConfig, MultiStreamEncoderConfig as MultiStreamEncoderConfig, RecurrentEncoderConfig as RecurrentEncoderConfig
from .modules.networks import ACTOR as ACTOR, ActorCriticEncoder as ActorCriticEncoder, CRITIC as CRITIC, ENCODER_OUT as ENCODER_OUT, Encoder as Encoder, Model as Model, StatefulActorCriticEncoder as StatefulActorCriticEncoder
from .modules.ppo import DefaultAPPORLModule as DefaultAPPORLModule, DefaultAPPOTorchRLModule as DefaultAPPOTorchRLModule, DefaultPPORLModule as DefaultPPORLModule, DefaultPPOTorchRLModule as DefaultPPOTorchRLModule, DefaultPPOTorchRLModule as _DefaultPPOTorchRLModule
from .modules.rl_module import InferenceOnlyError as InferenceOnlyError, RLModule as RLModule, RLModuleConfig as RLModuleConfig
from .modules.sac import DefaultSACRLModule as DefaultSACRLModule, DefaultSACTorchRLModule as DefaultSACTorchRLModule
from .modules.schedules import Scheduler as Scheduler
from .modules.spec import RLModuleSpec as RLModuleSpec, RLModuleSpec as _RLModuleSpec
from .modules.torch_model import TorchModel as TorchModel, make_target_network as make_target_network, update_target_network as update_target_network
from .modules.torch_rl_module import TorchRLModule as TorchRLModule, WeightShapeError as WeightShapeError
from .recorded.prelearner import OfflinePreLearner as OfflinePreLearner
from .replay.episode_replay_buffer import EpisodeReplayBuffer as EpisodeReplayBuffer
from .replay.multi_agent_episode_buffer import MultiAgentEpisodeReplayBuffer as MultiAgentEpisodeReplayBuffer, MultiAgentPrioritizedEpisodeReplayBuffer as MultiAgentPrioritizedEpisodeReplayBuffer
from .replay.prioritized_episode_buffer import PrioritizedEpisodeReplayBuffer as PrioritizedEpisodeReplayBuffer
from .saving.checkpointable import Checkpointable as Checkpointable
_HOME: dict[str, str]
_KEPT: dict[str, str]
DefaultCallbacks = _RLlibCallback
MultiAgentRLModule = _MultiRLModule
MultiAgentRLModuleSpec = _MultiRLModuleSpec
PPOTorchRLModule = _DefaultPPOTorchRLModule
SingleAgentRLModuleSpec = _RLModuleSpec
