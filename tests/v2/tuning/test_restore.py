"""Runs of trials that were cut off and go on."""

import json
import os
import signal
import sys
from pathlib import Path

import gymnasium as gym
import pytest
from rlconnect.core.errors import (
    CheckpointNotFoundError,
    ConfigError,
    CorruptCheckpointError,
    UnsafeCheckpointError,
)
from rlconnect.v2 import PPOConfig, tuning
from rlconnect.v2.envs.registry import UnknownEnvError

from tests.v2.tuning.runs import curves

RETURN = "env_runners/episode_return_mean"


class Steps(tuning.Trainable):
    """Adds x at each step; fails at its third where a file says so; may kill its process."""

    def setup(self, config):
        self.score = 0

    def step(self):
        self.score += self.config["x"]
        if self.iteration == 2 and os.path.exists(self.config.get("fails", "")):
            raise ValueError("the third step")
        if self.iteration == self.config.get("deadly"):
            os.kill(os.getpid(), signal.SIGKILL)
        return {"score": self.score}

    def save_checkpoint(self, checkpoint_dir):
        (Path(checkpoint_dir) / "score.txt").write_text(str(self.score), encoding="utf-8")

    def load_checkpoint(self, checkpoint):
        self.score = int((Path(checkpoint) / "score.txt").read_text(encoding="utf-8"))


def count(config):
    """Counts to five, saved at each second step."""
    saved = tuning.get_checkpoint()
    begin = int((Path(saved.path) / "n.txt").read_text(encoding="utf-8")) if saved else 0
    for n in range(begin, 5):
        place = Path(tuning.get_context().get_trial_dir()) / "mine"
        place.mkdir(exist_ok=True)
        (place / "n.txt").write_text(str(n + 1), encoding="utf-8")
        saved = tuning.Checkpoint(str(place)) if n % 2 else None
        tuning.report({"score": n * config["x"]}, checkpoint=saved)


class Deadly(tuning.Callback):
    """Kills the process as the second trial has its third result."""

    def on_trial_result(self, iteration, trials, trial, result, **info):
        if trial is trials[1] and iteration == 3:
            os.kill(os.getpid(), signal.SIGKILL)


class Notes(tuning.Callback):
    """Keeps which results there were, by the numbers of trials."""

    def __init__(self):
        self.seen = []

    def on_trial_result(self, iteration, trials, trial, result, **info):
        self.seen.append((trials.index(trial), result["training_iteration"]))


def ppo_config():
    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=2)
        .training(
            train_batch_size=64,
            minibatch_size=32,
            num_epochs=1,
            lr=tuning.grid_search([1e-2, 1e-3, 1e-4]),
            gamma=tuning.uniform(0.9, 0.99),
        )
        .rl_module(model_config={"fcnet_hiddens": [tuning.choice([4, 8])]})
        .debugging(seed=5)
    )


SPACE = {"x": tuning.grid_search([1, 2, 3]), "y": tuning.uniform(0, 1)}
WHAT = {
    "algorithm": ("PPO", ppo_config(), {"checkpoint_frequency": 2}),
    "class": (Steps, SPACE, {"checkpoint_frequency": 2}),
    "function": (count, SPACE, {}),
}


def tuner(trainable, space, folder, saving=None, seed=1, tune=None, **run):
    return tuning.Tuner(
        trainable,
        param_space=space,
        tune_config=tuning.TuneConfig(
            **{
                "metric": "score",
                "mode": "max",
                "search_alg": tuning.BasicVariantGenerator(random_state=seed),
                **(tune or {}),
            }
        ),
        run_config=tuning.RunConfig(
            name=folder.name,
            storage_path=folder.parent,
            checkpoint_config=tuning.CheckpointConfig(**(saving or {})),
            **{"verbose": 0, "stop": {"training_iteration": 5}, **run},
        ),
        in_ray=False,
    )


def cut_off(*args, **named):
    """Run trials in a process that dies with the second trial's third result."""
    child = os.fork()
    if not child:
        try:
            tuner(*args, callbacks=[Deadly()], **named).fit()
        finally:
            os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed")


