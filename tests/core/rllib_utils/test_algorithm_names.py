"""One table tells what algorithm a spelling stands for."""

from rlconnect.core.rllib_utils.algorithm_names import SPELLINGS
from rlconnect.legacy.heads.algorithms import FAMILIES


def test_every_algorithm_that_acts_is_spelled():
    """Each algorithm with a head is found under its own name, without marks and capitals."""
    own = {name.replace("_", "").lower(): name for name in FAMILIES}

    assert own.items() <= SPELLINGS.items()


def test_spellings_are_bare():
    """What is looked up is lower case, letters and digits alone."""
    assert all(spelling.isalnum() and spelling == spelling.lower() for spelling in SPELLINGS)
