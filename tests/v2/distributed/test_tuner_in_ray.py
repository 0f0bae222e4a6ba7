"""Our `Tuner` where Ray is installed: trials run in real Ray Tune. Skips itself without it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest
from rlconnect.core.errors import ConfigError, CorruptCheckpointError
from rlconnect.v2 import PPO, PPOConfig, RLlibCallback, register_env, tuning

pytestmark = pytest.mark.ray
ray = pytest.importorskip("ray")

RETURN = "env_runners/episode_return_mean"


class Deadly(RLlibCallback):
    """Kills the process of one trial in its third iteration, once."""

    def on_train_result(self, *, algorithm, result, **kwargs):
        flag = algorithm.config.env_config["flag"]
        is_time = algorithm.config.lr == 1e-3 and result["training_iteration"] == 3
        if is_time and not os.path.exists(flag):
            open(flag, "w", encoding="utf-8").close()
            os.kill(os.getpid(), signal.SIGKILL)


class Told(tuning.Callback):
    """Notes which trials have ended, in this process."""

    def __init__(self):
        self.ended = []

    def on_trial_complete(self, iteration, trials, trial, **info):
        self.ended.append(trial.last_result["training_iteration"])


def tuner(trainable, space, folder, tune=None, **run):
    return tuning.Tuner(
        trainable,
        param_space=space,
        tune_config=tune,
        run_config=tuning.RunConfig(name="run", storage_path=folder, verbose=0, **run),
    )


def test_three_trials_of_a_config_and_a_kill_in_between(tmp_path):
    """A grid and a drawing in a config; the killed trial goes on, and all is told as ours."""
    register_env("mine", lambda context: gymnasium.make("CartPole-v1"))
    config = (
        PPOConfig()
        .environment("mine", env_config={"flag": str(tmp_path / "flag")})
        .env_runners(num_env_runners=0)
        .training(
            lr=tuning.grid_search([1e-3, 1e-4, 1e-5]),
            gamma=tuning.uniform(0.9, 0.99),
            train_batch_size=200,
            minibatch_size=100,
            num_epochs=1,
        )
        .rl_module(model_config={"fcnet_hiddens": [tuning.choice([8])]})
        .callbacks(Deadly)
    )
    told = Told()

    grid = tuner(
        "PPO",
        config,
        tmp_path,
        tuning.TuneConfig(
            metric=RETURN, mode="max", search_alg=tuning.BasicVariantGenerator(random_state=42)
        ),
        stop={"num_env_steps_sampled_lifetime": 800},
        failure_config=tuning.FailureConfig(max_failures=1),
        checkpoint_config=tuning.CheckpointConfig(num_to_keep=2, checkpoint_frequency=1),
        callbacks=[told],
    ).fit()

    assert (tmp_path / "flag").exists()
    assert (grid.num_errors, grid.num_terminated, told.ended) == (0, 3, [4, 4, 4])
    assert isinstance(grid, tuning.ResultGrid)
    assert [each.config["lr"] for each in grid] == [1e-3, 1e-4, 1e-5]
    gammas = [each.config["gamma"] for each in grid]
    assert gammas == pytest.approx(
        [0.9 + 0.09 * x for x in (0.773956, 0.438878, 0.858598)], abs=1e-6
    )
    assert grid[0].config["num_epochs"] == 1
    for trial in grid.trials:
        ages = [row["training_iteration"] for row in trial.history]
        assert ages == [1, 2, 3, 4]
        assert len(trial.checkpoints.best()) == 2
    best = grid.get_best_result()
    assert best.metrics["env_runners"]["episode_return_mean"] == max(
        each.metrics["env_runners"]["episode_return_mean"] for each in grid
    )
    algorithm = PPO.from_checkpoint(best.checkpoint, trust=[Deadly])
    assert (algorithm.iteration, algorithm.config.lr) == (4, best.config["lr"])
    assert algorithm.config.model_config["fcnet_hiddens"] == [8]
    algorithm.stop()


def test_a_function_reports_and_goes_on(tmp_path):
    """`report`, `get_checkpoint` and `get_context` of ours work in Ray's processes."""

    def count(config):
        saved = tuning.get_checkpoint()
        begin = int((Path(saved.path) / "n.txt").read_text()) if saved else 0
        for step in range(begin, 6):
            if step == 3 and not saved:
                raise ValueError("the fourth step")
            folder = Path(tuning.get_context().get_trial_dir()) / "mine"
            folder.mkdir(exist_ok=True)
            (folder / "n.txt").write_text(str(step + 1))
            tuning.report({"score": step * config["x"]}, checkpoint=tuning.Checkpoint(str(folder)))

    grid = tuner(
        count,
        {"x": tuning.grid_search([1, 2])},
        tmp_path,
        stop={"score": 8},
        failure_config=tuning.FailureConfig(max_failures=1),
    ).fit()

    assert [each.metrics["score"] for each in grid] == [5, 8]
    assert (Path(grid[0].checkpoint) / "n.txt").read_text() == "6"


