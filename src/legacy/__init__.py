"""RLlib's old API stack: connectors, policies and local inference, without Ray.

    from rlconnect.legacy import Policy, local_policy_inference

Names are RLlib's and are fetched on first use, so that importing this package costs nothing.
Read `policy` and `inference` first, then `pipeline`; ARCHITECTURE.md walks one observation through.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "config": "AlgorithmConfig",
    "connector": "ActionConnector AgentConnector Connector",
    "context": "ConnectorContext",
    "pipeline": "ActionConnectorPipeline AgentConnectorPipeline ConnectorPipeline",
    "types": "ActionConnectorDataType AgentConnectorDataType AgentConnectorsOutput "
    "PolicyOutputType",
    "registry": "get_connector register_connector",
    "lambdas": "register_lambda_action_connector register_lambda_agent_connector",
    "defaults": "create_connectors_for_policy get_action_connectors_from_config "
    "get_agent_connectors_from_config get_synced_filter_connector "
    "maybe_get_filters_for_syncing restore_connectors_for_policy",
    "agent.clip_reward": "ClipRewardAgentConnector",
    "agent.env_sampling": "EnvSamplingAgentConnector",
    "agent.flatten": "FlattenDataAgentConnector",
    "agent.mean_std_filter": "ConcurrentMeanStdObservationFilterAgentConnector "
    "MeanStdObservationFilterAgentConnector",
    "agent.obs_preproc": "ObsPreprocessorConnector",
    "agent.state_buffer": "StateBufferConnector",
    "agent.synced_filter": "SyncedFilterAgentConnector",
    "agent.view_requirement": "ViewRequirementAgentConnector",
    "action.clip": "ClipActionsConnector",
    "action.immutable": "ImmutableActionsConnector",
    "action.normalize": "NormalizeActionsConnector",
    "action.to_numpy": "ConvertToNumpyConnector",
    "sample_batch": "SampleBatch",
    "multi_agent_batch": "MultiAgentBatch concat_samples concat_samples_into_ma_batch "
    "convert_ma_batch_to_sample_batch",
    "sequences": "add_time_dimension chop_into_sequences pad_batch_to_sequences_of_same_size "
    "timeslice_along_seq_lens_with_overlap",
    "collector": "AgentCollector",
    "views": "ViewRequirement",
    "filters": "ConcurrentMeanStdFilter MeanStdFilter NoFilter get_filter",
    "preprocessors": "AtariRamPreprocessor DictFlatteningPreprocessor GenericPixelPreprocessor "
    "MultiBinaryPreprocessor NoPreprocessor OneHotPreprocessor Preprocessor "
    "RepeatedValuesPreprocessor TupleFlatteningPreprocessor get_preprocessor "
    "get_preprocessor_for_space register_custom_preprocessor",
    "policy": "Policy",
    "inference": "batch_policy_inference local_policy_inference",
    "export": "export_policies",
    "models": "LegacyModel MODEL_DEFAULTS TorchModelV2",
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_NAMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
