"""`rlconnect train` with env runners as Ray actors. Skips itself without Ray."""

import json

import pytest
from rlconnect.cli.app import main

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Ray Core on this machine, for all tests of a file."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


MINE = """
import gymnasium
import numpy as np
from rlconnect.v2 import register_env


class Short(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (4,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, config=None):
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.zeros(4, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(4, np.float32), 1.0, self.steps == 10, False, {}


class Failing(Short):
    def step(self, action):
        return 1 / 0


if "Short-v0" not in gymnasium.registry:
    gymnasium.register("Short-v0", entry_point=Short)
register_env("short", lambda context: Short())
"""


@pytest.fixture
def command(tmp_path):
    """A training command with one runner in a process of Ray; the file has a library's name."""
    file = tmp_path / "calendar.py"
    file.write_text(MINE, encoding="utf-8")
    settings = {"train_batch_size": 40, "minibatch_size": 40, "num_epochs": 1, "num_env_runners": 1}
    words = [f"--set={name}={value}" for name, value in settings.items()]
    out = ["--out", str(tmp_path / "run"), "--stop", "iterations=1"]
    return str(file), ["train", "--algo", "PPO", *words, *out]


@pytest.mark.parametrize(
    "env", ["{file}:Short", "Short-v0", "short", "TimeLimit(short, max_episode_steps=5)"]
)
def test_environments_of_the_user_reach_remote_runners(env, command, tmp_path):
    """Those in a file and those that a file registers, by either registry."""
    file, words = command
    imported = [] if "{file}" in env else ["--import", file]

    code = main([*words, *imported, "--env", env.format(file=file)])

    assert code == 0
    (result,) = (tmp_path / "run/result.json").read_text(encoding="utf-8").splitlines()
    returned = 5.0 if "TimeLimit" in env else 10.0
    assert json.loads(result)["env_runners"]["episode_return_mean"] == returned


@pytest.mark.filterwarnings("default")  # each failure is a warning
def test_errors_of_a_remote_environment_end_the_command(command, capsys):
    """After the tolerated number in a row, with the line in the user's code and exit code 3."""
    file, words = command
    limit = "--set=num_consecutive_env_runner_failures_tolerance=1"

    code = main([*words[:-1], "iterations=9", limit, "--env", f"{file}:Failing"])

    said = capsys.readouterr().err
    assert code == 3
    assert "1 in a row, at most 1 allowed" in said
    assert "    return 1 / 0\nerror: environment 0 failed in step()" in said
    assert "\x1b" not in said
