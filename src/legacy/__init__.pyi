# Made of the table in __init__.py by `make stubs`.
from ..core.arrays.batching import BatchedNdArray as BatchedNdArray, batch as batch, unbatch as unbatch
from ..core.arrays.compare import check as check
from ..core.arrays.one_hot import one_hot as one_hot, one_hot_multidiscrete as one_hot_multidiscrete
from ..core.arrays.padding import create_mask_and_seq_lens as create_mask_and_seq_lens, split_and_zero_pad as split_and_zero_pad, split_and_zero_pad_n_episodes as split_and_zero_pad_n_episodes, unpad_data_if_necessary as unpad_data_if_necessary
from ..core.arrays.returns import adjust_nstep as adjust_nstep, compute_advantages as compute_advantages, compute_value_targets as compute_value_targets, discount_cumsum as discount_cumsum, explained_variance as explained_variance, extract_bootstrapped_values as extract_bootstrapped_values
from ..core.columns import DEFAULT_POLICY_ID as DEFAULT_POLICY_ID
from ..core.formulas.actions import clip_action as clip_action, flatten_space as flatten_space, flatten_to_single_ndarray as flatten_to_single_ndarray, get_base_struct_from_space as get_base_struct_from_space, get_original_space as get_original_space, is_composite_space as is_composite_space, normalize_action as normalize_action, unsquash_action as unsquash_action
from ..core.formulas.running_stat import RunningStat as RunningStat
from ..core.formulas.schedules import ConstantSchedule as ConstantSchedule, ExponentialSchedule as ExponentialSchedule, LinearSchedule as LinearSchedule, PiecewiseSchedule as PiecewiseSchedule, PolynomialSchedule as PolynomialSchedule, Schedule as Schedule
from ..core.rllib_utils.annotations import DeveloperAPI as DeveloperAPI, ExperimentalAPI as ExperimentalAPI, OldAPIStack as OldAPIStack, OverrideToImplementCustomLogic as OverrideToImplementCustomLogic, OverrideToImplementCustomLogic_CallToSuperRecommended as OverrideToImplementCustomLogic_CallToSuperRecommended, PublicAPI as PublicAPI, override as override
from ..core.rllib_utils.container_values import LambdaDefaultDict as LambdaDefaultDict, NullContextManager as NullContextManager, add_mixins as add_mixins, flatten_dict as flatten_dict, force_list as force_list, force_tuple as force_tuple, unflatten_dict as unflatten_dict
from ..core.rllib_utils.dummy_batches import get_dummy_batch_for_space as get_dummy_batch_for_space
from ..core.rllib_utils.environment_errors import EnvError as EnvError, NotSerializable as NotSerializable, StepFailedRecreateEnvError as StepFailedRecreateEnvError, UnsupportedSpaceException as UnsupportedSpaceException
from ..core.rllib_utils.frameworks import convert_to_numpy as convert_to_numpy, try_import_jax as try_import_jax, try_import_tf as try_import_tf, try_import_tfp as try_import_tfp, try_import_torch as try_import_torch
from ..core.rllib_utils.gradients import clip_gradients as clip_gradients, compute_global_norm as compute_global_norm, global_norm as global_norm, update_target_network as update_target_network
from ..core.rllib_utils.layer_formulas import fc as fc, flatten_inputs_to_1d_tensor as flatten_inputs_to_1d_tensor, huber_loss as huber_loss, l2_loss as l2_loss, lstm as lstm, relu as relu, sigmoid as sigmoid, softmax as softmax
from ..core.rllib_utils.tensor_formulas import copy_torch_tensors as copy_torch_tensors, inverse_symlog as inverse_symlog, set_torch_seed as set_torch_seed, softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits, symlog as symlog, two_hot as two_hot
from ..core.rllib_utils.typing_names import AgentID as AgentID, AgentToModuleMappingFn as AgentToModuleMappingFn, AlgorithmConfigDict as AlgorithmConfigDict, ConvFilterSpec as ConvFilterSpec, DeviceType as DeviceType, EnvActionType as EnvActionType, EnvConfigDict as EnvConfigDict, EnvCreator as EnvCreator, EnvID as EnvID, EnvInfoDict as EnvInfoDict, EnvObsType as EnvObsType, EnvType as EnvType, EpisodeID as EpisodeID, EpisodeType as EpisodeType, FileType as FileType, FromConfigSpec as FromConfigSpec, GradInfoDict as GradInfoDict, IsPolicyToTrain as IsPolicyToTrain, LearnerStatsDict as LearnerStatsDict, LearningRateOrSchedule as LearningRateOrSchedule, LocalOptimizer as LocalOptimizer, ModelConfigDict as ModelConfigDict, ModelGradients as ModelGradients, ModelInputDict as ModelInputDict, ModelWeights as ModelWeights, ModuleID as ModuleID, MultiAgentDict as MultiAgentDict, MultiAgentPolicyConfigDict as MultiAgentPolicyConfigDict, MultiEnvDict as MultiEnvDict, NamedParamDict as NamedParamDict, NetworkType as NetworkType, Optimizer as Optimizer, Param as Param, ParamDict as ParamDict, ParamList as ParamList, ParamRef as ParamRef, PartialAlgorithmConfigDict as PartialAlgorithmConfigDict, PolicyID as PolicyID, PolicyState as PolicyState, RLModuleSpecType as RLModuleSpecType, ResultDict as ResultDict, SampleBatchType as SampleBatchType, ShouldModuleBeUpdatedFn as ShouldModuleBeUpdatedFn, SpaceStruct as SpaceStruct, StateBatches as StateBatches, StateDict as StateDict, TFPolicyV2Type as TFPolicyV2Type, TensorShape as TensorShape, TensorStructType as TensorStructType, TensorType as TensorType, UnrollID as UnrollID, ViewRequirementsDict as ViewRequirementsDict
from ..core.spaces.ray_layouts import gym_space_from_dict as gym_space_from_dict, gym_space_to_dict as gym_space_to_dict, space_from_dict as space_from_dict, space_to_dict as space_to_dict
from ..core.spaces.rllib_spaces import FlexDict as FlexDict, Repeated as Repeated, Simplex as Simplex
from .batches.multi_agent_batch import MultiAgentBatch as MultiAgentBatch, concat_samples as concat_samples, concat_samples_into_ma_batch as concat_samples_into_ma_batch, convert_ma_batch_to_sample_batch as convert_ma_batch_to_sample_batch
from .batches.postprocessing import Postprocessing as Postprocessing, compute_bootstrap_value as compute_bootstrap_value, compute_gae_for_sample_batch as compute_gae_for_sample_batch
from .batches.sample_batch import SampleBatch as SampleBatch
from .batches.sequences import add_time_dimension as add_time_dimension, chop_into_sequences as chop_into_sequences, get_fold_unfold_fns as get_fold_unfold_fns, pad_batch_to_sequences_of_same_size as pad_batch_to_sequences_of_same_size, timeslice_along_seq_lens_with_overlap as timeslice_along_seq_lens_with_overlap
from .connectors.action.adapt_actions import AdaptActionsConnector as AdaptActionsConnector
from .connectors.action.clip import ClipActionsConnector as ClipActionsConnector
from .connectors.action.immutable import ImmutableActionsConnector as ImmutableActionsConnector, make_action_immutable as make_action_immutable
from .connectors.action.normalize import NormalizeActionsConnector as NormalizeActionsConnector
from .connectors.action.to_numpy import ConvertToNumpyConnector as ConvertToNumpyConnector
from .connectors.agent.adapt_observations import AdaptObservationsAgentConnector as AdaptObservationsAgentConnector
from .connectors.agent.clip_reward import ClipRewardAgentConnector as ClipRewardAgentConnector
from .connectors.agent.env_sampling import EnvSamplingAgentConnector as EnvSamplingAgentConnector
from .connectors.agent.flatten import FlattenDataAgentConnector as FlattenDataAgentConnector
from .connectors.agent.mean_std_filter import ConcurrentMeanStdObservationFilterAgentConnector as ConcurrentMeanStdObservationFilterAgentConnector, MeanStdObservationFilterAgentConnector as MeanStdObservationFilterAgentConnector, SyncedFilterAgentConnector as SyncedFilterAgentConnector
from .connectors.agent.obs_preproc import ObsPreprocessorConnector as ObsPreprocessorConnector
from .connectors.agent.state_buffer import StateBufferConnector as StateBufferConnector
from .connectors.agent.view_requirement import ViewRequirementAgentConnector as ViewRequirementAgentConnector
from .connectors.connector import ActionConnector as ActionConnector, AgentConnector as AgentConnector, Connector as Connector
from .connectors.context import ConnectorContext as ConnectorContext
from .connectors.lambdas import register_lambda_action_connector as register_lambda_action_connector, register_lambda_agent_connector as register_lambda_agent_connector
from .connectors.pipeline import ActionConnectorPipeline as ActionConnectorPipeline, AgentConnectorPipeline as AgentConnectorPipeline, ConnectorPipeline as ConnectorPipeline
from .connectors.registry import get_connector as get_connector, register_connector as register_connector
from .connectors.types import ActionConnectorDataType as ActionConnectorDataType, AgentConnectorDataType as AgentConnectorDataType, AgentConnectorsOutput as AgentConnectorsOutput, PolicyOutputType as PolicyOutputType
from .distributions.registered import register_custom_action_dist as register_custom_action_dist, register_custom_model as register_custom_model
from .distributions.torch_base import ActionDistribution as ActionDistribution, TorchDistributionWrapper as TorchDistributionWrapper
from .distributions.torch_continuous import TorchBeta as TorchBeta, TorchDeterministic as TorchDeterministic, TorchDiagGaussian as TorchDiagGaussian, TorchDirichlet as TorchDirichlet, TorchSquashedGaussian as TorchSquashedGaussian
from .distributions.torch_discrete import TorchCategorical as TorchCategorical, TorchMultiCategorical as TorchMultiCategorical, TorchSlateMultiCategorical as TorchSlateMultiCategorical, get_torch_categorical_class_with_temperature as get_torch_categorical_class_with_temperature
from .distributions.torch_multi import TorchMultiActionDistribution as TorchMultiActionDistribution
from .exploration.exploration import EpsilonGreedy as EpsilonGreedy, Exploration as Exploration, PerWorkerEpsilonGreedy as PerWorkerEpsilonGreedy, Random as Random, SoftQ as SoftQ, StochasticSampling as StochasticSampling
from .exploration.noise import GaussianNoise as GaussianNoise, OrnsteinUhlenbeckNoise as OrnsteinUhlenbeckNoise, PerWorkerGaussianNoise as PerWorkerGaussianNoise, PerWorkerOrnsteinUhlenbeckNoise as PerWorkerOrnsteinUhlenbeckNoise
from .models.attention import AttentionWrapper as AttentionWrapper, GTrXLNet as GTrXLNet
from .models.base import LegacyModel as LegacyModel, ModelV2 as ModelV2, TorchModelV2 as TorchModelV2
from .models.complex import ComplexInputNetwork as ComplexInputNetwork
from .models.defaults import MODEL_DEFAULTS as MODEL_DEFAULTS, get_filter_config as get_filter_config
from .models.fcnet import FullyConnectedNetwork as FullyConnectedNetwork
from .models.flat_layout import RepeatedValues as RepeatedValues, flatten as flatten, restore_original_dimensions as restore_original_dimensions
from .models.layers import AppendBiasLayer as AppendBiasLayer, Reshape as Reshape, SlimConv2d as SlimConv2d, SlimFC as SlimFC, get_activation_fn as get_activation_fn, get_initializer_fn as get_initializer_fn, normc_initializer as normc_initializer, same_padding as same_padding, valid_padding as valid_padding
from .models.lstm import LSTMWrapper as LSTMWrapper, RecurrentNetwork as RecurrentNetwork
from .models.model_catalog import ModelCatalog as ModelCatalog
from .models.tensor_functions import FLOAT_MAX as FLOAT_MAX, FLOAT_MIN as FLOAT_MIN, convert_to_torch_tensor as convert_to_torch_tensor, reduce_mean_ignore_inf as reduce_mean_ignore_inf, sequence_mask as sequence_mask
from .models.visionnet import VisionNetwork as VisionNetwork
from .observations.filters import ConcurrentMeanStdFilter as ConcurrentMeanStdFilter, Filter as Filter, MeanStdFilter as MeanStdFilter, NoFilter as NoFilter, get_filter as get_filter
from .observations.preprocessors import AtariRamPreprocessor as AtariRamPreprocessor, DictFlatteningPreprocessor as DictFlatteningPreprocessor, GenericPixelPreprocessor as GenericPixelPreprocessor, MultiBinaryPreprocessor as MultiBinaryPreprocessor, NoPreprocessor as NoPreprocessor, OneHotPreprocessor as OneHotPreprocessor, Preprocessor as Preprocessor, RepeatedValuesPreprocessor as RepeatedValuesPreprocessor, TupleFlatteningPreprocessor as TupleFlatteningPreprocessor, get_preprocessor as get_preprocessor, get_preprocessor_for_space as get_preprocessor_for_space, register_custom_preprocessor as register_custom_preprocessor
from .policy.checkpoint_policies import compute_log_likelihoods_from_input_dict as compute_log_likelihoods_from_input_dict, create_policy_for_framework as create_policy_for_framework, get_checkpoint_info as get_checkpoint_info, load_policies_from_checkpoint as load_policies_from_checkpoint, parse_policy_specs_from_checkpoint as parse_policy_specs_from_checkpoint
from .policy.config import AlgorithmConfig as AlgorithmConfig
from .policy.default_connectors import create_connectors_for_policy as create_connectors_for_policy, get_action_connectors_from_config as get_action_connectors_from_config, get_agent_connectors_from_config as get_agent_connectors_from_config, get_synced_filter_connector as get_synced_filter_connector, maybe_get_filters_for_syncing as maybe_get_filters_for_syncing, restore_connectors_for_policy as restore_connectors_for_policy
from .policy.export import export_policies as export_policies
from .policy.inference import batch_policy_inference as batch_policy_inference, local_policy_inference as local_policy_inference
from .policy.policy import Policy as Policy
from .policy.policy_spec import PolicySpec as PolicySpec
from .views.collector import AgentCollector as AgentCollector
from .views.views import ViewRequirement as ViewRequirement
_HOME: dict[str, str]
_KEPT: dict[str, str]
