# Made of the table in __init__.py by `make stubs`.
from ..distributions.registered import register_custom_action_dist as register_custom_action_dist, register_custom_model as register_custom_model
from .attention import AttentionWrapper as AttentionWrapper, GTrXLNet as GTrXLNet
from .base import LegacyModel as LegacyModel, ModelV2 as ModelV2, TorchModelV2 as TorchModelV2
from .catalog import build_model as build_model, default_class as default_class
from .complex import ComplexInputNetwork as ComplexInputNetwork
from .defaults import MODEL_DEFAULTS as MODEL_DEFAULTS, get_filter_config as get_filter_config, with_defaults as with_defaults
from .fcnet import FullyConnectedNetwork as FullyConnectedNetwork
from .layers import AppendBiasLayer as AppendBiasLayer, Reshape as Reshape, SlimConv2d as SlimConv2d, SlimFC as SlimFC, get_activation_fn as get_activation_fn, get_initializer_fn as get_initializer_fn, normc_initializer as normc_initializer, same_padding as same_padding, valid_padding as valid_padding
from .lstm import LSTMWrapper as LSTMWrapper, RecurrentNetwork as RecurrentNetwork
from .model_catalog import ModelCatalog as ModelCatalog
from .original_observations import flatten as flatten, restore_original_dimensions as restore_original_dimensions
from .repeated_values import RepeatedValues as RepeatedValues
from .rlmodule import RLModuleNet as RLModuleNet, is_rlmodule as is_rlmodule
from .visionnet import VisionNetwork as VisionNetwork
from .weights import load_weights as load_weights
_HOME: dict[str, str]
