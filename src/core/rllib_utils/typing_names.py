"""The names old sources annotate with, as RLlib's `utils.typing` has them.

They stand for what a reader should think of, and load nothing: where RLlib means a class of one
of the stacks, or of a framework that may be missing, the alias is open. `types` holds the
aliases that this library itself speaks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Dict, List, Tuple, TypeAlias, TypeVar, Union  # noqa: UP035

import gymnasium as gym

# `Dict[...]` and `Union[...]`, not `dict[...]` and `|`: sources subscript and take them apart as
# what they are in RLlib, on every Python.
# ruff: noqa: UP006, UP007

# Data
TensorType: TypeAlias = Any
TensorStructType: TypeAlias = Any
TensorShape: TypeAlias = Union[Tuple[int, ...], List[int]]
DeviceType: TypeAlias = Union[str, int, Any]
FileType: TypeAlias = Any
SpaceStruct: TypeAlias = Union[gym.Space[Any], Dict[str, Any], Tuple[Any, ...]]
StateBatches: TypeAlias = List[List[Any]]
SampleBatchType: TypeAlias = Any
ViewRequirementsDict: TypeAlias = Dict[str, Any]

# Ids
AgentID: TypeAlias = Union[Hashable, str]
EnvID: TypeAlias = Union[int, str]
EpisodeID: TypeAlias = Union[int, str]
UnrollID: TypeAlias = int
ModuleID: TypeAlias = str
PolicyID: TypeAlias = str

# Environments and episodes
EnvType: TypeAlias = Union[Any, gym.Env[Any, Any]]
EnvActionType: TypeAlias = Any
EnvConfigDict: TypeAlias = dict
EnvCreator: TypeAlias = Callable[[Any], Any]
EnvInfoDict: TypeAlias = dict
EnvObsType: TypeAlias = Any
EpisodeType: TypeAlias = Any
MultiAgentDict: TypeAlias = Dict[AgentID, Any]
MultiEnvDict: TypeAlias = Dict[EnvID, MultiAgentDict]

# Settings
AlgorithmConfigDict: TypeAlias = dict
PartialAlgorithmConfigDict: TypeAlias = dict
ModelConfigDict: TypeAlias = dict
MultiAgentPolicyConfigDict: TypeAlias = Dict[str, Any]
ConvFilterSpec: TypeAlias = List[
    Tuple[int, Union[int, Tuple[int, int]], Union[int, Tuple[int, int]]]
]
FromConfigSpec: TypeAlias = Union[Dict[str, Any], type, str]
LearningRateOrSchedule: TypeAlias = Union[
    float, List[List[Union[int, float]]], List[Tuple[int, Any]]
]
RLModuleSpecType: TypeAlias = Any
AgentToModuleMappingFn: TypeAlias = Callable[[AgentID, Any], str]
IsPolicyToTrain: TypeAlias = Callable[[str, Any], bool]
ShouldModuleBeUpdatedFn: TypeAlias = Union[Sequence[str], Callable[[str, Any], bool]]

# Networks and their training
NetworkType: TypeAlias = Any
Optimizer: TypeAlias = Any
LocalOptimizer: TypeAlias = Any
Param: TypeAlias = Any
ParamRef: TypeAlias = Hashable
ParamDict: TypeAlias = Dict[ParamRef, Param]
ParamList: TypeAlias = List[Param]
NamedParamDict: TypeAlias = Dict[str, Param]
ModelGradients: TypeAlias = List[Any]
ModelInputDict: TypeAlias = Dict[str, TensorType]
ModelWeights: TypeAlias = dict
PolicyState: TypeAlias = Dict[str, TensorStructType]
StateDict: TypeAlias = Dict[str, Any]
GradInfoDict: TypeAlias = dict
LearnerStatsDict: TypeAlias = dict
ResultDict: TypeAlias = Dict[Any, Any]
TFPolicyV2Type: TypeAlias = Any

T = TypeVar("T")
