"""`rlconnect train`: a run from a file or from options, told as it goes, and gone on with."""

import json
import shlex
from pathlib import Path

import pytest
from rlconnect.cli.app import main
from rlconnect.cli.training_recipe import Recipe
from rlconnect.v2 import PPO, AlgorithmConfig
from rlconnect.v2.envs import registry

from tests.core.vault.recorded import ROOT
from tests.v2.runs.runs import curves

pytestmark = pytest.mark.torch
SMALL = [
    "--set", "train_batch_size=128", "--set", "minibatch_size=64", "--set", "num_epochs=1",
    "--set", "model_config.fcnet_hiddens=[8]", "--seed", "3",
]  # fmt: skip
MINE = """
import os
import signal

import gymnasium as gym
import numpy as np
from rlconnect.v2 import MultiAgentEnv


class Mine(gym.Wrapper):
    def __init__(self, config):
        super().__init__(gym.make("CartPole-v1"))
        self.worth = config.get("worth", 1.0)

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return (observation, reward * self.worth, *rest)


class Failing(Mine):
    def step(self, action):
        raise RuntimeError("the simulator is gone")


class Dying(Mine):
    def step(self, action):
        os._exit(1)


class Interrupted(Mine):
    steps = 0

    def step(self, action):
        self.steps += 1
        if self.steps == 200:
            signal.raise_signal(signal.SIGINT)
        return super().step(action)


class Other(gym.Wrapper):
    def __init__(self):
        super().__init__(gym.make("Acrobot-v1"))


class Two(MultiAgentEnv):
    def __init__(self, settings=None):
        super().__init__()
        self.agents = self.possible_agents = [0, 1]
        self.observation_spaces = dict.fromkeys(self.agents, gym.spaces.Box(0, 1, (2,)))
        self.action_spaces = dict.fromkeys(self.agents, gym.spaces.Discrete(2))

    def reset(self, *, seed=None, options=None):
        self.n = 0
        return self.seen(), {}

    def seen(self):
        return {agent: np.full(2, self.n / 8, np.float32) for agent in self.agents}

    def step(self, actions):
        self.n += 1
        paid = {agent: float(action) for agent, action in actions.items()}
        return self.seen(), paid, {"__all__": self.n == 8}, {"__all__": False}, {}
"""
NAMED = """
import gymnasium as gym
from rlconnect.v2 import register_env

register_env("named-env", lambda context: gym.make("CartPole-v1"))
"""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    """An empty folder, and names of environments that are forgotten afterwards."""
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_creators", dict(registry._creators))
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")


def trained(*words):
    """Whether a small run ends well."""
    return main(["train", *map(str, words)])


def test_a_run_tells_how_it_goes_and_what_is_next(tmp_path, capsys):
    """A line for each result, the end, and commands that work; the folder is told."""
    given = ["--algo", "PPO", "--env", "CartPole-v1", "--stop", "steps=256", *SMALL]
    assert trained(*given, "--evaluate-every", 2) == 0

    said = capsys.readouterr().out
    assert "PPO in CartPole-v1: runs/PPO-CartPole-v1" in said
    assert "iteration 1  128 steps" in said
    assert "evaluated" in said
    assert "steps reached" in said
    folder = tmp_path / "runs/PPO-CartPole-v1"
    assert {"result.json", "progress.csv", "run.toml"} <= {each.name for each in folder.iterdir()}
    assert PPO.from_checkpoint(folder / "checkpoint_000002").iteration == 2
    assert main(["runs", "runs"]) == 0
    assert "checkpoint_000002" in capsys.readouterr().out
    assert trained(*given) == 0
    assert (tmp_path / "runs/PPO-CartPole-v1-2").is_dir()


