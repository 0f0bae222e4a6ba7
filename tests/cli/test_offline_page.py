"""Every command on the page on recorded data runs as it stands there."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from rlconnect.cli.app import main

ROOT = Path(__file__).parents[2]
CASE = ROOT / "tests/golden/offline/2.60.0/ope_episodes"
COMMANDS = re.findall(r"^    (rlconnect .*)$", (ROOT / "docs/offline.md").read_text(), re.MULTILINE)
PLACES = {
    "path/to/checkpoint": CASE / "policy",
    "path/to/other": CASE / "policy",
    "path/to/samples": CASE / "data",
}


def needing_torch(command):
    """Commands that let a policy act, marked."""
    acts = command.split()[1] in ("act", "evaluate")
    return pytest.param(command, marks=[pytest.mark.torch] if acts else [])


@pytest.mark.parametrize("command", [needing_torch(each) for each in COMMANDS])
def test_a_command_of_the_page_runs(command, tmp_path, monkeypatch, capsys):
    """With a checkpoint and samples in its places; 1 tells what was found."""
    monkeypatch.chdir(tmp_path)
    for place, source in PLACES.items():
        shutil.copytree(source, tmp_path / place)
    trial = tmp_path / "path/to/ray_results/run/trial"
    trial.mkdir(parents=True)
    row = {"env_runners": {"episode_return_mean": 3.0}, "loss": 0.5, "training_iteration": 1}
    (trial / "result.json").write_text(json.dumps(row) + "\n")

    code = main(shlex.split(command)[1:])

    said = capsys.readouterr()
    assert code in (0, 1), said.err
