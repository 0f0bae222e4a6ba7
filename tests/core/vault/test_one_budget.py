"""All readers of one load share one budget: many small claims are refused as one large one is."""

import json
import pickle

import numpy as np
import pytest
import rlconnect
from gymnasium.spaces import Box
from rlconnect.core.adapters import AdapterChain
from rlconnect.core.data.array_codec import array_from_data
from rlconnect.core.data.budget import DEFAULT_LIMITS, one_load
from rlconnect.core.errors import LimitExceededError
from rlconnect.core.spaces.own_layout import space_from_data
from rlconnect.core.spaces.ray_layouts import gym_space_to_dict, space_from_ray
from rlconnect.core.spaces.ray_pickles import space_from_pickled
from rlconnect.core.vault.own.writer import save_file

MOST = DEFAULT_LIMITS.base_memory
WIDE = {"kind": "Box", "dtype": "float32", "shape": [2**18], "low": 0.0, "high": 1.0}
FILLED = {"dtype": "float32", "shape": [2**18], "fill": 0.0}
STATE = {"low": np.zeros(2**18), "high": np.ones(2**18), "dtype": np.dtype("f4")}
RAY = gym_space_to_dict(Box(0, 1, (2**18,)))
CHAIN = {"obs": [{"step": "scale", "factor": FILLED}] * 64}


def made_of(held):
    """Bytes of all arrays a checkpoint's spaces hold."""
    spaces = [policy.observation_space for policy in held.policies.values()]
    return sum(space.low.nbytes + space.high.nbytes for space in spaces if space is not None)


@pytest.mark.parametrize(
    "read",
    [
        lambda: space_from_data(WIDE),
        lambda: space_from_ray(RAY),
        lambda: space_from_pickled("gym.spaces.box.Box", STATE),
        lambda: array_from_data(FILLED),
    ],
    ids=["own space", "Ray's space", "pickled space", "array"],
)
def test_many_small_claims_are_refused_together(read):
    """Each passes by itself; as many as take more than the load may have do not."""
    times = MOST // 2**20 + 1

    with one_load(), pytest.raises(LimitExceededError, match="in all"):
        _ = [read() for _ in range(times)]


def test_a_chain_of_steps_is_one_load():
    """The arrays of all its steps come out of one allowance."""
    with pytest.raises(LimitExceededError, match="in all"):
        AdapterChain.from_data(CHAIN)


def test_a_checkpoint_makes_no_more_than_its_budget(tmp_path):
    """A few kilobytes of spaces that fill themselves stay within what the whole load may take."""
    policies = {f"p{i}": {"observation_space": WIDE} for i in range(100)}
    save_file(tmp_path / "a.json", {"policies": policies}, kind="policies")

    held = rlconnect.open_checkpoint(tmp_path / "a.json")

    allowed = MOST + DEFAULT_LIMITS.memory_factor * (tmp_path / "a.json").stat().st_size
    assert 0 < made_of(held) <= allowed
    assert any("would take" in problem.what for problem in held.problems)


def test_what_fails_gives_its_memory_back(tmp_path):
    """A file that asks for too much does not take the others with it."""
    honest = tmp_path / "policies" / "honest"
    honest.mkdir(parents=True)
    weights = {"w": np.ones(4, np.float32)}
    (tmp_path / "algorithm_state.pkl").write_bytes(b"\x80\x04(" + b"]" * 600_000 + b"t.")
    (tmp_path / "rllib_checkpoint.json").write_text(
        json.dumps({"type": "Algorithm"}), encoding="utf-8"
    )
    (honest / "policy_state.pkl").write_bytes(pickle.dumps({"weights": weights}))

    held = rlconnect.open_checkpoint(tmp_path)

    assert held.policies["honest"].weights["w"].tolist() == [1.0] * 4
    assert any("would take" in problem.what for problem in held.problems)
