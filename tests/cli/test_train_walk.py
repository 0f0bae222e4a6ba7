"""The page "Train" works as it is printed: every command, one after the other, and its Python."""

import re
import shlex
from pathlib import Path

import pytest
from rlconnect.cli.app import main, program

PAGE = (Path(__file__).parents[2] / "docs/train.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (rlconnect .*)$", PAGE, re.MULTILINE)
SOONER = (("steps=20e3", "steps=500"), ("train_batch_size=1000", "train_batch_size=200"),
          ("2048", "256"), ("iterations=24", "iterations=4"),
          ("num_learners=2", "num_learners=2 --set train_batch_size=200"))  # fmt: skip
QUICK = "--set num_epochs=1 --set minibatch_size=100"


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::rlconnect.core.errors.ChosenCheckpointWarning")
def test_the_walk(tmp_path, monkeypatch, capsys):
    """From nothing to a policy that goes on learning; smaller than a reader has it."""
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) == 8

    for command in COMMANDS:
        words = command
        for long, short in SOONER:
            words = words.replace(long, short)
        if "--from" in words:
            words += " --set train_batch_size=200"
        if " train " in words and "--resume" not in words:
            words += f" {QUICK}"
        assert main(shlex.split(words)[1:]) == 0, (command, capsys.readouterr())
    for source in re.findall(r"^```python\n([\s\S]*?)^```", PAGE, re.MULTILINE):
        exec(source.replace("2048", "256"), {})

    assert (tmp_path / "runs.html").is_file()
    assert (tmp_path / "runs/third/checkpoint_000002").is_dir()


def test_every_option_named_on_the_page_is_one():
    """And every file that it says a run leaves."""
    known = {name for option in program().commands["train"].params for name in option.opts}

    assert set(re.findall(r"--[a-z][a-z-]*", PAGE)) <= known | {"--html"}
