"""`rlconnect migrate` as a person types it."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rlconnect.bridge import load_migrated
from rlconnect.cli.app import main

pytestmark = pytest.mark.torch

SAMPLES = Path(__file__).parents[2] / "examples" / "checkpoints"
CARTPOLE = str(SAMPLES / "ppo-cartpole-ray-2.60")


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    """Pages are 100 columns wide, whatever terminal runs the tests."""
    monkeypatch.setenv("COLUMNS", "100")


def test_a_dry_run_tells_what_becomes_of_each_piece(capsys, tmp_path, monkeypatch):
    """Nothing is tried and nothing is written; the next command is shown."""
    monkeypatch.chdir(tmp_path)

    assert main(["migrate", CARTPOLE]) == 0

    page = capsys.readouterr().out
    assert "StateBufferConnector  goes" in page
    assert "network  becomes DefaultPPOTorchRLModule" in page
    assert "0 proven" in page
    assert "--out DIR" in " ".join(page.split())
    assert list(tmp_path.iterdir()) == []


def test_out_writes_what_loads_again(capsys, tmp_path):
    """Each step is proven; the written policy loads with its certificate."""
    out = tmp_path / "migrated"

    assert main(["migrate", CARTPOLE, "--out", str(out)]) == 0

    assert "7 proven so far" in capsys.readouterr().out
    assert load_migrated(out).module.get_state().keys()


def test_what_is_written_for_ray_says_what_it_needs(capsys, tmp_path):
    """Whether Ray alone opens it stands on the page and in JSON."""
    out = tmp_path / "ray"

    assert main(["migrate", CARTPOLE, "--out", str(out), "--to", "ray"]) == 0
    page = capsys.readouterr().out
    assert main(["migrate", CARTPOLE, "--out", str(out), "--to", "ray", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert "ray      complete for Ray alone; Algorithm.from_checkpoint makes it PPO" in page
    assert told["ray"]["faces"] == []
    assert told["ray"]["algorithm"] == "PPO"


def test_a_plan_goes_on_where_it_was_left(capsys, tmp_path):
    """Applied in part and saved, it is resumed from its file; JSON tells the steps."""
    plan = tmp_path / "plan.json"

    assert main(["migrate", CARTPOLE, "--until", "network", "--plan", str(plan)]) == 0
    assert main(["migrate", str(plan), "--apply", "--json"]) == 0

    told = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))
    assert all(step["is_applied"] for step in told["steps"])
    assert max(max(s["proof"]["largest"].values()) for s in told["steps"]) < 1e-5
    assert np.isfinite(max(s["proof"]["steps"] for s in told["steps"]))


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["migrate", "nowhere"], "nowhere"),
        (["migrate", CARTPOLE, "--until", "nothing"], "nothing"),
        (["migrate", CARTPOLE, "--to", "tensorflow"], "tensorflow"),
    ],
)
def test_mistakes_are_two_lines_and_2(words, match, capsys):
    """A mistake in use names what is wrong and what to do."""
    assert main(words) == 2

    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 2
    assert match in said.err


def test_the_proof_plays_and_the_report_shows_old_and_new(capsys, tmp_path):
    """An environment, recorded observations, and one page with both pipelines and the evidence."""
    report, out, data = tmp_path / "r.html", tmp_path / "v2", tmp_path / "seen.npy"
    np.save(data, np.zeros((3, 4), np.float32))
    words = ["--out", str(out), "--report", str(report), "--data", str(data), "--no-host"]

    played = ["--env", "CartPole-v1", "--episodes", "1", "--samples", "1", "--seed", "3"]
    assert main(["migrate", CARTPOLE, *words, *played]) == 0

    said, page = capsys.readouterr().out, report.read_text(encoding="utf-8")
    assert "returns: the same in all 1 episodes" in said
    assert str(report) in said
    assert not re.search(r"(src|href)=|https?:|<script", page)
    for told in ("StateBufferConnector", "DefaultPPOTorchRLModule", "not told", "--seed 3"):
        assert told in page
    assert str(out) in page
    for chart in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(chart)


def test_json_holds_the_last_proof(capsys, tmp_path):
    """With a report or an environment, the verdict on what came out is in the document."""
    words = ["--report", str(tmp_path / "r.html"), "--samples", "1", "--json"]

    assert main(["migrate", CARTPOLE, *words]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["verdict"]["is_equal"]
    assert told["verdict"]["evidence"]["sides"][0]["path"] == CARTPOLE
    assert told["verdict"]["evidence"]["command"].startswith("rlconnect migrate ")


def test_a_module_of_the_new_stack_has_no_step_to_take(capsys, tmp_path):
    """The page says so; --out writes it in the layout of migrations, which checks."""
    module, out = str(SAMPLES / "ppo-module-ray-2.60"), str(tmp_path / "v2")

    assert main(["migrate", module, "--out", out, "--report", str(tmp_path / "r.html")]) == 0
    said = capsys.readouterr().out
    assert main(["migration", "check", out]) == 0
    assert main(["migration", "history", out]) == 0
    assert main(["migration", "undo", out]) == 2

    assert "of the new stack already" in said
    assert "of the new stack already" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_samples_of_rllib_are_recorded_observations(capsys, tmp_path):
    """JSON lines as RLlib's writers leave them, for the proof of a migration and for verify."""
    rows = {"obs": [[0.0] * 4, [1.0] * 4], "new_obs": [[1.0] * 4, [2.0] * 4], "actions": [1, 0]}
    rows |= {"rewards": [0.5, 1.0], "dones": [False, True], "eps_id": [7, 7]}
    data = tmp_path / "output.json"
    data.write_text(json.dumps({"type": "SampleBatch", **rows}), encoding="utf-8")
    words = ["--samples", "1", "--data", str(data), "--json"]

    assert main(["migrate", CARTPOLE, "--apply", *words]) == 0
    migrated = json.loads(capsys.readouterr().out)
    assert main(["migrate", CARTPOLE, "--apply", "--samples", "1", "--json"]) == 0
    drawn = json.loads(capsys.readouterr().out)
    assert main(["verify", CARTPOLE, CARTPOLE, *words]) == 0
    (verified,) = json.loads(capsys.readouterr().out)

    counts = [told["steps"][0]["proof"]["steps"] for told in (migrated, drawn)]
    assert counts[0] == counts[1] + 3
    assert verified["steps"] == 3
    assert verified["source"] == "recorded, 1 episodes"
