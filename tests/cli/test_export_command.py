"""The command that exports an actor."""

import json

from rlconnect.cli.app import main

from tests.core.vault.recorded import PENDULUM, RECORDINGS


def test_the_command_line_exports(tmp_path, capsys):
    """`rlconnect export` writes the file, its manifest, and says what goes in and comes out."""
    out = tmp_path / "pendulum.pt2"

    code = main(["export", str(RECORDINGS / PENDULUM), "--out", str(out)])

    assert code == 0
    assert "obs (batch, 3) float32" in capsys.readouterr().out
    assert out.exists()
    code = main(
        [
            "export",
            str(RECORDINGS / PENDULUM),
            "--out",
            str(tmp_path / "p"),
            "--to",
            "pt2",
            "--json",
        ]
    )
    assert code == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "pt2"
    assert main(["export", str(RECORDINGS / PENDULUM), "--out", str(tmp_path / "p.bin")]) == 2