@pytest.mark.parametrize("what", WHAT)
def test_a_killed_run_goes_on_to_the_curves_of_an_unbroken_one(tmp_path, what):
    """What had ended is left, what was cut off goes on, what had not begun begins."""
    trainable, space, saving = WHAT[what]
    whole = tuner(trainable, space, tmp_path / "whole", saving).fit()
    cut_off(trainable, space, tmp_path / "cut", saving)
    seen = Notes()

    again = tuning.Tuner.restore(
        tmp_path / "cut",
        trainable,
        run_config=tuning.RunConfig(
            verbose=0,
            stop={"training_iteration": 5},
            callbacks=[seen],
            checkpoint_config=tuning.CheckpointConfig(**saving),
        ),
    )
    before = [each.metrics and each.metrics["training_iteration"] for each in again.get_results()]
    grid = again.fit()

    assert before == [5, 3, None]
    assert seen.seen == [(1, 3), (1, 4), (1, 5), *((2, n) for n in range(1, 6))]
    assert (grid.num_errors, grid.num_terminated) == (0, 3)
    for one, other in zip(grid.trials, whole.trials, strict=True):
        assert without_names(curves(Path(one.path))) == without_names(curves(Path(other.path)))
        assert list(one.history[-1]) == list(other.history[-1])
        assert [row["training_iteration"] for row in one.history] == [1, 2, 3, 4, 5]
        assert folders(one) == folders(other)
        assert repr(one.config) == repr(other.config)
    table = (Path(grid[1].path) / "progress.csv").read_text(encoding="utf-8").splitlines()
    assert len(table) == 6


def without_names(rows):
    """Results without the names of their trials."""
    return [
        {k: v for k, v in row.items() if k not in ("trial_id", "experiment_tag")} for row in rows
    ]


def folders(trial):
    return sorted(path.name for path in Path(trial.path).glob("checkpoint_*"))


def test_all_that_is_plain_comes_from_the_folder(tmp_path):
    """The space, when trials end, what is kept, how often they are begun again."""
    saving = {"checkpoint_frequency": 1, "num_to_keep": 1}
    space = {"x": tuning.choice([1, 2]), "deadly": 4, "pair": (1, {2})}
    child = os.fork()
    if not child:
        try:
            tuner(
                Steps,
                space,
                tmp_path / "run",
                saving,
                tune={"time_budget_s": 900, "num_samples": 2},
                failure_config=tuning.FailureConfig(2),
            ).fit()
        finally:
            os._exit(7)
    os.waitpid(child, 0)

    again = tuning.Tuner.restore(tmp_path / "run", Steps)

    assert again._run_config == tuning.RunConfig(
        verbose=0,
        stop={"training_iteration": 5},
        failure_config=tuning.FailureConfig(2),
        checkpoint_config=tuning.CheckpointConfig(**saving),
    )
    assert again._tune_config.time_budget_s == 900
    first, second = again.get_results().trials
    assert first.last_result["training_iteration"] == 4
    assert folders(first) == ["checkpoint_000003"]
    assert first.config == {"x": 1, "deadly": 4, "pair": (1, {2})}
    assert (second.config["x"], second.status) == (2, "PENDING")


def failed(folder, **run):
    """A run whose second trial has failed after two results."""
    flag = folder.parent / "flag"
    flag.touch()
    space = {"x": tuning.grid_search([1, 2]), "fails": tuning.grid_search([str(flag)])}
    space["fails"] = tuning.sample_from(lambda spec: str(flag) if spec.config.x == 2 else "")
    grid = tuner(Steps, space, folder, {"checkpoint_frequency": 1}, **run).fit()
    flag.unlink()
    assert grid.num_errors == 1
    return space


@pytest.mark.parametrize(
    ("named", "results", "error"),
    [
        ({}, [], "ValueError: the third step"),
        ({"resume_errored": True}, [3, 4, 5], ""),
        ({"restart_errored": True}, [1, 2, 3, 4, 5], ""),
    ],
)
def test_failed_trials_go_on_as_asked(tmp_path, named, results, error):
    """They stay, or go on from their checkpoint, or from the beginning."""
    space = failed(tmp_path / "run")
    seen = Notes()
    run = tuning.RunConfig(
        verbose=0,
        stop={"training_iteration": 5},
        callbacks=[seen],
        checkpoint_config=tuning.CheckpointConfig(checkpoint_frequency=1),
    )

    again = tuning.Tuner.restore(
        tmp_path / "run", Steps, param_space=space, run_config=run, **named
    )
    grid = again.fit()

    assert seen.seen == [(1, n) for n in results]
    assert [row["training_iteration"] for row in grid.trials[1].history] == (
        [1, 2] if error else [1, 2, 3, 4, 5]
    )
    if error:
        assert isinstance(grid.errors[0], tuning.TuneError)
        assert error in str(grid.errors[0])
    else:
        assert not grid.errors
        assert grid[1].metrics["score"] == 10
        assert grid[0].metrics["score"] == 5


