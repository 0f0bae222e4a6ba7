"""Ten changed environments: the adapted policy earns what the old one earned, to the digit."""

import importlib.util
from pathlib import Path

import pytest
from rlconnect.bridge import adapt
from rlconnect.bridge.rollout import rollout
from rlconnect.legacy import Policy

EXAMPLES = Path(__file__).parents[2].glob("examples/*_changed_*.py")
LOSSY = "a sensor is gone: its mean instead"


def scenarios():
    for example in sorted(EXAMPLES):
        spec = importlib.util.spec_from_file_location("changed", example)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from module.scenarios()


SCENARIOS = {name: rest for name, *rest in scenarios()}


def test_there_are_ten():
    """Each is a scenario of its own."""
    assert len(SCENARIOS) == 10


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_adapted_policy_earns_what_the_old_one_did(name, tmp_path):
    """Same seeds, same returns, also from a checkpoint; only a lost sensor costs."""
    policy, old, new, steps = SCENARIOS[name]

    adapted = adapt(policy, env=new, **steps)
    getattr(adapted, "native", adapted).export_checkpoint(tmp_path / "adapted")
    again = Policy.from_checkpoint(tmp_path / "adapted", check=True)

    before = rollout(policy, old, episodes=1, seed=5).returns
    after = rollout(adapted, new, episodes=1, seed=5).returns
    assert rollout(again, new, episodes=1, seed=5).returns == after
    assert (after == before) == (name != LOSSY)
