"""Record what Ray's MultiAgentEnvRunner gives: run with an interpreter that has Ray 2.60.

    python record.py

It writes `recorded.json` beside itself; tests/v2/env_runners/together.py holds the cases.
"""

import importlib.util
import json
import logging
import pathlib
import types
import warnings

warnings.filterwarnings("ignore")

from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402
from ray.rllib.callbacks.callbacks import RLlibCallback  # noqa: E402
from ray.rllib.connectors.connector_v2 import ConnectorV2  # noqa: E402
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig  # noqa: E402
from ray.rllib.env.multi_agent_env import MultiAgentEnv  # noqa: E402
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner  # noqa: E402

logging.disable(logging.WARNING)
here = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location(
    "together", here.parents[1] / "v2" / "env_runners" / "together.py"
)
together = importlib.util.module_from_spec(spec)
spec.loader.exec_module(together)
api = types.SimpleNamespace(
    PPOConfig=PPOConfig,
    RLlibCallback=RLlibCallback,
    ConnectorV2=ConnectorV2,
    DefaultModelConfig=DefaultModelConfig,
    MultiAgentEnv=MultiAgentEnv,
    MultiAgentEnvRunner=MultiAgentEnvRunner,
)
recorded = {name: together.play(api, name) for name in together.CASES}
(here / "recorded.json").write_text(json.dumps(recorded, sort_keys=True) + "\n")
