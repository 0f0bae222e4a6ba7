"""What RLlib renamed between its releases."""

from __future__ import annotations

from typing import Final

from ...names.rows import renamed
from ...names.v2 import V2
from ...v2.runs.stop_criteria import RESULT_KEYS as RESULT_KEYS

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
_SPEC: Final = {"model_config_dict": "model_config"}
_MULTI_SPEC: Final = {
    "marl_module_class": "multi_rl_module_class",
    "module_specs": "rl_module_specs",
}
KEYWORDS: Final = {
    "RLModuleSpec": _SPEC,
    "SingleAgentRLModuleSpec": _SPEC,
    "MultiRLModuleSpec": _MULTI_SPEC,
    "MultiAgentRLModuleSpec": _MULTI_SPEC,
}
# Methods of a config that another one has taken the place of
CONFIG_METHODS: Final = {"exploration": "env_runners", "rollouts": "env_runners"}
# Settings that `training()` took
MOVED: Final = {
    name: f"give {name} to learners()"
    for name in ("learner_class", "learner_config_dict", "learner_connector")
}
# What is no more a method of an algorithm, and what to do instead
_ACT: Final = "act with rlconnect.load(checkpoint).act(observation)"
ALGORITHM_METHODS: Final = {
    "compute_action": _ACT,
    "compute_actions": _ACT,
    "compute_single_action": _ACT,
    "get_policy": "algorithms have modules: get_module(module_id)",
}
# What hooks of callbacks were given, and what they are given today
HOOK_PARAMETERS: Final = {
    "base_env": "env for base_env",
    "policies": "rl_module for policies",
    "trainer": "algorithm for trainer",
    "worker": "env_runner for worker",
}
# Attributes, alone or of an owner, that are called otherwise today
ATTRIBUTES: Final = {
    "episode.custom_metrics": "metrics_logger.log_value(name, value) takes its place",
    "episode.hist_data": "metrics_logger.log_value(name, value, reduce=None) takes its place",
    "episode.user_data": "episode.custom_data takes its place",
    "is_finalized": "it is now is_numpy",
    "self.config.get_catalog": "it is now self.catalog",
    "self.config.model_config_dict": "it is now self.model_config",
}
