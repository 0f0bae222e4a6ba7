"""What RLlib called otherwise in older releases, as data."""

from __future__ import annotations

from typing import Final

from ...names.rows import renamed
from ...names.v2 import V2

CLASSES: Final = renamed(V2)
# What Ray 1 called algorithms
TRAINERS: Final = {
    "BCTrainer": "BC",
    "MARWILTrainer": "MARWIL",
    "PPOTrainer": "PPO",
    "Trainer": "Algorithm",
}
DEFAULT_CONFIG: Final = "DEFAULT_CONFIG"
# Modules of Ray 1
MOVED_MODULES: Final = {
    "ray.rllib.agents.trainer": "ray.rllib.algorithms.algorithm",
    "ray.rllib.agents": "ray.rllib.algorithms",
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
# Methods of a config that another one has taken the place of
CONFIG_METHODS: Final = {"exploration": "env_runners", "rollouts": "env_runners"}
# What is no more a method of an algorithm, and what to do instead
ALGORITHM_METHODS: Final = {
    "compute_action": "act with rlconnect.load(checkpoint).act(observation)",
    "compute_actions": "act with rlconnect.load(checkpoint).act(observations)",
    "compute_single_action": "act with rlconnect.load(checkpoint).act(observation)",
    "get_policy": "algorithms have modules: get_module(module_id)",
}
# What hooks of callbacks were given, and what they are given today
HOOK_PARAMETERS: Final = {
    "base_env": "env for base_env",
    "policies": "rl_module for policies",
    "trainer": "algorithm for trainer",
    "worker": "env_runner for worker",
}
# What hooks kept in an episode
EPISODE_ATTRIBUTES: Final = {
    "episode.custom_metrics": "metrics_logger.log_value(name, value) takes its place",
    "episode.hist_data": "metrics_logger.log_value(name, value, reduce=None) takes its place",
    "episode.user_data": "episode.custom_data takes its place",
}
# Methods and keywords of Tune's that such a key is given to
METRIC_METHODS: Final = frozenset(
    {"get_best_checkpoint", "get_best_config", "get_best_logdir", "get_best_result"}
    | {"get_best_trial", "get_last_checkpoint", "get_trial_checkpoints_paths"}
)
METRIC_KEYWORDS: Final = frozenset(
    {"checkpoint_score_attr", "checkpoint_score_attribute", "metric", "stop"}
)
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
