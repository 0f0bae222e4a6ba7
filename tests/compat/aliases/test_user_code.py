"""Code in the style of RLlib's examples and of strangers' repositories runs under Ray's names.

`user_code/` imports from `ray` and nothing of ours; the same files ran on real Ray, and
`tests/golden/aliases/user_code.json` holds what they gave there.
"""

import importlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from rlconnect.compat import ray_aliases

USER_CODE = Path(__file__).parent / "user_code"
GOLDEN = Path(__file__).parents[2] / "golden" / "aliases"
RECORDED = json.loads((GOLDEN / "user_code.json").read_text(encoding="utf-8"))["results"]
TORCH_TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture
def user_modules(monkeypatch):
    """The folder of user code importable under Ray's names, and forgotten afterwards."""
    monkeypatch.syspath_prepend(USER_CODE)
    own = {path.stem for path in USER_CODE.glob("*.py")}
    with ray_aliases.activate(force=True):
        yield
    for name in own & set(sys.modules):
        del sys.modules[name]


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_user_code_gives_what_ray_gives(name, user_modules):
    """A file written against Ray imports, runs, and returns the numbers that Ray returned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # old settings are part of the style
        result = _plain(importlib.import_module(name).run())

    _compare(RECORDED[name], result, name)


def test_every_file_of_user_code_was_recorded():
    """No file is left out because it failed when it was recorded."""
    runnable = {
        path.stem
        for path in USER_CODE.glob("*.py")
        if "def run(" in path.read_text(encoding="utf-8")
    }

    assert runnable == set(RECORDED)
    assert len(runnable) >= 25


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _compare(expected, found, where):
    if isinstance(expected, dict):
        assert set(expected) == set(found), where
        for key, item in expected.items():
            _compare(item, found[key], f"{where}/{key}")
    elif isinstance(expected, list):
        assert len(expected) == len(found), where
        for index, item in enumerate(expected):
            _compare(item, found[index], f"{where}[{index}]")
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, err_msg=where, **TORCH_TOLERANCE)
    else:
        assert found == expected, where
