"""One table tells what algorithm a spelling stands for."""

from rlconnect.core.algorithms import ALGORITHMS, SPELLINGS


def test_every_algorithm_is_spelled():
    """Each algorithm is found under its own name, without marks and capitals."""
    own = {name.replace("_", "").lower(): name for name in ALGORITHMS}

    assert own.items() <= SPELLINGS.items()


def test_spellings_are_bare():
    """What is looked up is lower case, letters and digits alone."""
    assert all(spelling.isalnum() and spelling == spelling.lower() for spelling in SPELLINGS)
