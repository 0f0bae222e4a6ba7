"""`rlconnect convert`: pages and documents."""

import json

from rlconnect.cli.app import main

from ..core.vault.recorded import MULTI_AGENT, PENDULUM, RECORDINGS


def test_convert_says_what_it_wrote(tmp_path, capsys):
    """The page names the copy, and the printed command opens it."""
    assert main(["convert", str(RECORDINGS / PENDULUM), "--out", str(tmp_path / "copy")]) == 0

    page = capsys.readouterr().out
    assert "no pickle in it" in page
    assert main(["inspect", str(tmp_path / "copy")]) == 0


def test_policies_may_be_chosen(tmp_path, capsys):
    """`--policy` is repeatable, and the document lists what is in the copy."""
    code = main(
        ["convert", str(RECORDINGS / MULTI_AGENT), "--out", str(tmp_path / "a.zip"), "--json"]
    )
    names = json.loads(capsys.readouterr().out)["names"]
    chosen = [part for name in names[:2] for part in ("--policy", name)]
    out = str(tmp_path / "some")
    again = main(["convert", str(RECORDINGS / MULTI_AGENT), "--out", out, "--json", *chosen])

    assert (code, again) == (0, 0)
    assert json.loads(capsys.readouterr().out)["names"] == names[:2]


def test_a_taken_path_is_two_lines(tmp_path, capsys):
    """Nothing is replaced."""
    assert main(["convert", str(RECORDINGS / PENDULUM), "--out", str(tmp_path)]) == 2

    assert "something lies there" in capsys.readouterr().err