class Steps(tuning.Trainable):
    """Scores x at each step; ends by its own word after three."""

    def setup(self, config):
        self.n = 0

    def step(self):
        self.n += 1
        return {"score": self.config["x"] * self.n, "done": self.n == 3, "place": self.logdir}

    def save_checkpoint(self, checkpoint_dir):
        (Path(checkpoint_dir) / "n.txt").write_text(str(self.n), encoding="utf-8")

    def load_checkpoint(self, checkpoint):
        self.n = int((Path(checkpoint) / "n.txt").read_text(encoding="utf-8"))


def test_a_class_of_one_s_own(tmp_path):
    """A `Trainable` ends by its own word and is saved at its end; `run` raises what has failed."""
    grid = tuner(Steps, {"x": tuning.grid_search([1, 2])}, tmp_path).fit()

    assert [each.metrics["score"] for each in grid] == [3, 6]
    assert (Path(grid[1].checkpoint) / "n.txt").read_text(encoding="utf-8") == "3"
    assert grid[1].metrics["place"] != grid[0].metrics["place"]
    with pytest.raises(tuning.TuneError, match="did not complete"):
        tuning.run(Steps, config={"x": None}, storage_path=tmp_path, verbose=0)


def test_ours_end_trials_in_ray_too(tmp_path):
    """`ASHAScheduler` and a seeded `BasicVariantGenerator` of ours become Ray's."""
    grid = tuner(
        Steps,
        {"x": tuning.uniform(0, 1)},
        tmp_path,
        tuning.TuneConfig(
            metric="score",
            mode="max",
            num_samples=2,
            search_alg=tuning.BasicVariantGenerator(random_state=42),
            scheduler=tuning.ASHAScheduler(max_t=2),
        ),
    ).fit()

    assert [each.config["x"] for each in grid] == pytest.approx([0.773956, 0.438878], abs=1e-6)
    assert max(each.metrics["training_iteration"] for each in grid) == 2


def test_ray_s_own_schedulers_and_distributions_are_taken(tmp_path):
    """What is Ray's goes to Ray as it is."""
    from ray import tune
    from ray.tune.schedulers import MedianStoppingRule

    grid = tuner(
        Steps,
        {"x": tune.uniform(1, 2)},
        tmp_path,
        tuning.TuneConfig(
            metric="score", mode="max", num_samples=2, scheduler=MedianStoppingRule(grace_period=2)
        ),
    ).fit()

    assert all(1 <= each.config["x"] <= 2 for each in grid)


def test_trials_stay_here_where_that_is_asked(tmp_path):
    """With `in_ray=False` nothing leaves the process."""
    seen = []

    grid = tuning.Tuner(
        lambda config: seen.append(os.getpid()),
        run_config=tuning.RunConfig(storage_path=tmp_path, verbose=0),
        in_ray=False,
    ).fit()

    assert seen == [os.getpid()]
    assert grid.num_errors == 0


