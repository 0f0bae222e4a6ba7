"""Recorded policies of each algorithm: weights, inputs and the outputs Ray gave."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest

from tests.legacy.replay import nested

GOLDEN = Path(__file__).parents[2] / "golden" / "heads"


def pytest_generate_tests(metafunc):
    """`case` runs over all recordings; `sampled_case` over those whose exploration sampled."""
    for name in ("case", "sampled_case"):
        if name in metafunc.fixturenames:
            cases = sorted(path.stem for path in GOLDEN.glob("*.npz"))
            if name == "sampled_case":
                cases = [case for case in cases if _sampled(case)]
            metafunc.parametrize(name, cases)


@pytest.fixture(scope="session")
def recording():
    """Read one recording by its name."""
    return _read


def _read(case):
    with np.load(GOLDEN / f"{case}.npz") as file:
        data = {key: file[key] for key in file.files}
    meta = json.loads(str(data.pop("meta")))
    return SimpleNamespace(
        meta=meta,
        config=meta["config"],
        spaces=(_space(meta["observation_space"]), _space(meta["action_space"])),
        weights={k.split("|", 1)[1]: v for k, v in data.items() if k.startswith("weights|")},
        columns=_stage(data, "batch_in"),
        greedy=_stage(data, "batch_out"),
        explored=_stage(data, "batch_explore"),
    )


def _sampled(case):
    explored = _read(case).explored
    return bool(explored) and explored["fetches"]["action_logp"].any()


def _stage(data, name):
    prefix = f"{name}|"
    found = {key[len(prefix) :]: value for key, value in data.items() if key.startswith(prefix)}
    return nested(found) if found else {}


def _space(text):
    # A space from its printed form.
    text = re.sub(r"\[([^\]]*)\]", lambda m: "[" + ", ".join(m[1].split()) + "]", text)
    text = re.sub(r"\binf\b", "np.inf", text)
    names = {"Box": _box, "Discrete": gym.spaces.Discrete, "np": np}
    names |= {"float32": np.float32, "int64": np.int64}
    names["MultiDiscrete"] = gym.spaces.MultiDiscrete
    names["Tuple"] = lambda *parts: gym.spaces.Tuple(parts)
    return eval(text, names)


def _box(low, high, shape, dtype):
    low, high = (np.array(np.broadcast_to(dtype(end), shape)) for end in (low, high))
    return gym.spaces.Box(low, high, dtype=dtype)
