"""The algorithms of the old stack are recognised however a checkpoint spells them."""

import pytest
from rlconnect.core.errors import UnknownNameError
from rlconnect.core.text.near_names import LONGEST_NAME
from rlconnect.legacy.heads import algorithms
from rlconnect.legacy.heads.algorithms import algorithm_named


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("PPO", "PPO"),
        ("PPOTorchPolicy", "PPO"),
        ("PPOTF2Policy_eager_traced", "PPO"),
        ("DQNTorchPolicy", "DQN"),
        ("Rainbow", "DQN"),
        ("ImpalaTorchPolicy", "IMPALA"),
        ("APEX-DQN", "APEX"),
        ("ray.rllib.algorithms.a3c.a3c_torch_policy.A3CTorchPolicy", "A3C"),
        ("SimpleQTorchPolicy", "SimpleQ"),
        ("ApexDDPG", "APEX_DDPG"),
        ("MARWILTF1Policy", "MARWIL"),
        ("R2D2TFPolicy", "R2D2"),
        ("SACTrainer", "SAC"),
    ],
)
def test_algorithms_are_recognised_by_any_name(spelling, name):
    """Policy classes, registry names and dotted paths lead to the algorithm."""
    assert algorithm_named(spelling) == name


def test_a_class_stands_for_its_name():
    """The class itself, or what a safe reader left in its place, is as good as its name."""
    assert algorithm_named(type("CQLTorchPolicy", (), {})) == "CQL"


def test_an_unknown_algorithm_is_named():
    """A name nobody knows is an error that suggests the nearest one."""
    with pytest.raises(UnknownNameError, match=r"'PPPO'(.|\n)*'PPO'"):
        algorithm_named("PPPO")


def test_endless_names_are_no_algorithm(monkeypatch):
    """Neither endings nor suggestions are searched in what no class is called."""
    seen = []

    class Endings:
        def sub(self, by, text):
            seen.append(len(text))
            return text

    monkeypatch.setattr(algorithms, "_ENDINGS", Endings())
    with pytest.raises(UnknownNameError, match="no algorithm"):
        algorithms.algorithm_named("ray.rllib." + "Torch" * 100_000)

    assert sum(seen) <= LONGEST_NAME
