"""Our classes and the names RLlib's checkpoints give them.

A checkpoint names a class by dotted path. Paths below `ray.rllib` are looked up by class name in
the table of `rlconnect.v2`, old spellings first in `_RENAMED`; `slots` says which of them a place
in a file may name. Written checkpoints name our own classes as RLlib does, so that Ray reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...core.trust import by_path

_RAY: Final = "ray.rllib."
_OURS: Final = "rlconnect.v2"
RAY_PIECES: Final = "rlconnect.ray_pieces"
"""Where Ray finds what it lacks, under the names of our own classes."""

# Older class names -> today's.
_RENAMED: Final = {
    "APPOTorchRLModule": "DefaultAPPOTorchRLModule",
    "BCTorchRLModule": "DefaultBCTorchRLModule",
    "BCTorchRLModuleWithSharedGlobalEncoder": "DefaultBCTorchRLModule",
    "DQNRainbowCatalog": "DQNCatalog",
    "DQNRainbowTorchRLModule": "DefaultDQNTorchRLModule",
    "DQNTorchRLModule": "DefaultDQNTorchRLModule",
    "IMPALATorchRLModule": "DefaultPPOTorchRLModule",
    "ImpalaTorchRLModule": "DefaultPPOTorchRLModule",
    "MARWILCatalog": "PPOCatalog",
    "MARWILTorchRLModule": "DefaultPPOTorchRLModule",
    "MultiAgentRLModule": "MultiRLModule",
    "MultiAgentRLModuleSpec": "MultiRLModuleSpec",
    "PPOTorchRLModule": "DefaultPPOTorchRLModule",
    "PrevActionsPrevRewardsConnector": "PrevActionsPrevRewards",
    "SACTorchRLModule": "DefaultSACTorchRLModule",
    "SingleAgentRLModuleSpec": "RLModuleSpec",
}

# Our class -> RLlib's module below `ray.rllib`, as of Ray 2.60.
_RAY_MODULES: Final = {
    "AddColumnsFromEpisodesToTrainBatch": (
        "connectors.learner.add_columns_from_episodes_to_train_batch"
    ),
    "AddInfosFromEpisodesToTrainBatch": "connectors.learner.add_infos_from_episodes_to_train_batch",
    "AddNextObservationsFromEpisodesToTrainBatch": (
        "connectors.learner.add_next_observations_from_episodes_to_train_batch"
    ),
    "AddObservationsFromEpisodesToBatch": (
        "connectors.common.add_observations_from_episodes_to_batch"
    ),
    "AddOneTsToEpisodesAndTruncate": "connectors.learner.add_one_ts_to_episodes_and_truncate",
    "AddStatesFromEpisodesToBatch": "connectors.common.add_states_from_episodes_to_batch",
    "AddTimeDimToBatchAndZeroPad": "connectors.common.add_time_dim_to_batch_and_zero_pad",
    "AgentToModuleMapping": "connectors.common.agent_to_module_mapping",
    "BCCatalog": "algorithms.bc.bc_catalog",
    "BatchIndividualItems": "connectors.common.batch_individual_items",
    "Catalog": "core.models.catalog",
    "ComputeReturnsToGo": "connectors.learner.compute_returns_to_go",
    "ConnectorPipelineV2": "connectors.connector_pipeline_v2",
    "ConnectorV2": "connectors.connector_v2",
    "DQNCatalog": "algorithms.dqn.dqn_catalog",
    "DefaultAPPOTorchRLModule": "algorithms.appo.torch.default_appo_torch_rl_module",
    "DefaultBCTorchRLModule": "algorithms.bc.torch.default_bc_torch_rl_module",
    "DefaultDQNTorchRLModule": "algorithms.dqn.torch.default_dqn_torch_rl_module",
    "DefaultModelConfig": "core.rl_module.default_model_config",
    "DefaultPPOTorchRLModule": "algorithms.ppo.torch.default_ppo_torch_rl_module",
    "DefaultSACTorchRLModule": "algorithms.sac.torch.default_sac_torch_rl_module",
    "EnvToModulePipeline": "connectors.env_to_module.env_to_module_pipeline",
    "FlattenObservations": "connectors.common.flatten_observations",
    "FrameStacking": "connectors.common.frame_stacking",
    "FrameStackingEnvToModule": "connectors.env_to_module.frame_stacking",
    "FrameStackingLearner": "connectors.learner.frame_stacking",
    "GeneralAdvantageEstimation": "connectors.learner.general_advantage_estimation",
    "GetActions": "connectors.module_to_env.get_actions",
    "LearnerConnectorPipeline": "connectors.learner.learner_connector_pipeline",
    "ListifyDataForVectorEnv": "connectors.module_to_env.listify_data_for_vector_env",
    "MeanStdFilter": "connectors.env_to_module.mean_std_filter",
    "ModuleToAgentUnmapping": "connectors.common.module_to_agent_unmapping",
    "ModuleToEnvPipeline": "connectors.module_to_env.module_to_env_pipeline",
    "MultiAgentObservationPreprocessor": "connectors.env_to_module.observation_preprocessor",
    "MultiRLModule": "core.rl_module.multi_rl_module",
    "MultiRLModuleSpec": "core.rl_module.multi_rl_module",
    "NormalizeAndClipActions": "connectors.module_to_env.normalize_and_clip_actions",
    "NumpyToTensor": "connectors.common.numpy_to_tensor",
    "PPOCatalog": "algorithms.ppo.ppo_catalog",
    "PrevActionsPrevRewards": "connectors.env_to_module.prev_actions_prev_rewards",
    "RLModule": "core.rl_module.rl_module",
    "RLModuleSpec": "core.rl_module.rl_module",
    "RemoveSingleTsTimeRankFromBatch": (
        "connectors.module_to_env.remove_single_ts_time_rank_from_batch"
    ),
    "SACCatalog": "algorithms.sac.sac_catalog",
    "SingleAgentObservationPreprocessor": "connectors.env_to_module.observation_preprocessor",
    "TensorToNumpy": "connectors.common.tensor_to_numpy",
    "TorchRLModule": "core.rl_module.torch.torch_rl_module",
    "UnBatchToIndividualItems": "connectors.module_to_env.unbatch_to_individual_items",
    "WriteObservationsToEpisodes": "connectors.env_to_module.write_observations_to_episodes",
}


def own_classes(*rooms: str) -> Callable[[str], Any]:
    """A table for a slot: the public classes of rlconnect.v2 that live in some of its rooms.

    Args:
        *rooms: Packages and modules: ".common", ".pipeline".
    """
    from .. import _HOME, _KEPT
    from .. import __name__ as package

    inside = tuple(f"{room}." for room in rooms)
    homes = {name: home for name, home in (_HOME | _KEPT).items() if f"{home}.".startswith(inside)}
    fetch = by_path(homes, package)

    def find(path: str) -> Any:
        if not path.startswith((_RAY, f"{_OURS}.", f"{RAY_PIECES}.")):
            return None
        name = path.rpartition(".")[2]
        return fetch(_RENAMED.get(name, name))

    return find


def saved_name(cls: Any) -> tuple[str, str]:
    """Module and name under which a class or function is saved: RLlib's for our own.

    A class may say otherwise by `saved_as`, a module and a name; its subclasses do not inherit it.
    """
    said: tuple[str, str] | None = vars(cls).get("saved_as") if isinstance(cls, type) else None
    if said is not None:
        return said
    module, name = cls.__module__, cls.__qualname__
    if module.startswith(_OURS) and name in _RAY_MODULES:
        return _RAY + _RAY_MODULES[name], name
    return module, name
