"""The names under which parts of env runners and algorithms are saved."""

from __future__ import annotations

from typing import Final

COMPONENT_ENV_RUNNER: Final = "env_runner"
COMPONENT_ENV_TO_MODULE_CONNECTOR: Final = "env_to_module_connector"
COMPONENT_MODULE_TO_ENV_CONNECTOR: Final = "module_to_env_connector"
COMPONENT_RL_MODULE: Final = "rl_module"

WEIGHTS_SEQ_NO: Final = "weights_seq_no"
