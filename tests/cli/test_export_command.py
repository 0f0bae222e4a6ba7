"""The command that exports an actor."""

import json

import pytest
import torch
from rlconnect.cli.app import main

from tests.core.vault.recorded import PENDULUM, RECORDINGS


@pytest.mark.torch("2.9")
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


@pytest.mark.torch("2.9")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_command_line_tells_what_a_pt2_is_bound_to(tmp_path, capsys):
    """When it is written, and when it is looked at."""
    path = str(tmp_path / "a.pt2")

    for command in (["export", str(RECORDINGS / PENDULUM), "--out", path], ["inspect", path]):
        assert main(command) == 0
        assert f"bound to torch {torch.__version__};" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["onnx", "pt2"])
def test_a_file_without_its_manifest_is_a_mistake_in_use(tmp_path, ending):
    """Looking at it ends with 2, as every wrong path does."""
    (tmp_path / f"p.{ending}").write_bytes(b"a program")

    assert main(["inspect", str(tmp_path / f"p.{ending}")]) == 2
