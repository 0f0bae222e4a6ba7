"""`rlconnect codemod`: a dry run first, then writing, and what exit codes say."""

import json

from rlconnect.cli.app import main

OLD = "from ray.rllib.core.columns import Columns\n"


def test_a_dry_run_shows_the_diff(tmp_path, capsys):
    """Nothing is written without --write, and the page says so."""
    (tmp_path / "a.py").write_text(OLD, encoding="utf-8")

    code = main(["codemod", str(tmp_path)])

    out = capsys.readouterr().out
    assert code == 0
    assert "+from rlconnect.v2 import Columns" in out
    assert "nothing is written yet" in out
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == OLD


def test_writing_and_json(tmp_path, capsys):
    """--write changes the files; --json is one document."""
    (tmp_path / "a.py").write_text(OLD, encoding="utf-8")

    code = main(["codemod", str(tmp_path), "--write", "--json"])

    report = json.loads(capsys.readouterr().out)
    assert code == 0
    assert report["written"]
    assert report["files"][0]["path"] == "a.py"
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "from rlconnect.v2 import Columns\n"


def test_something_left_is_a_finding(tmp_path, capsys):
    """A name that rlconnect lacks makes exit code 1; a path that is not there, 2."""
    (tmp_path / "a.py").write_text("from ray.rllib.core.columns import Nowhere\n", encoding="utf-8")

    assert main(["codemod", str(tmp_path)]) == 1
    assert "ray.rllib.core.columns.Nowhere: rlconnect lacks it" in capsys.readouterr().out
    assert main(["codemod", str(tmp_path / "none")]) == 2