def test_what_was_cut_off_may_count_as_ended(tmp_path):
    """With `resume_unfinished=False` nothing runs."""
    cut_off(Steps, SPACE, tmp_path / "run")

    grid = tuning.Tuner.restore(
        tmp_path / "run", Steps, resume_unfinished=False, run_config=tuning.RunConfig(verbose=0)
    ).fit()

    assert [trial.status for trial in grid.trials] == ["TERMINATED"] * 3
    assert [len(trial.history) for trial in grid.trials] == [5, 3, 0]


def test_what_ends_trials_sees_former_results_again(tmp_path):
    """ASHA judges a trial that goes on by those that had ended before."""
    space = {"x": tuning.grid_search([3, 2, 1])}
    asha = {"max_t": 5, "grace_period": 1, "reduction_factor": 2}
    whole = tuner(
        Steps, space, tmp_path / "whole", tune={"scheduler": tuning.ASHAScheduler(**asha)}
    ).fit()
    child = os.fork()
    if not child:
        run = tuner(
            Steps, space, tmp_path / "cut", tune={"scheduler": tuning.ASHAScheduler(**asha)}
        )
        run._run_config.callbacks = [Dies()]
        try:
            run.fit()
        finally:
            os._exit(7)
    os.waitpid(child, 0)

    again = tuning.Tuner.restore(
        tmp_path / "cut",
        Steps,
        run_config=tuning.RunConfig(verbose=0, stop={"training_iteration": 5}),
    ).fit()

    ends = [[len(trial.history) for trial in grid.trials] for grid in (whole, again)]
    assert ends == [[5, 1, 1], [5, 1, 1]]


class Dies(tuning.Callback):
    """Kills the process as the second trial begins."""

    def on_trial_start(self, iteration, trials, trial, **info):
        if trial is trials[1]:
            os.kill(os.getpid(), signal.SIGKILL)


class OwnEnv(gym.Env):
    """An environment that a folder cannot hold."""

    def __init__(self, config=None):
        inner = gym.make("CartPole-v1")
        self.observation_space, self.action_space = inner.observation_space, inner.action_space


@pytest.mark.parametrize(
    ("named", "error", "says"),
    [
        ({"trainable": count}, ConfigError, "expected Steps, found count"),
        ({"param_space": {"x": tuning.grid_search([1, 2])}}, ConfigError, "changed.*x"),
        ({"param_space": {**SPACE, "z": 3}}, ConfigError, "changed.*z"),
        ({"param_space": {**SPACE, "y": tuning.uniform(0, 2)}}, ConfigError, r"uniform\(0, 1\)"),
        ({"path": "none"}, CheckpointNotFoundError, "found nothing"),
        ({"path": "."}, CheckpointNotFoundError, "a folder of runs: run"),
        ({"storage_filesystem": object()}, ConfigError, "local files"),
    ],
)
def test_what_does_not_belong_to_the_run_is_refused(tmp_path, named, error, says):
    """No folder, another trainable, another space."""
    tuner(Steps, SPACE, tmp_path / "run").fit()
    path = tmp_path / named.pop("path", "run")

    with pytest.raises(error, match=says):
        tuning.Tuner.restore(path, **{"trainable": Steps, **named})
    assert tuning.Tuner.can_restore(path) is (path.name == "run")


def test_objects_have_to_be_given_again(tmp_path):
    """Classes in the space, and functions that end trials, are no data."""
    config = ppo_config().environment(OwnEnv)
    config.lr = 1e-3
    stop = lambda trial_id, result: True  # noqa: E731
    tuner("PPO", config, tmp_path / "run", stop=stop).fit()
    run = tuning.RunConfig(verbose=0, stop=stop)

    with pytest.raises(ConfigError, match=r"(?s)stop=<lambda>.*run_config=") as told:
        tuning.Tuner.restore(tmp_path / "run", "PPO")
    assert "env" not in str(told.value)
    with pytest.raises(ConfigError, match=r"(?s)env is a .*OwnEnv.*param_space="):
        tuning.Tuner.restore(tmp_path / "run", "PPO", run_config=run)
    again = tuning.Tuner.restore(tmp_path / "run", "PPO", param_space=config, run_config=run)

    assert again.get_results().trials[0].config["env"] is OwnEnv


