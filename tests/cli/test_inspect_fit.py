"""The verdict of `inspect` and `scan` on whether a checkpoint loads and runs is the loader's."""

import json

import numpy as np
import pytest
import rlconnect
from rlconnect.bridge.front.fit import try_loading
from rlconnect.cli.app import main
from rlconnect.core.errors import MissingExtraError
from rlconnect.core.vault.description import describe_checkpoint
from rlconnect.core.vault.verdict import verdict

from ..core.vault.recorded import (
    MULTI_AGENT,
    NEW_ALGORITHM,
    NEW_MODULE,
    PENDULUM,
    RECORDINGS,
    copy_of,
    policy_state,
    remove,
    write_policy,
)


def without_a_piece(tmp_path):
    """A checkpoint whose pipeline contains a piece that is not one of RLlib's."""
    path = copy_of(NEW_ALGORITHM, tmp_path)
    for file in path.rglob("class_and_ctor_args.pkl"):
        file.write_bytes(file.read_bytes().replace(b"MeanStdFilter", b"MeanStdFiltex"))
    return path


def of_algorithm(tmp_path):
    """A policy of an algorithm that is not supported."""
    state = policy_state()
    state["policy_spec"]["policy_class"] = "MADDPGTFPolicy"
    return write_policy(tmp_path / "policy", state)


def of_other_settings(tmp_path):
    """A policy with a layer in its settings that its weights do not have."""
    return write_policy(tmp_path / "policy")


REFUSED = {
    of_algorithm: ("not loadable", "MADDPG"),
    of_other_settings: ("not loadable", "fcnet_hiddens"),
}


@pytest.mark.parametrize("made", REFUSED, ids=lambda made: made.__name__)
def test_what_the_loader_refuses_is_complete_but_not_loadable(tmp_path, made, capsys):
    """All files are present, and the reason why it does not load is the loader's."""
    level, reason = REFUSED[made]
    path = made(tmp_path)
    with pytest.raises(rlconnect.RlconnectError):
        rlconnect.load(path)

    assert main(["inspect", str(path), "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["verdict"]["level"] == level
    assert reason in told["verdict"]["reason"]
    claims = [told["verdict"][claim] for claim in ("complete", "loadable", "runnable")]
    assert claims == [True, False, False]
    assert not [step for step in told["next"] if "rollout" in step["command"]]


@pytest.mark.torch
def test_a_piece_of_the_authors_needs_code(tmp_path, capsys):
    """A pipeline of the new stack that names an unknown piece is not loadable without it."""
    path = without_a_piece(tmp_path)

    assert main(["inspect", str(path)]) == 0

    shown = capsys.readouterr().out
    assert "needs code" in shown
    assert "MeanStdFiltex" in "".join(shown.split())
    assert "complete, not loadable, not runnable" in shown


def test_scan_asks_the_loader_too(tmp_path, capsys):
    """The table lists a policy that does not load as such."""
    of_algorithm(tmp_path)

    assert main(["scan", str(tmp_path)]) == 0

    assert "not loadable" in capsys.readouterr().out


def test_a_policy_that_computes_no_action_is_loadable(monkeypatch):
    """Weights that load and then fail in a forward pass make a policy not runnable."""
    checkpoint = rlconnect.open_checkpoint(RECORDINGS / PENDULUM)

    def fail(*args, **options):
        raise RuntimeError("mat1 and mat2 must have the same dtype")

    monkeypatch.setattr("rlconnect.bridge.actor.actor.Actor.act", fail)
    tried = try_loading(checkpoint)

    told = describe_checkpoint(checkpoint, tried=tried)["verdict"]
    assert (told["level"], told["loadable"], told["runnable"]) == ("not runnable", True, False)
    assert "same dtype" in told["reason"]


def test_nothing_is_claimed_where_a_package_is_missing(monkeypatch):
    """Without torch a new-stack module is complete; whether it loads is not known."""
    checkpoint = rlconnect.open_checkpoint(RECORDINGS / NEW_MODULE)

    def missing(path):
        raise MissingExtraError("it needs torch")

    monkeypatch.setattr("rlconnect.bridge.front.fit.natives_in", missing)

    told = describe_checkpoint(checkpoint, tried=try_loading(checkpoint))["verdict"]
    assert (told["complete"], told["loadable"], told["runnable"]) == (True, None, None)


def test_one_policy_of_several_that_does_not_load_is_named(tmp_path):
    """The others load, and their verdict says so."""
    path = copy_of(MULTI_AGENT, tmp_path)
    remove(path, "policies/pol_1/policy_state.pkl")
    state = policy_state(weights={"strange": np.ones(3, np.float32)})
    write_policy(path / "policies/pol_1", state)
    checkpoint = rlconnect.open_checkpoint(path)

    tried = try_loading(checkpoint)

    assert {name: each.verdict.level for name, each in tried.items()} == {
        "pol_0": "complete",
        "pol_1": "not loadable",
    }
    assert verdict(checkpoint, tried).reason.startswith("pol_1: ")


@pytest.mark.torch
@pytest.mark.parametrize("name", [PENDULUM, MULTI_AGENT, NEW_ALGORITHM, NEW_MODULE])
def test_what_loads_and_runs_is_complete(name):
    """All three claims hold for recorded checkpoints."""
    checkpoint = rlconnect.open_checkpoint(RECORDINGS / name)

    told = describe_checkpoint(checkpoint, tried=try_loading(checkpoint))["verdict"]

    assert told["level"] == "complete"
    assert [told[claim] for claim in ("complete", "loadable", "runnable")] == [True] * 3
