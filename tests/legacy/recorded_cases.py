"""Cases that ran on real Ray too: what came out there, and what comes out here."""

import importlib.util
import json
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


def recorded_cases(topic):
    """The module of a topic's cases, and what was recorded of them by group and name."""
    spec = importlib.util.spec_from_file_location(f"{topic}_cases", GOLDEN / topic / "cases.py")
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    return cases, json.loads((GOLDEN / topic / "recorded.json").read_text())


def pairs_of(recorded, own_way):
    """Group and name of what has to come out alike."""
    return [
        (group, name)
        for group, values in recorded.items()
        for name, value in values.items()
        if not str(value).startswith("raised") and name not in own_way.get(group, ())
    ]


def numbers_rounded(value):
    """The same data with numbers to five digits."""
    if isinstance(value, dict):
        return {key: numbers_rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [numbers_rounded(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