def edit(folder, change):
    file = folder / "tuner.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    change(data)
    file.write_text(json.dumps(data), encoding="utf-8")


def test_nothing_that_a_folder_names_is_imported(tmp_path):
    """An environment's module stays unloaded; paths and links out of the folder are refused."""
    config = ppo_config()
    config.lr = 1e-3
    tuner("PPO", config, tmp_path / "run", stop={"training_iteration": 1}).fit()
    run = tuning.RunConfig(verbose=0)
    (trial,) = (tmp_path / "run").glob("PPO_*")
    (trial / "trial.json").unlink()

    def name_a_module(data):
        data["space"]["settings"]["env"] = "antigravity:Theirs-v0"

    edit(tmp_path / "run", name_a_module)
    again = tuning.Tuner.restore(tmp_path / "run", "PPO", run_config=run)
    with pytest.raises(UnknownEnvError, match="not known here"):
        again.fit()
    assert "antigravity" not in sys.modules

    edit(tmp_path / "run", lambda data: data["trials"][0].update(folder="../.."))
    with pytest.raises((CorruptCheckpointError, ConfigError)):
        tuning.Tuner.restore(tmp_path / "run", "PPO", run_config=run).fit()
    os.rename(tmp_path / "run" / "tuner.json", tmp_path / "elsewhere.json")
    os.symlink(tmp_path / "elsewhere.json", tmp_path / "run" / "tuner.json")
    with pytest.raises(UnsafeCheckpointError):
        tuning.Tuner.restore(tmp_path / "run", "PPO")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("trials"),
        lambda data: data.update(trials=3),
        lambda data: data.update(trials=[{"folder": 3}]),
        lambda data: data["trials"][0].update(chosen=[[["x"], "option", 99]]),
        lambda data: data["trials"][0].update(chosen=[[["nope"], "option", 0]]),
        lambda data: data["space"].update(distributions=[[["y"], "system", ["x"]]]),
        lambda data: data["run_config"].update(callbacks=[3]),
        lambda data: data["run_config"].update(nope=1),
        lambda data: data["tune_config"].update(scheduler={"max_t": "x"}),
    ],
)
def test_a_damaged_folder_is_told(tmp_path, change):
    """A typed error, whatever the file says."""
    tuner(Steps, SPACE, tmp_path / "run").fit()
    edit(tmp_path / "run", change)

    with pytest.raises((CorruptCheckpointError, ConfigError)):
        tuning.Tuner.restore(tmp_path / "run", Steps)


def test_ray_s_own_folder_is_not_unpickled_unasked(tmp_path):
    """Ray reads its folder by pickle; that has to be said."""
    (tmp_path / "tuner.pkl").write_bytes(b"\x80\x04cos\nsystem\n.")

    assert tuning.Tuner.can_restore(tmp_path)
    with pytest.raises(ConfigError, match="in_ray=True"):
        tuning.Tuner.restore(tmp_path, Steps)


def test_older_scripts_resume(tmp_path):
    """`run(resume=...)` goes on in the folder of that name, or begins a run if it may."""
    quiet = {"storage_path": tmp_path, "verbose": 0, "stop": {"training_iteration": 5}}
    space = failed(tmp_path / "run")
    seen = Notes()

    again = tuning.run(
        Steps, config=space, name="run", resume="AUTO+ERRORED", callbacks=[seen], **quiet
    )
    once_more = tuning.run(Steps, config=space, name="run", resume=True, **quiet)
    begun = tuning.run(Steps, config={"x": 1}, name="new", resume="AUTO", **quiet)

    assert seen.seen == [(1, 3), (1, 4), (1, 5)]
    assert [each.metrics["score"] for each in again] == [5, 10]
    assert [each.metrics["score"] for each in once_more] == [5, 10]
    assert [each.metrics["score"] for each in begun] == [5]
    with pytest.raises(CheckpointNotFoundError, match="no run of a Tuner"):
        tuning.run(Steps, name="none", resume=True, **quiet)
    with pytest.raises(ConfigError, match="needs name="):
        tuning.run(Steps, resume=True, **quiet)
    with pytest.raises(ConfigError, match=r"RESTART_ERRORED_ONLY"):
        tuning.run(Steps, name="run", resume="AUTO+ERORED", **quiet)
