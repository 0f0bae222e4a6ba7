"""A family of algorithms is a file with a record in it, and rows of the table of algorithms."""

import subprocess
import sys

import pytest
from rlconnect.core.algorithms import ALGORITHMS
from rlconnect.core.errors import UnknownNameError
from rlconnect.core.text.near_names import LONGEST_NAME
from rlconnect.legacy.heads.family import Family, algorithm_named, family

ACTING = sorted(name for name, row in ALGORITHMS.items() if row.family)
WITH_TWIN = ("APEX_DDPG", "ARS", "DQN", "PG", "PPO", "SAC", "SimpleQ")


@pytest.mark.parametrize("algorithm", ACTING)
def test_every_row_that_names_a_family_has_its_file(algorithm):
    """Whatever family the table names, its record is found."""
    assert isinstance(family(algorithm), Family)


def test_families_with_a_numpy_twin_do_not_load_torch():
    """A record that numpy acts by costs no import of torch."""
    code = (
        "import sys\n"
        "from rlconnect.legacy.heads.family import family\n"
        f"assert all(family(name).network for name in {WITH_TWIN!r})\n"
        "sys.exit('torch' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_an_algorithm_borrows_is_another_with_a_family():
    """Policy classes are borrowed from algorithms that have one, of the same family."""
    for row in ALGORITHMS.values():
        assert not row.borrows or ALGORITHMS[row.borrows].family == row.family


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

    monkeypatch.setattr("rlconnect.legacy.heads.family._ENDINGS", Endings())
    with pytest.raises(UnknownNameError, match="no algorithm"):
        algorithm_named("ray.rllib." + "Torch" * 100_000)

    assert sum(seen) <= LONGEST_NAME
