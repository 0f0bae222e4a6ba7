"""Write `recorded.json`: what real Ray makes of the scenarios. Run with a Python that has Ray.

    python record.py

The file in the repository was written by Ray 2.60.0 with numpy 2.4 and gymnasium 1.2.
"""

import json
from pathlib import Path
from types import SimpleNamespace

from ray.rllib.connectors.agent.clip_reward import ClipRewardAgentConnector
from ray.rllib.connectors.agent.mean_std_filter import MeanStdObservationFilterAgentConnector
from ray.rllib.connectors.agent.state_buffer import StateBufferConnector
from ray.rllib.connectors.agent.view_requirement import ViewRequirementAgentConnector
from ray.rllib.connectors.connector import ConnectorContext
from ray.rllib.evaluation.collectors.agent_collector import AgentCollector
from ray.rllib.policy.rnn_sequencing import (
    add_time_dimension,
    pad_batch_to_sequences_of_same_size,
)
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch, concat_samples
from ray.rllib.policy.view_requirement import ViewRequirement
from ray.rllib.utils.filter import MeanStdFilter
from ray.rllib.utils.typing import ActionConnectorDataType, AgentConnectorDataType

from scenarios import run

NAMES = {name: value for name, value in globals().items() if name[0].isupper()} | {
    "concat_samples": concat_samples,
    "add_time_dimension": add_time_dimension,
    "pad_batch_to_sequences_of_same_size": pad_batch_to_sequences_of_same_size,
}

if __name__ == "__main__":
    found = run(SimpleNamespace(**NAMES))
    text = json.dumps(found, separators=(",", ":"), sort_keys=True)
    Path(__file__).with_name("recorded.json").write_text(text + "\n")
