"""The verdict on a checkpoint is that of its weakest part, with the reason."""

import dataclasses

import numpy as np
import pytest
from rlconnect.core.vault import Checkpoint, ModuleRecord, Problem, open_checkpoint
from rlconnect.core.vault.records.weights import WeightTable
from rlconnect.core.vault.verdict import judge, own_class, verdict

from .recorded import (
    MULTI_AGENT,
    NEW_ALGORITHM,
    NEW_MODULE,
    PENDULUM,
    RECORDINGS,
    copy_of,
    cut,
    open_once,
    remove,
)


@pytest.mark.parametrize(
    ("name", "level"),
    [
        (PENDULUM, "complete"),
        (MULTI_AGENT, "complete"),
        (NEW_ALGORITHM, "complete"),
        (NEW_MODULE, "complete"),
        ("compat/ppo-tf-v1.0/checkpoint", "complete"),
        ("wild/ray14-torch-noconfig/checkpoint", "weights only"),
        ("legacy/2.7.2/ppo_framestack_view/algo_checkpoint", "needs code"),
        ("legacy/2.7.2/ppo_user_module/algo_checkpoint", "complete"),
        ("new/2.60.0-pipe", "state only"),
        ("new/2.60.0-filter", "state only"),
    ],
)
def test_recorded_checkpoints_are_judged(name, level):
    """Complete, in need of its author's network, without config, or never with weights."""
    assert verdict(open_once(RECORDINGS / name)).level == level


def test_the_weakest_policy_decides(tmp_path):
    """One damaged file makes the whole damaged, and is the reason."""
    path = copy_of(MULTI_AGENT, tmp_path)
    cut(path / "policies/pol_1/policy_state.pkl")

    found = verdict(open_checkpoint(path))

    assert found.level == "damaged"
    assert "pol_1/policy_state.pkl" in found.reason


def test_lost_weights_are_no_weights(tmp_path):
    """A module without its state file is described, but has nothing to act with."""
    path = copy_of(NEW_MODULE, tmp_path)
    remove(path, "module_state.pkl")

    assert verdict(open_checkpoint(path)).level == "no weights"


def test_a_note_does_not_lower_the_verdict(tmp_path):
    """Policies that are whole stay so without their algorithm's state."""
    path = copy_of(PENDULUM, tmp_path)
    remove(path, "algorithm_state.pkl", "rllib_checkpoint.json")

    assert verdict(open_checkpoint(path)).level == "complete"


def test_an_empty_checkpoint_is_damaged_or_has_no_weights():
    """Without policies the reason is the first loss, or that there is nothing."""
    empty = Checkpoint("p", "algorithm", "old", "1.1")
    lost = dataclasses.replace(empty, problems=(Problem("x", "is not here", kind="missing"),))

    assert verdict(empty).level == "no weights"
    assert verdict(lost) == dataclasses.replace(
        verdict(lost), level="damaged", reason="x: is not here"
    )


def test_the_authors_own_module_class_is_named():
    """A module of the author's own cannot run without it; RLlib's own can."""
    record = ModuleRecord("a", module_class="shop.nets.Net", weights=WeightTable({"w": np.ones(1)}))

    assert own_class(record) == "shop.nets.Net"
    assert judge(record).level == "needs code"
    assert own_class(dataclasses.replace(record, module_class="ray.rllib.x.Y")) == ""
