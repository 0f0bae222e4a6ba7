"""Views, collectors, batches, filters and pieces against what real Ray made of the same calls."""

import importlib
import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "golden" / "connectors"
HOMES = {
    "views.collector": ["AgentCollector"],
    "connectors.context": ["ConnectorContext"],
    "observations.filters": ["MeanStdFilter"],
    "batches.multi_agent_batch": ["MultiAgentBatch", "concat_samples"],
    "batches.sample_batch": ["SampleBatch"],
    "batches.sequences": ["add_time_dimension", "pad_batch_to_sequences_of_same_size"],
    "connectors.types": ["ActionConnectorDataType", "AgentConnectorDataType"],
    "views.views": ["ViewRequirement"],
    "connectors.agent.clip_reward": ["ClipRewardAgentConnector"],
    "connectors.agent.mean_std_filter": ["MeanStdObservationFilterAgentConnector"],
    "connectors.agent.state_buffer": ["StateBufferConnector"],
    "connectors.agent.view_requirement": ["ViewRequirementAgentConnector"],
}
OURS = SimpleNamespace(
    **{
        name: getattr(importlib.import_module(f"rlconnect.legacy.{home}"), name)
        for home, names in HOMES.items()
        for name in names
    }
)
RECORDED = json.loads((FOLDER / "recorded.json").read_text(encoding="utf-8"))
spec = importlib.util.spec_from_file_location("connector_scenarios", FOLDER / "scenarios.py")
scenarios = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scenarios)
FOUND = json.loads(json.dumps(scenarios.run(OURS)))


def array(data):
    return np.array(data["values"]).reshape(data["shape"])


def kind(data):
    """What a network sees of a dtype: Ray's integers widen with the history they come from."""
    return "int" if data["dtype"] in ("int32", "int64") else data["dtype"]


def assert_equal(found, wanted, path):
    if isinstance(wanted, dict) and "dtype" in wanted and "shape" in wanted:
        assert kind(found) == kind(wanted), path
        assert found["shape"] == wanted["shape"], path
        np.testing.assert_allclose(
            array(found).astype(float), array(wanted).astype(float), 1e-6, 1e-7, err_msg=path
        )
    elif isinstance(wanted, dict):
        assert sorted(found) == sorted(wanted), path
        for key in wanted:
            assert_equal(found[key], wanted[key], f"{path}.{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), path
        for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
            assert_equal(one, other, f"{path}[{index}]")
    else:
        assert found == pytest.approx(wanted) if isinstance(wanted, float) else found == wanted


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_equals_ray(name):
    """The same calls on rlconnect give the numbers, kinds and shapes that Ray 2.60 gave."""
    assert_equal(FOUND[name], RECORDED[name], name)


def test_every_scenario_is_recorded():
    """No scenario runs without a recording to hold it against."""
    assert sorted(FOUND) == sorted(RECORDED)


@pytest.mark.parametrize("name", [n for n in sorted(RECORDED) if n.startswith("views/")])
def test_agents_together_get_what_each_gets_alone(name):
    """Three agents in one list see, row by row, what Ray gave one agent on its own."""
    arguments = scenarios.view_cases(OURS)[name.removeprefix("views/")]

    found = [scenarios.views(OURS, *arguments, batch=place) for place in range(3)]

    for rows in found:
        assert_equal(json.loads(json.dumps(scenarios.plain(rows))), RECORDED[name], name)
