"""What RLlib called otherwise in older releases, as data."""

from __future__ import annotations

from typing import Final

# Classes
CLASSES: Final = {
    "BCTorchRLModule": "DefaultBCTorchRLModule",
    "DQNRainbowCatalog": "DQNCatalog",
    "DQNRainbowTorchRLModule": "DefaultDQNTorchRLModule",
    "DefaultCallbacks": "RLlibCallback",
    "MultiAgentRLModule": "MultiRLModule",
    "MultiAgentRLModuleSpec": "MultiRLModuleSpec",
    "PPOTorchRLModule": "DefaultPPOTorchRLModule",
    "PrevActionsPrevRewardsConnector": "PrevActionsPrevRewards",
    "SACTorchRLModule": "DefaultSACTorchRLModule",
    "SingleAgentRLModuleSpec": "RLModuleSpec",
}
# Keywords of a class that is called
KEYWORDS: Final = {
    "RLModuleSpec": {"model_config_dict": "model_config"},
    "SingleAgentRLModuleSpec": {"model_config_dict": "model_config"},
    "MultiRLModuleSpec": {
        "marl_module_class": "multi_rl_module_class",
        "module_specs": "rl_module_specs",
    },
    "MultiAgentRLModuleSpec": {
        "marl_module_class": "multi_rl_module_class",
        "module_specs": "rl_module_specs",
    },
}
# Keywords of a config's method, in any chain of calls
CONFIG_KEYWORDS: Final = {
    "rl_module": {"model_config_dict": "model_config"},
}
# The one switch of `experimental()` that both of `api_stack()` follow
NEW_STACK_SWITCH: Final = "_enable_new_api_stack"
# Settings that `training()` took and `learners()` takes
MOVED_TO_LEARNERS: Final = frozenset(
    {
        "add_default_connectors_to_learner_pipeline",
        "learner_class",
        "learner_config_dict",
        "learner_connector",
    }
)
# Builders of connectors that were given the env alone
BUILDERS: Final = frozenset({"env_to_module_connector", "module_to_env_connector"})
BUILDER_PARAMETERS: Final = ("spaces", "device")
# The old names of the hook that computes a connector's spaces
SPACE_HOOKS: Final = {
    "recompute_action_space_from_input_spaces": "recompute_output_action_space",
    "recompute_observation_space_from_input_spaces": "recompute_output_observation_space",
}
SPACE_HOOK_PARAMETERS: Final = ("input_observation_space", "input_action_space")
# What a module asked its config for
MODULE_CONFIG: Final = {
    "action_space": "action_space",
    "model_config_dict": "model_config",
    "observation_space": "observation_space",
}
