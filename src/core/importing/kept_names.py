"""Names that old sources import and annotate with, and new ones need not: of both stacks."""

from __future__ import annotations

from typing import Final

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
KEPT: Final = {
    "override": "..core.rllib_utils.annotations",
    **dict.fromkeys(_ANNOTATIONS.split(), "..core.rllib_utils.typing_names"),
}
"""Where each lives, from the package of a stack."""
