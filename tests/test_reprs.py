"""What people hold says in a line, and in a notebook, what it is; nothing is read for it."""

from pathlib import Path

import numpy as np
import pytest
import rlconnect
from rlconnect.legacy import SampleBatch
from rlconnect.legacy.batches.multi_agent_batch import MultiAgentBatch
from rlconnect.offline import open_dataset
from rlconnect.v2 import MultiAgentEpisode, SingleAgentEpisode

ROOT = Path(__file__).parents[1]
CHECKPOINT = ROOT / "examples/checkpoints/ppo-pendulum-ray-2.7"
RECORDED = ROOT / "tests/golden/offline/2.60.0/ope_episodes/data"


def test_a_dataset_says_what_costs_nothing_to_know():
    """Its kind and files at once; what was counted once it was."""
    data = open_dataset(RECORDED)
    before = repr(data)

    counts = data.info()["counts"]

    assert before == "<Dataset sample-batch-json: 1 file>"
    assert f"{counts['rows']} rows; {counts['episodes']} episodes; 1 file; columns obs" in repr(
        data
    )
    assert f"<td>{counts['rows']}</td>" in data._repr_html_()


def test_batches_and_episodes_are_tables_in_a_notebook():
    """A row a column with its range, one for each part of a dict; rewards are a curve, too."""
    rows = {"obs": {"a": np.eye(4, 2), "<b>": np.arange(4)}, "rewards": np.array([0.0, 1, 2, 5])}
    batch = SampleBatch({**rows, "infos": np.array([{}] * 4)})
    episode = SingleAgentEpisode(
        observations=[np.ones(2)] * 4, actions=[0, 1, 1], rewards=[1.0, 2.0, 6.0],
        len_lookback_buffer=0,
    )  # fmt: skip
    agents = MultiAgentEpisode()
    agents.add_env_reset(observations={"x": np.zeros(3), "y": np.zeros(1)})
    step = {"observations": {"x": np.ones(3)}, "actions": {"x": 1, "y": 0}, "rewards": {"x": 2.0}}
    agents.add_env_step(**step)

    tables = [each._repr_html_() for each in (batch, MultiAgentBatch({"p": batch}, 4), episode)]

    for page in tables[:2]:
        assert "<td>obs.a</td><td>4</td><td>(2,) float64</td><td>0</td><td>0.25</td>" in page
        assert "obs.&lt;b&gt;" in page
        assert "<td>infos</td><td>4</td>" in page
    assert "policy p" in tables[1]
    assert "<td>rewards</td><td>3</td><td>float64</td><td>1</td><td>3</td><td>6</td>" in tables[2]
    for page in tables:
        assert page.count("<polyline") == 1
    assert "agent x" in agents._repr_html_()


@pytest.mark.torch
def test_policies_are_drawn_as_they_are_and_as_they_run():
    """Policy, actor and triple: boxes from environment to environment; a line is short."""
    loaded = rlconnect.load(CHECKPOINT).only
    policy, actor = loaded.native, rlconnect.Actor.from_policy(loaded)
    triple = rlconnect.migrate(CHECKPOINT).triple()

    assert repr(policy) == "<PPO policy 'default_policy': Box(3,) float32 -> Box(1,) float32>"
    assert repr(triple) == "<V2Triple 'default_policy' of a DefaultPPOTorchRLModule>"
    assert "MeanStdObservationFilter</strong>" in policy._repr_html_()
    assert "one pass for all rows" in actor._repr_html_()
    assert "<strong>MeanStdFilter</strong>" in triple._repr_html_()
    for each in (policy, actor, triple):
        assert each._repr_html_().count("<strong>environment</strong>") == 2


@pytest.mark.torch
def test_what_commands_return_is_a_line():
    """Checkpoint, record, comparison, plan and config; nothing has an address or fills a screen."""
    from rlconnect.v2 import PPOConfig

    checkpoint = rlconnect.open_checkpoint(CHECKPOINT)
    policy = rlconnect.load(CHECKPOINT).only
    plan = rlconnect.migrate(CHECKPOINT)
    config = PPOConfig().environment("CartPole-v1").training(lr=0.5)
    shown = {
        repr(checkpoint): "<Checkpoint PPO algorithm of the old stack, Ray 2.7.2: 'default_policy'",
        repr(checkpoint.policies["default_policy"]): "<PolicyRecord 'default_policy' PPOTorchPol",
        repr(rlconnect.verify(policy, policy, samples=1)): "<Verdict equal: ",
        repr(plan): "<MigrationPlan PPO default_policy: ",
        repr(config): "<PPOConfig env='CartPole-v1', lr=0.5>",
        repr(PPOConfig()): "<PPOConfig of defaults>",
    }

    for text, start in shown.items():
        assert text.startswith(start)
        assert len(text) < 500
        assert "\n" not in text
