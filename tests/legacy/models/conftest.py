"""Weights and inputs by rule, and the numbers real Ray gave for them."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

GOLDEN = Path(__file__).parents[2] / "golden" / "models"


@pytest.fixture(scope="session")
def formula():
    """The module that makes spaces, weights and inputs by rule."""
    spec = importlib.util.spec_from_file_location("golden_models_formula", GOLDEN / "formula.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def catalog(formula):
    """What Ray 2.60 answers for each case: `arrays` by name and `facts` by case."""
    index = json.loads((GOLDEN / "catalog.json").read_text(encoding="utf-8"))
    arrays = formula.unpacked("catalog", index["arrays"].items())
    return SimpleNamespace(arrays=arrays, facts=index["facts"])


@pytest.fixture(scope="session")
def recorded(formula):
    """Weights, inputs and outputs of policies that real Ray saved, by case and part."""
    index = json.loads((GOLDEN / "recorded.json").read_text(encoding="utf-8"))
    names = [name.split("|", 2) for name in index["order"]]
    cases = index["cases"]
    shapes = [("|".join(n), cases[n[0]][n[1]][n[2]][1]) for n in names]
    flat = formula.unpacked("recorded", shapes)
    for case in cases.values():
        for part in ("weights", "in", "out", "seq"):
            case[part] = dict(case[part])
    for case, part, key in names:
        dtype = cases[case][part][key][0]
        cases[case][part][key] = flat[f"{case}|{part}|{key}"].astype(dtype)
    return cases


@pytest.fixture(scope="session")
def rlmodules(formula):
    """RLModules of Ray 2.60: `cases` and `arrays`."""
    index = json.loads((GOLDEN / "rlmodule.json").read_text(encoding="utf-8"))
    arrays = formula.unpacked("rlmodule", index["arrays"].items())
    return SimpleNamespace(arrays=arrays, cases=index["cases"])