def test_a_run_goes_on_to_the_same_results(tmp_path, capsys):
    """Further than it was to go at first; a whole one has the same results."""
    first = ["--algo", "PPO", "--env", "CartPole-v1", *SMALL]
    trained(*first, "--stop", "iterations=4", "--out", "whole")
    trained(*first, "--stop", "iterations=2", "--out", "part")
    capsys.readouterr()

    assert trained("--resume", "part", "--stop", "iterations=4", "--json") == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["iterations"], told["ended_by"], told["seed"]) == (4, "iterations", 3)
    assert told["newest_checkpoint"].endswith("checkpoint_000004")
    assert curves(tmp_path / "part") == curves(tmp_path / "whole")


def test_a_dry_run_prints_what_a_file_may_say(tmp_path, capsys):
    """All settings; trained from the file it is the same run."""
    words = ["--env", "CartPole-v1", "--stop", "iterations=1", *SMALL]
    assert trained("--algo", "PPO", *words, "--dry-run") == 0
    text = capsys.readouterr().out
    assert "# Learning rate" in text
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine.py"]
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    assert AlgorithmConfig.from_toml(text).minibatch_size == 64

    assert trained("run.toml", "--out", "a") == 0
    assert trained("--algo", "PPO", *words, "--out", "b") == 0
    assert curves(tmp_path / "a") == curves(tmp_path / "b")


def test_an_environment_of_ones_own(tmp_path, capsys):
    """It is known by what named it, now and when the run goes on; a file alone imports nothing."""
    own = ["--env", "mine.py:Mine", "--env-config", "worth=2.0"]
    assert trained("--algo", "PPO", *own, *SMALL, "--stop", "iterations=1", "--out", "a") == 0
    assert curves(tmp_path / "a")[0]["env_runners/episode_return_min"] >= "1"
    registry._creators.clear()
    capsys.readouterr()

    assert trained("--resume", "a", "--stop", "iterations=2") == 2
    assert "--env FILE.py:NAME" in capsys.readouterr().err
    assert trained("--resume", "a", "--stop", "iterations=2", "--env", "mine.py:Mine") == 0


def test_code_of_ones_own_that_fails(capsys):
    """Exit code 3, with the line; what was saved before stays."""
    assert trained("--algo", "PPO", "--env", "mine.py:Failing", *SMALL, "--out", "a") == 3

    said = capsys.readouterr().err
    assert "the simulator is gone" in said
    assert "rlconnect train --resume a --env mine.py:Failing" in said


def test_hints_are_in_options(capsys):
    """What an environment that dies needs is said as --set, not in Python."""
    given = ["--set", "env_step_timeout_s=60", "--set", "gym_env_vectorize_mode=async"]
    words = ["--algo", "PPO", "--env", "mine.py:Dying", *SMALL, *given, "--out", "a"]
    assert trained(*words) == 2

    said = capsys.readouterr().err
    assert "--set restart_failed_sub_environments=true" in said


def test_what_a_run_does_not_keep_is_said_again(capsys):
    """Imports and services are options, so the command by which it goes on repeats them."""
    (Path("named.py")).write_text(NAMED, encoding="utf-8")
    words = ["--algo", "PPO", "--env", "named-env", "--import", "named.py", *SMALL]

    assert trained(*words, "--stop", "iterations=1", "--out", "a") == 0

    assert "rlconnect train --resume a --import=named.py --stop iterations=2" in " ".join(
        capsys.readouterr().out.split()
    )


def test_several_agents(tmp_path, capsys):
    """`--map` says who plays whom, now and when the run goes on; without it that is asked."""
    words = ["--algo", "PPO", "--env", "mine.py:Two", *SMALL]
    assert trained(*words, "--stop", "iterations=1", "--out", "lost") == 2
    assert "--map AGENT=ID" in capsys.readouterr().err

    mapped = ["--map", "0=first", "--map", "*=rest"]
    assert trained(*words, *mapped, "--stop", "iterations=2", "--out", "whole") == 0
    assert trained(*words, *mapped, "--stop", "iterations=1", "--out", "part") == 0
    assert trained("--resume", "part", "--env", "mine.py:Two", "--stop", "iterations=2") == 0

    assert curves(tmp_path / "part") == curves(tmp_path / "whole")
    told = curves(tmp_path / "whole")[-1]
    assert float(told["env_runners/num_agent_steps_sampled_lifetime/0"]) == 256
    assert {"learners/first/total_loss", "learners/rest/total_loss"} <= told.keys()
    said = capsys.readouterr().out.splitlines()
    best = next(line for line in said if line.startswith("  rlconnect rollout whole"))
    assert main(shlex.split(best)[1:]) == 0


