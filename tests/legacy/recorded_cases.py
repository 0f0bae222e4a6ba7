"""Cases that ran on real Ray too: what came out there, and what comes out here."""

import importlib.util
import json
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"


def recorded_cases(topic):
    """The module of a topic's cases, and what was recorded of them by group and name."""
    spec = importlib.util.spec_from_file_location(f"{topic}_cases", GOLDEN / topic / "cases.py")
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    return cases, json.loads((GOLDEN / topic / "recorded.json").read_text(encoding="utf-8"))


def pairs_of(recorded, own_way):
    """Group and name of what has to come out alike."""
    return [
        (group, name)
        for group, values in recorded.items()
        for name, value in values.items()
        if not str(value).startswith("raised") and name not in own_way.get(group, ())
    ]


def assert_alike(found, recorded):
    """The same data, its numbers within the library's promise of 1e-5."""
    if isinstance(recorded, dict):
        assert found.keys() == recorded.keys()
        for key, value in recorded.items():
            assert_alike(found[key], value)
    elif isinstance(recorded, list):
        assert len(found) == len(recorded)
        for one, other in zip(found, recorded, strict=True):
            assert_alike(one, other)
    elif isinstance(recorded, float):
        assert found == pytest.approx(recorded, rel=1e-5, abs=1e-6, nan_ok=True)
    else:
        assert found == recorded
