"""The fuzzer's eyes and hands: what it would see, and that what it writes is what it read."""

import os
import pickle
import subprocess

import numpy as np
import pytest
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque

from tests.fuzz import gadgets
from tests.fuzz.encodings import pickled, read_tree
from tests.fuzz.samples import GOLDEN

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    "act",
    [
        lambda path: os.system("true"),
        lambda path: subprocess.run(["true"], check=True),
        lambda path: (path / "written").write_text("x", encoding="utf-8"),
        lambda path: os.mkdir(path / "made"),
        lambda path: __import__("fuzz_canary").fire(1),
        lambda path: __import__("fuzz_canary").Piece(),
        lambda path: eval(f"'{gadgets.MARK}'"),
        lambda path: pickle.loads(b"cbuiltins\nprint\n."),
    ],
    ids=["system", "popen", "write", "mkdir", "canary", "class", "eval", "pickle"],
)
def test_what_must_not_happen_is_seen(act, watch, tmp_path):
    """Each kind of harm is told while the watch is armed, and only then."""
    with watch:
        act(tmp_path)
    seen = watch.findings()
    with watch:
        pass

    assert seen
    assert not watch.findings()


def test_files_in_the_scratch_folder_may_be_written(watch):
    """What a save may do is no finding."""
    with watch, open(os.path.join(watch.scratch, "mine"), "w", encoding="utf-8") as file:
        file.write("x")

    assert not watch.findings()


def test_pickles_hold_names_that_nobody_looks_up():
    """A tree comes back from its pickle: arrays, shared parts, and calls of what does not exist."""
    called = Opaque(GlobalRef("no.such", "Thing"), (1, "two"))
    called.state = {"x": np.arange(3)}
    tree = {
        "called": called,
        "twice": [called, called],
        "ref": GlobalRef("os", "system"),
        3: (None,),
    }

    again = read_tree(pickled(tree), "pickle")

    assert again["called"].path == "no.such.Thing"
    assert again["called"].args == (1, "two")
    assert np.array_equal(again["called"].state["x"], np.arange(3))
    assert again["twice"][0] is again["twice"][1]
    assert again["ref"] == GlobalRef("os", "system")
    assert again[3] == (None,)


def test_real_pickles_come_back_as_they_were():
    """A recorded policy means the same after it was read and written."""
    file = next((GOLDEN / "recordings/legacy/2.7.2/ppo_lstm_prev").rglob("policy_state.pkl"))
    tree = read_tree(file.read_bytes(), "pickle")

    again = read_tree(pickled(tree), "pickle")

    assert list(again) == list(tree)
    for name, weight in tree["weights"].items():
        assert np.array_equal(again["weights"][name], weight)
