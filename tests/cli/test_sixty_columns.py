"""Pages in a terminal of 60 columns: no number is cut off, and hints name the next command."""

import json
from pathlib import Path

import pytest
from rlconnect.cli.app import main

ROOT = Path(__file__).parents[2]
PENDULUM = str(ROOT / "examples/checkpoints/ppo-pendulum-ray-2.7")


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """As wide as half a screen."""
    monkeypatch.setenv("COLUMNS", "60")


@pytest.mark.torch
def test_stages_and_returns_are_told_whole(capsys):
    """Names and numbers of `verify` and `rollout`; bars take the room that is left."""
    assert main(["verify", PENDULUM, PENDULUM, "--samples", "1"]) == 0
    assert main(["rollout", PENDULUM, "--env", "Pendulum-v1", "--episodes", "1"]) == 0

    said = capsys.readouterr().out
    assert "observation " in said
    assert "rows agree" in said
    assert "…" not in said


def test_runs_are_told_whole(capsys, tmp_path):
    """Numbers of each run; settings wait for a wider terminal."""
    for name, seed in (("a", 772980016), ("b", 1038111261)):
        folder = tmp_path / name
        folder.mkdir()
        settings = {"lr": 5e-5 if name == "a" else 0.002, "seed": seed}
        (folder / "params.json").write_text(json.dumps(settings))
        row = {"training_iteration": 1, "env_runners": {"episode_return_mean": 37.6925 + seed % 7}}
        (folder / "result.json").write_text(json.dumps(row) + "\n")

    assert main(["runs", str(tmp_path)]) == 0

    said = capsys.readouterr().out
    assert "41.693" in said
    assert "5e-05" in said
    assert "seed" not in said
    assert "…" not in said


@pytest.mark.torch
def test_an_environment_of_another_kind_leads_to_adapt(capsys):
    """The hint is the command for this checkpoint and this environment."""
    assert main(["rollout", PENDULUM, "--env", "CartPole-v1"]) == 2

    assert f"rlconnect adapt {PENDULUM} --env CartPole-v1" in capsys.readouterr().err


def test_an_environment_nobody_knows_is_told_once(capsys):
    """With what may have been meant."""
    assert main(["rollout", PENDULUM, "--env", "Pendulm-v1"]) == 2

    said = capsys.readouterr().err
    assert "did you mean 'Pendulum-v1'?" in said
    assert ".." not in said
    assert "found no" not in said


def test_a_group_of_commands_shows_its_page(capsys):
    """By itself it is no error to be told in a line."""
    assert main(["migration"]) == 2

    told = capsys.readouterr()
    assert "Commands:" in told.out
    assert told.err == ""