def test_going_on_in_another_environment(tmp_path, capsys):
    """Refused by its spaces, and the run is as it was."""
    trained("--algo", "PPO", "--env", "mine.py:Mine", *SMALL, "--stop", "steps=1", "--out", "a")
    capsys.readouterr()
    before = (tmp_path / "a/run.toml").read_text()

    assert trained("--resume", "a", "--env", "mine.py:Other", "--set", "lr=1e-3") == 2
    told = capsys.readouterr().err
    assert "another observation space" in told
    assert "rlconnect train --env mine.py:Other --from a/" in " ".join(told.split())
    assert (tmp_path / "a/run.toml").read_text() == before


@pytest.mark.parametrize("name", ["policies/ppo_cartpole", "algorithm"])
def test_beginning_with_a_policy(tmp_path, name, capsys):
    """Of the old stack or the new one: its sizes and weights, which the first checkpoint has."""
    if name == "algorithm":
        source = tmp_path / "first/checkpoint_000001"
        trained("--algo", "PPO", "--env", "CartPole-v1", *SMALL, "--stop", "steps=1", "--out",
                "first")  # fmt: skip
    else:
        source = ROOT / "examples/checkpoints/ppo-cartpole-ray-2.60"
    capsys.readouterr()

    words = ["--env", "CartPole-v1", "--set", "train_batch_size_per_learner=128", "--set",
             "minibatch_size=64", "--set", "num_epochs=1", "--stop", "steps=1"]  # fmt: skip
    assert trained("--from", source, *words, "--out", "on") == 0

    import numpy as np
    import rlconnect

    observation = np.zeros((5, 4), np.float32)
    policy = rlconnect.load(tmp_path / "on/checkpoint_000000").only
    np.testing.assert_array_equal(
        policy.act(observation), rlconnect.load(source).only.act(observation)
    )
    assert trained("--resume", "on", "--stop", "iterations=2") == 0