KILLED = """
import json, os, pathlib, signal, sys
import ray
from rlconnect.v2 import PPOConfig, tuning

class Deadly(tuning.Callback):
    def __init__(self, flag):
        self.flag = flag  # Ray keeps the callback, which is to kill once

    def on_trial_result(self, iteration, trials, trial, result, **info):
        is_time = trial is trials[1] and result["training_iteration"] >= 3
        if is_time and not os.path.exists(self.flag) and self.is_whole(trial.path):
            open(self.flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)

    def is_whole(self, path):  # Ray writes what it knows of trials in several steps
        try:
            (state,) = pathlib.Path(path).parent.glob("experiment_state-*.json")
            return bool(json.loads(state.read_text()))
        except ValueError:
            return False

ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
config = (
    PPOConfig()
    .environment("CartPole-v1")
    .env_runners(num_env_runners=0)
    .training(train_batch_size=100, minibatch_size=50, num_epochs=1)
    .training(lr=tuning.grid_search([1e-3, 1e-4, 1e-5]))
    .rl_module(model_config={"fcnet_hiddens": [8]})
    .debugging(seed=3)
)
tuning.Tuner(
    "PPO",
    param_space=config,
    run_config=tuning.RunConfig(
        name=sys.argv[2],
        storage_path=sys.argv[1],
        verbose=0,
        stop={"training_iteration": 5},
        checkpoint_config=tuning.CheckpointConfig(checkpoint_frequency=1),
        callbacks=[Deadly(sys.argv[1] + "/flag")],
    ),
    in_ray=True,
).fit()
"""


def test_a_run_whose_process_was_killed_goes_on_in_ray(tmp_path):
    """`Tuner.restore` in real Ray: the same curves as those of an unbroken run."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ends = [
        subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path), name], env=env, check=False
        ).returncode
        for name in ("cut", "whole")
    ]
    cut = tmp_path / "cut"
    assert ends == [-signal.SIGKILL, 0]

    with pytest.raises(ConfigError, match="in_ray=True"):
        tuning.Tuner.restore(cut, "PPO")
    with pytest.raises(ConfigError, match="expected PPO, found DQN"):
        tuning.Tuner.restore(cut, "DQN", in_ray=True)
    with pytest.raises(ConfigError, match="has changed"):
        tuning.Tuner.restore(cut, "PPO", param_space=PPOConfig(), in_ray=True)
    cut_trials = sorted(each.name for each in cut.glob("PPO_*"))
    grid = tuning.Tuner.restore(cut, "PPO", in_ray=True).fit()
    whole = tuning.Tuner.restore(tmp_path / "whole", "PPO", in_ray=True).fit()

    assert (grid.num_errors, grid.num_terminated) == (0, 3)
    assert [each.config["lr"] for each in grid] == [1e-3, 1e-4, 1e-5]
    assert grid[0].config["train_batch_size"] == 100
    assert {Path(each.path).name for each in grid} > set(cut_trials[:2])
    returns = [[row.get(RETURN) for row in trial.history] for trial in grid.trials]
    assert [len(each) for each in returns] == [5, 5, 5]
    assert returns == [[row.get(RETURN) for row in trial.history] for trial in whole.trials]


def test_what_ray_wrote_may_be_damaged(tmp_path):
    """Ray would begin all trials anew without a word; here that is an error."""
    tuner(Steps, {"x": 1}, tmp_path).fit()
    for state in (tmp_path / "run").glob("experiment_state-*.json"):
        state.write_text("", encoding="utf-8")

    with pytest.raises(CorruptCheckpointError, match="begin all trials anew"):
        tuning.Tuner.restore(tmp_path / "run", Steps, in_ray=True).fit()
