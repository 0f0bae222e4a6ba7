"""`rlconnect sample`: what the README shows, for who has the package alone."""

import filecmp
from pathlib import Path

import rlconnect
from rlconnect.cli.app import main
from rlconnect.cli.sample_command import NAME

EXAMPLE = Path(__file__).parents[2] / "examples" / "checkpoints" / NAME


def differing(one, other):
    """Files of two folders that are not alike, by name."""
    found = filecmp.dircmp(one, other)
    below = [
        each for name in found.common_dirs for each in differing(Path(one, name), Path(other, name))
    ]
    return [*found.left_only, *found.right_only, *found.diff_files, *below]


def test_the_sample_is_the_one_of_the_examples(tmp_path, capsys):
    """File by file; it opens, and the way on is printed."""
    assert main(["sample", str(tmp_path)]) == 0

    assert f"rlconnect inspect {tmp_path / NAME}" in capsys.readouterr().out
    assert differing(tmp_path / NAME, EXAMPLE) == []
    assert rlconnect.open_checkpoint(tmp_path / NAME).algorithm == "PPO"


def test_nothing_is_written_over(tmp_path, capsys):
    """What lies there stays, and the error says what to do."""
    (tmp_path / NAME).mkdir()

    assert main(["sample", str(tmp_path)]) == 2

    assert "is there already" in capsys.readouterr().err
    assert [*(tmp_path / NAME).iterdir()] == []