def test_a_run_keeps_its_teacher(tmp_path, monkeypatch):
    """A copy lies in its folder, from which it goes on; without one nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    sample = str(ROOT / "examples/checkpoints/ppo-cartpole-ray-2.60")
    start = ["train", "--algo", "PPO", "--env", "CartPole-v1", "--stop", "iterations=1"]

    assert main([*start, "--teacher", "nowhere", "--out", "none"]) == 2
    assert not (tmp_path / "none").exists()
    assert main([*start, "--teacher", sample, "--out", "run", *SMALL]) == 0
    assert main(["train", "--resume", "run", "--stop", "iterations=2"]) == 0

    results = [json.loads(line) for line in (tmp_path / "run/result.json").read_text().splitlines()]
    told = [each["learners"]["default_policy"]["teacher_coeff"] for each in results]
    assert len(told) == 2
    assert 1 > told[0] > told[1] > 0.9
    assert (tmp_path / "run" / "teacher").is_dir()


@pytest.mark.parametrize("by", [["--env", "Acrobot-v1"], ["other.toml"]])
def test_a_teacher_that_does_not_fit_is_adapted_first(by, tmp_path, monkeypatch, capsys):
    """The hint is the command that asks what only the user can know."""
    monkeypatch.chdir(tmp_path)
    Path("other.toml").write_text('algorithm = "PPO"\n[environment]\nenv = "Acrobot-v1"\n')
    sample = str(ROOT / "examples/checkpoints/ppo-cartpole-ray-2.60")
    algorithm = [] if by[0].endswith("toml") else ["--algo", "PPO"]

    assert main(["train", *by, *algorithm, "--teacher", sample, "--out", "run", *SMALL]) == 2

    hint = capsys.readouterr().err.splitlines()[-1]
    assert hint == f"hint: adapt it first: rlconnect adapt {sample} --env Acrobot-v1"
    assert main(shlex.split(hint.partition("first: rlconnect ")[2])) == 1
    assert "next    rlconnect adapt" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "size"),
    [
        (["train_batch_size=64"], 64),
        (["training.train_batch_size=64"], 64),
        (["train_batch_size=64", "train_batch_size_per_learner=32"], 32),
    ],
)
def test_a_batch_size_that_is_told_counts(words, size, tmp_path):
    """SAC has one for each learner, which goes before it unless `--set` says otherwise."""
    recipe = Recipe({"algorithm": "SAC", "environment": {"env": "Pendulum-v1"}})

    recipe.tell(words)

    assert recipe.config(tmp_path).total_train_batch_size == size


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "nothing says what is to be trained"),
        (["--algo", "PPO"], "which environment?"),
        (["--algo", "PPPO", "--env", "CartPole-v1"], "did you mean 'PPO'?"),
        (["--algo", "APPO", "--env", "CartPole-v1"], "PPO trains the same networks"),
        (["--algo", "PPO", "--env", "CartPol-v1"], "did you mean 'CartPole-v1'?"),
        (["--algo", "PPO", "--env", "CartPole-v1", "--set", "lrr=1"], "did you mean 'lr'?"),
        (["--algo", "PPO", "--env", "CartPole-v1", "--stop", "retrun=1"], "'return'"),
        (["nowhere.toml"], "nothing lies at"),
        (["--set", "lr=1", "gamma=1"], "hint: repeat the option for each: --set lr=1 --set gamma"),
        (["a.toml", "--set", "lr=1", "gamma=1"], "hint: repeat the option for each: --set lr=1 "),
        (["a.toml", "gamma=1"], "hint: see how it is written: rlconnect train --help"),
        (["--resume", "nowhere"], "no run to go on with"),
        (["--resume", "nowhere", "--algo", "PPO"], "--resume goes on with"),
        (["--algo", "PPO", "--env", "CartPole-v1", "--out", "."], "holds files already"),
        (["--algo", "PPO", "--env", "mine.py:gym"], "a class, or a function"),
        (["--algo", "DQN", "--env", "Pendulum-v1", "--out", "run"], "train PPO or SAC"),
        (["--algo", "PPO", "--env", "CartPole-v1", "--out", "mine.py/run"], "part of the path"),
    ],
)
def test_mistakes_leave_nothing_behind(words, says, tmp_path, capsys):
    """Exit code 2, with what to do."""
    assert trained(*words) == 2

    assert says in capsys.readouterr().err
    assert {each.name for each in tmp_path.iterdir()} <= {"mine.py", "__pycache__"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[run]\nkep = 3", "did you mean 'keep'?"),
        ("[run]\nkeep = 'all'", "an integer"),
        ("[run]\nkeep = 0", "1 or more"),
        ("[run]\nscore = 3", "a text"),
        ("[run]\nmode = 'up'", "'max' or 'min'"),
        ("[run]\nstop = [3]", "WORD=NUMBER"),
        ("[run]\nstop = { steps = [] }", "a number"),
        ("run = 3", "[run]: expected a table"),
        ("environment = 3", "[environment]: expected a table"),
        ("debugging = 3", "[debugging]: expected a table"),
        ("[trainin]\nlr = 1", "[training]"),
    ],
)
def test_odd_files_are_told(text, says, tmp_path, capsys):
    """What a file says that is none of it."""
    (tmp_path / "a.toml").write_text(f"{text}\n", encoding="utf-8")

    assert trained("a.toml", "--algo", "PPO", "--env", "CartPole-v1") == 2
    assert says in capsys.readouterr().err


def test_a_file_sends_nothing_to_the_terminal(tmp_path, capsys):
    """A metric's name is anybody's text."""
    text = '[run]\nstop = { "a/\\u001b[2J" = 1, iterations = 1 }\n'
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")

    with pytest.warns(UserWarning, match="no such metric"):
        assert trained("a.toml", "--algo", "PPO", "--env", "CartPole-v1", *SMALL) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_run_that_holds_one_is_gone_on_with(capsys):
    """A folder with a run in it is not written over."""
    given = ["--algo", "PPO", "--env", "CartPole-v1", *SMALL, "--stop", "steps=1", "--out", "a"]
    trained(*given)
    capsys.readouterr()

    assert trained(*given) == 2
    assert "rlconnect train --resume a" in capsys.readouterr().err


def test_a_folder_of_a_strangers_asks_for_no_more_than_a_file_may(tmp_path, capsys):
    """Its counts are bounded, and its paths told, not used; the caller's words are the caller's."""
    given = ["--algo", "PPO", "--env", "CartPole-v1", *SMALL, "--stop", "steps=1", "--out", "a"]
    trained(*given)
    file = tmp_path / "a/run.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(f'{text}\n[offline_data]\noutput = "stolen"\n', encoding="utf-8")
    capsys.readouterr()

    with pytest.warns(UserWarning, match="output='stolen'.*--set NAME=PATH"):
        assert trained("--resume", "a", "--stop", "iterations=2") == 0
    assert not (tmp_path / "stolen").exists()
    file.write_text(f"{text}\n[env_runners]\nnum_envs_per_env_runner = 99999999\n", "utf-8")
    assert trained("--resume", "a", "--stop", "iterations=3") == 2
    assert "num_envs_per_env_runner" in capsys.readouterr().err


def test_ctrl_c_ends_it_saved(tmp_path, capsys):
    """The iteration under way is finished, and the run can go on."""
    assert trained("--algo", "PPO", "--env", "mine.py:Interrupted", *SMALL, "--out", "a") == 130

    said = capsys.readouterr()
    assert "ending after this iteration" in said.err
    assert "ended before anything was reached" in said.out
    assert len(curves(tmp_path / "a")) == 2
    assert (tmp_path / "a/checkpoint_000002").is_dir()


def test_curves_as_a_page(tmp_path, capsys):
    """One file that needs nothing else: a curve a run, the best named; odd names spelt out."""
    given = ["--algo", "PPO", "--env", "CartPole-v1", *SMALL, "--evaluate-every", 1]
    trained(*given, "--stop", "iterations=3", "--out", "runs/one")
    trained(*given, "--stop", "iterations=2", "--out", "runs/<script>")
    capsys.readouterr()

    assert main(["runs", "runs", "--html", "runs.html"]) == 0

    page = (tmp_path / "runs.html").read_text(encoding="utf-8")
    assert "report  runs.html" in capsys.readouterr().out
    assert page.count("<polyline") >= 8
    assert "Return in evaluations" in page
    assert "best: " in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "prefers-color-scheme:dark" in page
    assert "function" not in page  # Settings of all runs are alike; no address tells them apart.


def test_a_long_curve_is_thinned():
    """A page holds as many points as can be told apart, from the first part to the last."""
    from rlconnect.core.pages.charts import curves as chart

    values = [float(each) for each in range(100_000)]
    text = chart([("a", values, values), ("b", [1.0], [float("7")])], "a", "x")

    assert text.count(",") < 2000
    assert " 100.00," in text


def test_a_network_with_a_memory_has_sequences_of_the_default_length(tmp_path):
    """Who asks for an LSTM in a word need not say how long its sequences are; who does, may."""
    recipe, longer = Recipe({"algorithm": "PPO"}), Recipe({"algorithm": "PPO"})
    recipe.tell(["model_config.use_lstm=true"])
    longer.tell(["model_config.use_lstm=true", "model_config.max_seq_len=50"])

    assert recipe.config(tmp_path).model_config["max_seq_len"] == 20
    assert longer.config(tmp_path).model_config["max_seq_len"] == 50
