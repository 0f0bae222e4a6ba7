"""`rlconnect convert`: pages and documents."""

import json
from pathlib import Path

import pytest
from rlconnect.cli.app import main
from rlconnect.offline import open_dataset

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


SAMPLES = Path(__file__).parents[1] / "golden/offline/2.60.0/json_box/data"


def test_recorded_data_is_written_in_another_form(tmp_path, capsys):
    """`--to` takes samples; the page and the document say how many steps there were."""
    pytest.importorskip("pyarrow")
    out = tmp_path / "out"

    assert main(["convert", str(SAMPLES), str(out), "--to", "parquet"]) == 0
    assert "steps of sample-batch-json as parquet" in capsys.readouterr().out
    assert main(["convert", str(out), "--out", str(tmp_path / "b"), "--to", "json", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    rewards = [each.get_return() for each in open_dataset(tmp_path / "b").episodes()]
    assert (told["from"], told["to"], told["damaged"]) == ("episode-parquet", "json", [])
    assert rewards == [each.get_return() for each in open_dataset(SAMPLES).episodes()]


@pytest.mark.parametrize("more", [[], ["out", "--to", "xml"], ["out", "--to", "json", "--dry-run"]])
def test_what_convert_does_not_take_is_told(more, capsys):
    """A missing target, an unknown form, and options at odds are mistakes in use."""
    assert main(["convert", str(SAMPLES), *more]) == 2

    assert capsys.readouterr().err


def test_damage_of_recorded_data_is_told(tmp_path, capsys):
    """What could not be read is named beside what was written."""
    damaged = SAMPLES.parents[2] / "damaged/json_noise/data"

    assert main(["convert", str(damaged), str(tmp_path / "out"), "--to", "json"]) == 0

    assert "passed over what cannot be read" in capsys.readouterr().out
