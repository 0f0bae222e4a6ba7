"""One grammar for all commands: what it is about first, then options that mean one thing."""

import json
import re

import pytest
import typer
from rlconnect.cli.app import main

from tests.core.vault.recorded import ROOT
from tests.docs.commands import PAGE, commands, page

SAMPLE = str(ROOT / "src/samples/ppo-pendulum-ray-2.7")
EVERY = pytest.mark.parametrize("command", commands(), ids=lambda command: command.words)
ABOUT = {"PATH", "FOLDER", "DIR", "URL", "COMMAND", "[FILE.toml]"}
OWN_MEANING = {
    ("--obs", "STEP"),  # steps of adapt and graft; what evaluate and act ask is --obs-form
    ("--data", "FILE"),  # recorded observations, in place of samples
    ("--until", "STEP"),  # of migrate: a step of its plan; of teach a share
    ("--policy", "NAME"),  # of serve-admin: as the server calls it
    ("--out", "FILE"),  # one file, where others write a folder
}


def spelt(command, option):
    """How the help spells an option, and what stands behind it."""
    left, _ = option.get_help_record(typer.Context(command.parsed))
    names, _, value = left.partition(" ")
    return names.rstrip(","), re.sub("^--.* ", "", value)


@EVERY
def test_what_it_is_about_stands_first(command):
    """A path for most, under one name."""
    assert not command.arguments or (command.arguments[0].metavar in ABOUT)
    assert command.arguments or command.words in ("doctor", "train")


@EVERY
def test_options_are_words_with_help(command):
    """In small letters with hyphens, each with a sentence."""
    for each in command.options:
        assert all(re.fullmatch(r"--[a-z]+(-[a-z]+)*|-[a-z]", name) for name in each.opts)
        assert each.name == "help" or each.help.endswith(".")


@EVERY
def test_programs_can_ask(command):
    """All but help and a server tell a document, too."""
    assert "--json" in command.flags or command.words in ("help", "serve")


@EVERY
def test_what_writes_can_be_tried(command):
    """What takes `--out`, writes a folder or asks for it has a dry run."""
    writes = {"--out", "--write", "--accept", "--yes"} & set(command.flags)
    assert "--dry-run" in command.flags or not (writes or command.words == "sample")


@pytest.mark.torch
@pytest.mark.parametrize(
    "words",
    [
        ["sample", "."],
        ["graft", SAMPLE, "--env", "Pendulum-v1", "--out", "new", "--samples", "5"],
        ["migrate", SAMPLE, "--out", "new", "--samples", "1"],
        ["codemod", "mine.py", "--write"],
    ],
    ids=lambda words: words[0],
)
def test_a_dry_run_puts_nothing_in_place(words, tmp_path, monkeypatch, capsys):
    """All of it is done, and told, but for that."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("x = 1\n", encoding="utf-8")

    assert main([*words, "--dry-run", "--json"]) == 0

    assert not json.loads(capsys.readouterr().out)["written"]
    assert [each.name for each in tmp_path.iterdir()] == ["mine.py"]
    assert (tmp_path / "mine.py").read_text(encoding="utf-8") == "x = 1\n"


@EVERY
def test_help_fits_a_narrow_terminal(command, capsys, monkeypatch):
    """Into 60 columns, but for lines that are to be copied."""
    monkeypatch.setenv("COLUMNS", "60")

    assert main([*command.words.split(), "--help"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert not [line for line in lines if len(line) > 60 and "rlconnect " not in line]
    assert not any("\x1b" in line for line in lines)


@EVERY
def test_help_ends_with_examples(command):
    """That can be pasted."""
    assert command.examples or command.words == "help"
    assert (command.parsed.epilog or "").count("    rlconnect ") == len(command.examples)


def test_an_option_means_the_same_anywhere():
    """One spelling has one kind of value behind it."""
    kinds = {}
    for command in commands():
        for each in command.options:
            name, value = spelt(command, each)
            if (name, value) not in OWN_MEANING and each.name != "to":
                kinds.setdefault(name, set()).add(value)

    assert not {name: values for name, values in kinds.items() if len(values) > 1}


def test_the_page_of_the_command_line_has_all_of_it():
    """Each command, option and exit code."""
    text = page()

    assert PAGE == "reference/command-line.md"
    for command in commands():
        part = text.partition(f"## {command.words} {{#")[2].partition("\n## ")[0]
        assert all(f"{flag}" in part for flag in command.flags if flag != "--help")
    assert all(f"| {code} | " in text for code in "0123")
