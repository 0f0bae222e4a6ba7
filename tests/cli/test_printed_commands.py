"""Every command that a page, a hint, help or a document prints works as it is printed."""

import re
import shlex

import pytest
from rlconnect.cli.app import main, program
from rlconnect.cli.tour import MORE
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.description import next_steps

from tests.core.vault.recorded import (
    MULTI_AGENT,
    NEW_ALGORITHM,
    PENDULUM,
    ROOT,
    WORKER,
    copy_of,
    write_policy,
)

SAMPLE = ROOT / "examples/checkpoints/ppo-pendulum-ray-2.7"
COMMAND = re.compile(
    r"(?:^|[\s`])(rlconnect [a-z-]+(?: [^`\n]*)?)$|`(rlconnect [a-z][^`\n]*)`", re.MULTILINE
)
LONG = {"migrate", "verify", "migration", "export", "train"}
"""Taken as typed; `test_next_commands_work` and the hints of mistakes run them."""
OF_ONES_OWN = {"act", "evaluate", "runs", "teach"}  # on what only the user has
ENDLESS = {"serve", "serve-admin"}  # until somebody ends them
LOOKS = {"inspect", "scan", "adapt", "codemod"}  # 1 tells what they found


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    """A narrow terminal, in an empty folder."""
    monkeypatch.setenv("COLUMNS", "60")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def printed(text):
    """The commands in what was printed, in order."""
    found = [(match[1] or match[2]).strip() for match in COMMAND.finditer(text)]
    return list(dict.fromkeys(found))


def works(command, capsys, *, in_full=True):
    """Whether it ends well, as a shell would run it."""
    words = shlex.split(command)
    if words[1] in OF_ONES_OWN | ENDLESS or (words[1] in LONG and not in_full):
        return taken(words[1:])
    code = main(words[1:])
    said = capsys.readouterr()
    assert code in ((0, 1) if words[1] in LOOKS else (0,)), f"{command}\n{said.err}{said.out}"
    return True


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(PENDULUM, marks=pytest.mark.torch),
        MULTI_AGENT,
        WORKER,
        pytest.param(NEW_ALGORITHM, marks=pytest.mark.torch),
        "new/2.60.0-pipe",
    ],
)
def test_inspect_ends_with_commands_that_work(name, tmp_path, capsys):
    """In a folder whose name needs quotes, one after the other."""
    path = copy_of(name, tmp_path / "a folder's name")
    main(["inspect", str(path)])

    commands = printed(capsys.readouterr().out)

    assert commands
    assert all(works(each, capsys, in_full=False) for each in commands)


def test_the_tour_works_line_by_line(capsys):
    """What `rlconnect` alone shows, in its order; then what the help of single commands adds."""
    main([])

    commands = printed(capsys.readouterr().out)
    commands += [command for command, _ in MORE]

    assert len(commands) > 20
    assert all(works(each, capsys, in_full=False) for each in commands)


def test_every_command_is_in_the_tour(capsys):
    """A new command is shown there, too."""
    main([])
    shown = {shlex.split(each)[1] for each in printed(capsys.readouterr().out)}
    main(["help", "teapot"])

    known = set(re.search(r"expected (.*)\.", capsys.readouterr().err)[1].split(", "))

    assert known == shown


def mistakes(folder):
    """Command lines that fail, one for each kind of hint."""
    trial = folder / "a trial"
    for number in "12":
        below = trial / f"run {number}"
        copy_of(PENDULUM, below).rename(below / "checkpoint_000001")
    whole = copy_of(PENDULUM, folder / "whole")
    (folder / "empty").mkdir()
    odd = write_policy(folder / "odd")
    (odd / "policy_state.pkl").write_bytes(b"")
    return [
        [],
        ["teapot"],
        ["inspect"],
        ["inspect", "nowhere"],
        ["inspect", trial],
        ["inspect", folder / "empty"],
        ["inspect", odd],
        ["inspect", whole / "algorithm_state.pkl"],
        ["inspect", whole, "--policy", "nobody"],
        ["scan", "nowhere"],
        ["scan", whole / "algorithm_state.pkl"],
        ["scan", trial],
        ["verify", whole],
        ["rollout", whole],
        ["rollout", whole, "--env", "No-Such-v0"],
        ["adapt", whole],
        ["adapt", whole, "--env", "CartPole-v1"],
        ["export", whole, "--out", "policy.bin"],
        ["convert", whole, "--out", whole],
        ["migrate", "nowhere"],
        ["sample", "."],
    ]


def test_hints_name_commands_that_work(tmp_path, capsys):
    """Whatever goes wrong, the command that is named next runs; none is spoken of in Python."""
    for words in mistakes(tmp_path / "some where"):
        main(list(map(str, words)))
        said = capsys.readouterr()

        for command in printed(said.err + said.out if words else ""):
            assert works(command, capsys)
        assert not re.search(r"hint: .*\w\(|hint: .*\w=\.\.\.", said.err), said.err


VALUES = {
    "PATH": str(SAMPLE), "OTHER": str(SAMPLE), "FOLDER": str(SAMPLE.parent), "DIR": "out",
    "ENV": "Pendulum-v1", "FILE": "policy.onnx", "ID": "default_policy", "OLD": "old",
}  # fmt: skip
PAGES = ["README.md", *(f"docs/{name}.md" for name in ("index", "security", "adapting", "formats"))]


@pytest.mark.parametrize("page", PAGES)
def test_documents_name_commands_that_are_there(page):
    """Each command line of a page is one that the program takes."""
    text = (ROOT / page).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = re.findall(r"^(?: {4}|\$ )(rlconnect [^#\n]*)", text, re.M)
    lines += re.findall(r"`(rlconnect [a-z]+ [A-Z-][^`\n]*)`", text)

    for line in lines:
        words = [VALUES.get(word, word) for word in shlex.split(line)]
        assert (
            main([*words[1:3], "--help"] if words[1] == "migration" else [words[1], "--help"]) == 0
        )
        assert taken(words[1:]), line


def taken(words):
    """Whether the program takes a command line, without running what it says."""
    command, rest = program(), words
    while hasattr(command, "commands"):
        command, rest = command.commands[rest[0]], rest[1:]
    command.make_context(words[0], list(rest))
    return True


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(each, marks=pytest.mark.torch) for each in (PENDULUM, MULTI_AGENT)),
        pytest.param(NEW_ALGORITHM, marks=pytest.mark.torch),
        "new/2.60.0-filter",
    ],
)
def test_next_commands_work(name, tmp_path, monkeypatch, capsys):
    """Each suggested rlconnect command can be pasted into a shell as it stands, and succeeds."""
    path = copy_of(name, tmp_path / "it's a $HOME (copy)")
    monkeypatch.chdir(path.parent)
    steps = next_steps(open_checkpoint("checkpoint"))

    programs = [shlex.split(step["command"]) for step in steps]

    assert programs
    for words in programs:
        if words[0] == "rlconnect":
            assert main(words[1:]) == 0
        else:
            assert words[:2] == ["python", "-c"]
            exec(words[2], {})
    assert "rlconnect" not in capsys.readouterr().err
