"""Suggestions are for slips of the pen; a name without end costs nothing."""

import difflib

import pytest
from rlconnect.core.text.near_names import LONGEST_NAME, near_names
from rlconnect.core.vault.names import algorithm_name


def test_a_slip_is_told_and_an_endless_name_is_not_looked_at(monkeypatch):
    """Comparing takes quadratic time, so a long name is never compared."""
    assert near_names("Flaten", ["Flatten", "Clip"]) == ["Flatten"]

    monkeypatch.setattr(difflib, "get_close_matches", None)
    assert near_names("F" * (LONGEST_NAME + 1), ["Flatten"]) == []


@pytest.mark.parametrize("ending", ["", "X"])
def test_endless_class_names_are_of_no_algorithm(ending, monkeypatch):
    """Neither endings nor suggestions are searched in what no class is called."""
    seen = []

    class Endings:
        def sub(self, by, text):
            seen.append(len(text))
            return text

    monkeypatch.setattr("rlconnect.core.vault.names._SUFFIX", Endings())
    name = "ray.rllib." + "Torch" * 100_000 + ending

    assert algorithm_name(name, "PPOTorchPolicy" * 0) == ""
    assert sum(seen) <= LONGEST_NAME
