"""A policy goes to a hub of models and comes back the same, with a card that tells what it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rlconnect.bridge.front.hub import model_card, push
from rlconnect.core.errors import CheckpointWriteError, ConfigError, MissingExtraError
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.description import describe_checkpoint

from .fake_hub import fake_hub

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "src" / "samples" / "ppo-pendulum-ray-2.7"
MODULE = ROOT / "examples" / "checkpoints" / "ppo-module-ray-2.60"
MEASURED = {"env": "Pendulum-v1", "mean": -150.25, "half_interval": 12.5, "episodes": 20}

THERE_AND_BACK = """
import sys
import rlconnect
done = rlconnect.push(sys.argv[1], "hf://me/pendulum", private=True, message="first")
print(done.url, done.page)
print(rlconnect.load(done.url).only.act([1.0, 0.0, 0.5]))
print(rlconnect.load(sys.argv[1]).only.act([1.0, 0.0, 0.5]))
"""


def run(code, url, folder, token="fake"):
    place = {"HF_ENDPOINT": url, "HF_TOKEN": token, "HF_HOME": str(folder), "NO_PROXY": "*"}
    return subprocess.run(
        [sys.executable, "-c", code, str(SAMPLE)],
        env={**os.environ, **place, "HF_HUB_DISABLE_XET": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def test_what_is_pushed_comes_back(tmp_path):
    """By the real client and a hub on this machine: no pickle, a card, and the same action."""
    pytest.importorskip("huggingface_hub")
    with fake_hub() as (server, url):
        done = run(THERE_AND_BACK, url, tmp_path)

    assert done.returncode == 0, done.stderr
    where, back, ours = done.stdout.splitlines()
    assert where == f"hf://me/pendulum {url}/me/pendulum"
    assert back == ours
    files = server.repos["me/pendulum"]
    assert sorted(files) == ["README.md", "arrays.safetensors", "document.json", "rlconnect.json"]
    assert b"library_name: rlconnect" in files["README.md"]
    made = server.told[0]  # releases of the client say it in two ways
    assert made.get("private") is True or made.get("visibility") == "private"
    assert server.told[1]["summary"] == "first"


def test_a_hub_that_refuses_is_told(tmp_path):
    """As an error of ours, with what to do."""
    pytest.importorskip("huggingface_hub")
    with fake_hub() as (server, url):
        done = run(THERE_AND_BACK, url, tmp_path, token="wrong")

    assert CheckpointWriteError.__name__ in done.stderr
    assert "hf auth login" in done.stderr
    assert server.repos == {}


def test_without_the_library_the_extra_is_told(monkeypatch):
    """And a card can be looked at all the same."""
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"rlconnect\[hub\]"):
        push(SAMPLE, "me/pendulum")

    done = push(SAMPLE, "me/pendulum", dry_run=True)
    assert (done.url, done.page) == ("hf://me/pendulum", "")
    assert done.copy.names == ("default_policy",)


@pytest.mark.parametrize("repo", ["pendulum", "hf://a/b/c", "hf:///a", "s3://a/b", "me/pen dulum"])
def test_names_of_repositories(repo):
    """A user and a name, nothing else."""
    with pytest.raises(ConfigError, match="hf://USER/NAME"):
        push(SAMPLE, repo, dry_run=True)


def card(path, measured=None):
    return model_card(describe_checkpoint(open_checkpoint(path)), "me/pendulum", measured)


def front(text):
    """The facts in front of a card."""
    lines = text.split("---\n")[1].splitlines()
    return dict(line.split(": ", 1) for line in lines if not line.startswith("#"))


def test_a_card_tells_what_it_is():
    """Task, spaces, network, connectors, how to load it; a licence is left to people."""
    text = card(SAMPLE)

    assert json.loads(front(text)["tags"]) == [
        "reinforcement-learning",
        "rllib",
        "PPO",
        "legacy_pendulum",
    ]
    assert "model-index" not in front(text)
    assert "license" not in front(text)
    assert "| observations | `Box(3,) float32 within [-8, 8], bounds vary` |" in text
    assert "MeanStdObservationFilterAgentConnector" in text
    assert 'rlconnect.load("hf://me/pendulum")' in text
    assert "Trained by Ray `2.7.2`" in text


def test_a_card_tells_what_was_measured():
    """In words, and as hubs list it."""
    text = card(SAMPLE, MEASURED)

    (model,) = json.loads(front(text)["model-index"])
    (result,) = model["results"]
    assert result["metrics"][0]["value"] == "-150.25 +/- 12.50"
    assert result["dataset"]["name"] == "Pendulum-v1"
    assert "earned -150.25 ± 12.5 (95 %) on average in 20 episodes of `Pendulum-v1`" in text
    once = card(SAMPLE, {**MEASURED, "half_interval": None, "episodes": 1})
    assert "earned -150.25 on average in one episode" in once


def test_modules_have_cards_too():
    """Of the new stack."""
    assert "| actions | `Discrete(3)`" in card(MODULE)


def test_names_from_a_file_stay_text():
    """Nothing in a card leaves its place: no markup, no line of its own."""
    facts = describe_checkpoint(open_checkpoint(SAMPLE))
    evil = 'x`\n---\nlicense: "mit"\n| <b>\x1b[2J'
    facts["environment"] = facts["algorithm"] = facts["ray_version"] = evil
    policy = facts["policies"].pop("default_policy")
    facts["policies"][evil] = {**policy, "policy_class": evil, "network": evil}

    text = model_card(facts, "me/pendulum", {**MEASURED, "env": evil})

    assert "\x1b" not in text
    assert text.split("\n").count("---") == 2
    assert "license" not in front(text)
    assert [row for row in text.splitlines() if row.startswith("| <b>")] == []
    outside = [part for row in text.splitlines()[6:] for part in row.split("`")[::2]]
    assert not any("<" in part for part in outside)
