"""`--audit`: exit codes, and that what is dangerous is named in words."""

import json

import pytest
from rlconnect.cli.app import main
from rlconnect.core.vault import open_checkpoint

from ..core.vault.recorded import PENDULUM, RECORDINGS, copy_of

HOSTILE = b"cos\nsystem\n(S'touch \\x1b[2J\\n[red]x'\ntR0"


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    """Pages are 100 columns wide, whatever terminal runs the tests."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def hostile(tmp_path):
    """An honest checkpoint with a call in front of its policy's state."""
    path = copy_of(PENDULUM, tmp_path)
    file = path / "policies/default_policy/policy_state.pkl"
    data = file.read_bytes()
    file.write_bytes(data[:2] + HOSTILE + data[2:])
    return path


def test_an_honest_checkpoint_passes(capsys):
    """Code of its author is no alarm: exit code 0."""
    assert main(["inspect", "--audit", str(RECORDINGS / PENDULUM)]) == 0

    assert "nothing here runs programs" in capsys.readouterr().out


def test_a_call_is_a_finding(hostile, capsys):
    """A program runner is named with its arguments and place, and ends with 1."""
    assert main(["inspect", "--audit", str(hostile)]) == 1

    page = capsys.readouterr().out
    assert "os.system" in page
    assert "runs programs" in page
    assert "policy_state.pkl" in page
    assert "\x1b" not in page


def test_the_document_holds_kinds_and_calls(hostile, capsys):
    """`--json` gives the same facts to a script."""
    assert main(["inspect", "--audit", str(hostile), "--json"]) == 1

    told = json.loads(capsys.readouterr().out)
    assert told["kinds"]["runner"] == 1
    assert told["calls"][0]["name"] == "os.system"


def test_scan_audits_every_checkpoint(hostile, capsys):
    """One among many is enough for 1, and the list has one audit each."""
    assert main(["scan", "--audit", str(hostile.parent), "--json"]) == 1

    told = json.loads(capsys.readouterr().out)
    assert [each["kinds"]["runner"] for each in told] == [1]


@pytest.mark.parametrize("command", [["inspect"], ["scan"]])
def test_ordinary_pages_tell_of_it(hostile, command, capsys):
    """No page is green where a program runner is named; the weights are still described."""
    where = hostile.parent if command == ["scan"] else hostile
    assert main([*command, str(where)]) == 1

    page = capsys.readouterr().out
    assert "unsafe" in page
    assert "os.system" in page
    assert open_checkpoint(hostile).policies["default_policy"].weights


@pytest.mark.filterwarnings("default::rlconnect.core.errors.UnsafeContentWarning")
def test_other_commands_warn_in_one_line(hostile, capsys):
    """A command that loads the policy says so on standard error, with no place in our sources."""
    main(["adapt", str(hostile), "--env", "Pendulum-v1"])

    said = capsys.readouterr().err
    assert "warning: an ordinary unpickler would run os.system" in said
    assert "UnsafeContentWarning" not in said


def test_what_cannot_be_read_is_not_called_harmless(tmp_path, capsys):
    """A damaged pickle ends with 2: nobody knows."""
    (tmp_path / "f.pkl").write_bytes(b"\x80\x04]q")

    assert main(["inspect", "--audit", str(tmp_path)]) == 2
    assert "not known" in capsys.readouterr().out


def test_nothing_there_is_two_lines(tmp_path, capsys):
    """A path without anything is a mistake in use."""
    assert main(["inspect", "--audit", str(tmp_path / "gone")]) == 2

    assert capsys.readouterr().err.startswith("error: ")
