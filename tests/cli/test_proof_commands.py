"""`rlconnect adapt`, `verify` and `rollout` as a person types them."""

import json
from pathlib import Path

import pytest
from rlconnect.cli.app import main

CARTPOLE = str(Path(__file__).parents[2] / "examples" / "checkpoints" / "ppo-cartpole-ray-2.60")
MY_ENV = "wider_cartpole:WiderCartPole"
STEPS = ("--obs", "drop_features([4, 5])", "--action", "extend_action([0])")

SOURCE = """
import gymnasium as gym
import numpy as np


class WiderCartPole(gym.Env):
    def __init__(self):
        self.env = gym.make("CartPole-v1")
        self.observation_space = gym.spaces.Box(-10, 10, (6,), np.float32)
        self.action_space = gym.spaces.MultiDiscrete([2, 2])

    def seen(self, obs):
        return np.hstack([obs, [8.0, 6.0]]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        obs, info = self.env.reset(seed=seed)
        return self.seen(obs), info

    def step(self, action):
        obs, *rest = self.env.step(action[0])
        return self.seen(obs), *rest
"""


@pytest.fixture(autouse=True)
def my_env(tmp_path, monkeypatch):
    """An environment of the user's own, importable by name."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "wider_cartpole.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    monkeypatch.setenv("COLUMNS", "100")


def test_adapt_shows_what_it_has_to_ask(capsys):
    """A dry run tells changes, steps and questions, writes nothing and ends with 1."""
    assert main(["adapt", CARTPOLE, "--env", MY_ENV]) == 1

    page = capsys.readouterr().out
    assert "2 features are new" in page
    assert "drop_features(indices=[4, 5])" in page
    assert "--out DIR" in page


def test_adapt_writes_a_policy_that_verifies_and_plays(tmp_path, capsys):
    """From checkpoint to adapted checkpoint to return, in three commands."""
    out = tmp_path / "adapted"

    assert main(["adapt", CARTPOLE, "--env", MY_ENV, *STEPS, "--out", str(out)]) == 0
    assert main(["verify", str(out)]) == 0
    assert main(["rollout", str(out), "--env", MY_ENV, "--episodes", "2", "--json"]) == 0
    assert main(["rollout", CARTPOLE, "--env", "CartPole-v1", "--episodes", "2", "--json"]) == 0

    printed = capsys.readouterr().out
    assert "● equal" in printed
    adapted, old = (json.loads("{" + each) for each in printed.split("\n{")[1:])
    assert adapted["returns"] == old["returns"]


def test_accept_takes_the_proposals(tmp_path, capsys):
    """With --accept the proposed steps are used as they are."""
    out = tmp_path / "adapted"

    code = main(["adapt", CARTPOLE, "--env", MY_ENV, "--accept", "--out", str(out), "--json"])

    told = json.loads(capsys.readouterr().out)
    assert code == 0
    assert told["steps"]["obs"] == ["drop_features(indices=[4, 5])"]
    assert told["written"] == str(out)
    assert (out / "rlconnect.json").exists()


def test_verify_compares_two_checkpoints_and_writes_the_report(tmp_path, capsys):
    """A checkpoint beside itself is equal; the page lies where it was asked for."""
    report = tmp_path / "report.html"

    code = main(["verify", CARTPOLE, CARTPOLE, "--samples", "4", "--report", str(report)])

    assert code == 0
    assert "outputs" in capsys.readouterr().out
    assert "Both do the same" in report.read_text()


def test_a_report_that_cannot_be_written_says_why(tmp_path, capsys):
    """The hint is about the reason: a folder that is not there is no full disk."""
    report = tmp_path / "nowhere" / "report.html"

    code = main(["verify", CARTPOLE, CARTPOLE, "--samples", "4", "--report", str(report)])

    told = capsys.readouterr().err
    assert code == 2
    assert "no such file or directory" in told
    assert "make the folder" in told
    assert "free some space" not in told


def test_verify_ends_with_1_where_they_differ(tmp_path, capsys):
    """A damaged copy parts at its outputs; JSON tells by how much."""
    from rlconnect.legacy import Policy

    policy = Policy.from_checkpoint(CARTPOLE)
    policy = next(iter(policy.values())) if isinstance(policy, dict) else policy
    weights = policy.get_weights()
    policy.set_weights({name: weight * 1.5 for name, weight in weights.items()})
    policy.export_checkpoint(tmp_path / "other")

    code = main(["verify", CARTPOLE, str(tmp_path / "other"), "--samples", "4", "--json"])

    (told,) = json.loads(capsys.readouterr().out)
    assert code == 1
    assert told["is_equal"] is False
    assert next(s["name"] for s in told["stages"] if s["beyond"]) == "outputs"


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["adapt", CARTPOLE], "which environment"),
        (["adapt", CARTPOLE, "--env", "No-Such-v0"], "No-Such-v0"),
        (["adapt", CARTPOLE, "--env", "no_such_module:Env"], "no_such_module"),
        (["adapt", CARTPOLE, "--env", MY_ENV, "--obs", "drop_feature([4])"], "drop_features"),
        (["adapt", CARTPOLE, "--env", MY_ENV, "--obs", "__import__('os')"], "no adapter step"),
        (["adapt", CARTPOLE, "--env", MY_ENV, "--obs", "drop_features(open('x'))"], "plain values"),
        (["verify", CARTPOLE], "no parity certificate"),
        (["verify", CARTPOLE, "--env", "CartPole-v1"], "second checkpoint"),
        (["rollout", "nowhere", "--env", "CartPole-v1"], "nowhere"),
    ],
)
def test_mistakes_are_two_lines_and_2(words, match, capsys):
    """A mistake in use names what is wrong and what to do; nothing of a step is run."""
    assert main(words) == 2

    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert said.out == ""
    assert len(lines) == 2
    assert match in said.err


BROKEN = """
import gymnasium as gym


class Broken(gym.Env):
    observation_space = gym.spaces.Box(-10, 10, (4,), "float32")
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.reward()

    def reward(self):
        return 1 / 0


class Odd(Broken):
    def step(self, action):
        raise SystemExit(0)
"""


@pytest.mark.parametrize("name", ["Broken", "Odd"])
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_crash_in_the_users_code_shows_their_frames_and_3(
    name, options, my_env, tmp_path, capsys
):
    """Only their own lines stand there, none of ours."""
    (tmp_path / "code" / "broken_env.py").write_text(BROKEN)

    code = main(["rollout", CARTPOLE, "--env", f"broken_env:{name}", *options])

    said = capsys.readouterr()
    assert code == 3
    assert "broken_env.py" in said.err
    assert "in step" in said.err
    assert "rollout.py" not in said.err
    if options:
        assert json.loads(said.out)["code"] == 3
