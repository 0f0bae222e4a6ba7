"""`rlconnect teach`: an old policy teaches another network, whose folder every command takes."""

import json
import shlex
from pathlib import Path

import pytest
from rlconnect import load
from rlconnect.bridge.front.load import as_policies
from rlconnect.cli.app import main

from tests.bridge.teach.rule import teacher

pytestmark = pytest.mark.torch
RULE = Path(__file__).parents[1] / "bridge" / "teach" / "rule.py"
MEMORY = ["use_lstm=true", "lstm_cell_size=8", "fcnet_hiddens=[16]", "max_seq_len=10"]
LSTM = [word for each in MEMORY for word in ("--set", f"model_config.{each}")]


@pytest.fixture
def words(tmp_path, monkeypatch):
    """A teacher and the environment that it knows."""
    monkeypatch.chdir(tmp_path)
    as_policies(teacher()).save("old")
    return ["teach", "old", "--env", f"{RULE}:Sign"]


def test_the_student_is_written_and_goes_on(words, capsys):
    """What is printed works: it plays, trains on, and is a student again."""
    assert main([*words, *LSTM, "--until", "0.7", "--steps", "6000", "--out", "new"]) == 0

    said = capsys.readouterr().out
    assert "70% reached" in said
    assert load("new").only.native.module.is_stateful()
    printed = [
        shlex.split(line[line.index("rlconnect ") :])[1:]
        for line in said.splitlines()
        if "rlconnect " in line
    ]
    assert [each[0] for each in printed] == ["train", "rollout"]
    train, rollout = printed
    small = ["--set", "train_batch_size=64", "--set", "minibatch_size=32", "--set", "num_epochs=1"]
    assert main([*train, *small, "--stop", "iterations=1"]) == 0
    assert main([*rollout, "--episodes", "2"]) == 0
    assert main(["verify", "new"]) == 0
    capsys.readouterr()

    assert main([*words, "--student", "new", "--until", "0", "--steps", "500", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["lessons"][0]["agreement"] > 0.6
    assert told["written"] is None


def test_what_was_not_reached_is_a_finding(words, capsys):
    """The exit code tells it."""
    assert main([*words, "--until", "1", "--steps", "10", *LSTM]) == 1
    assert "100% not reached" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--student", "old", "--set", "lr=1"], "--set is of a new network"),
        (["--set", "model_config.use_lstmm=true"], "did you mean 'use_lstm'"),
        (["--env", f"{RULE}:Follow"], "does other things"),
        (
            ["--env", f"{RULE}:Follow"],
            f"first: rlconnect adapt old --env {RULE}:Follow",
        ),
    ],
)
def test_mistakes_are_told(words, more, says, capsys):
    """With what to do, and nothing is written."""
    assert main([*words, *more, "--out", "new"]) == 2
    assert says in capsys.readouterr().err
    assert not Path("new").exists()
