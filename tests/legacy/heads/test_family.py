"""A family of algorithms is a file with a record in it, and rows of the table of algorithms."""

import subprocess
import sys

import pytest
from rlconnect.core.algorithms import ALGORITHMS
from rlconnect.legacy.heads.family import Family, family

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
