"""Trials, one after the other."""

import json
import sys
from pathlib import Path

import gymnasium as gym
import pytest
from rlconnect.core.errors import (
    ConfigError,
    CorruptCheckpointError,
    MissingExtraError,
    UnknownNameError,
)
from rlconnect.v2 import PPO, PPOConfig, tuning
from rlconnect.v2.tuning.result_grid import NoBestResultError

from tests.v2.counting_objects import Newer, grown

SAVING = tuning.CheckpointConfig


class Steps(tuning.Trainable):
    """Scores 11, 22, 3, 14, 25, 6; fails at its third step where it is told to."""

    def setup(self, config):
        self.n = 0

    def step(self):
        self.n += 1
        if self.config.get("x") == "fails" and self.n == 3:
            raise ValueError("the third step")
        return {"score": (self.n % 3) * 10 + self.n, "id": self.trial_id}

    def save_checkpoint(self, checkpoint_dir):
        (Path(checkpoint_dir) / "n.txt").write_text(str(self.n), encoding="utf-8")

    def load_checkpoint(self, checkpoint):
        self.n = int((Path(checkpoint) / "n.txt").read_text(encoding="utf-8"))


@pytest.fixture
def fit(tmp_path):
    """Run trials quietly in a folder of the test's."""

    def fitted(trainable=Steps, space=None, tune=None, **run):
        run = {"stop": {"training_iteration": 5}, "verbose": 0, "name": "run", **run}
        return tuning.Tuner(
            trainable,
            param_space=space,
            tune_config=tune,
            run_config=tuning.RunConfig(storage_path=tmp_path, **run),
        ).fit()

    return fitted


def small_config():
    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=32, minibatch_size=32, num_epochs=1)
    )


def folders(result):
    return sorted(path.name for path in Path(result.path).glob("checkpoint_*"))


def test_an_algorithm_by_name_over_a_grid(fit):
    """Each point of the grid is a trial; the best one's checkpoint is an algorithm again."""
    config = small_config().training(lr=tuning.grid_search([0.01, 0.001]))

    results = fit("PPO", config, stop={"num_env_steps_sampled_lifetime": 40})
    best = results.get_best_result("env_runners/episode_return_mean", "max")
    again = PPO.from_checkpoint(best.checkpoint.path)
    written = (Path(best.path) / "result.json").read_text(encoding="utf-8").splitlines()

    assert [each.config["lr"] for each in results] == [0.01, 0.001]
    assert [each.metrics["training_iteration"] for each in results] == [2, 2]
    assert again.iteration == 2
    assert again.config.lr == best.config["lr"]
    assert json.loads(written[-1])["trial_id"] == best.metrics["trial_id"]
    assert "_0_lr=0.0100_" in results[0].path
    again.stop()


def test_a_config_of_one_s_own_keeps_its_class(fit):
    """An algorithm gets the config that was given, with a trial's values in it."""

    class OwnConfig(PPOConfig):
        def __init__(self, algo_class=None):
            super().__init__(algo_class)
            self.mine = 3

    config = OwnConfig().update_from_dict(small_config().to_dict())
    config.environment(
        lambda _: gym.make("CartPole-v1"), env_config={"n": {"m": tuning.grid_search([{"k": 1}])}}
    )

    (result,) = fit("PPO", config, stop={"training_iteration": 1})

    assert result.config["env_config"] == {"n": {"m": {"k": 1}}}
    assert result.config["mine"] == 3
    assert Path(result.path).name.startswith("PPO_lambda_")


def test_a_function_reports_until_it_is_enough(fit):
    """A report that is enough leaves the function, through its `finally`."""
    left = []

    def count(config):
        try:
            for step in range(10):
                try:
                    tuning.report({"score": step * config["x"], "nest": {"x": step}})
                except Exception:  # An end is no error that a function could swallow.
                    continue
        finally:
            left.append(tuning.get_context().get_experiment_name())

    results = fit(count, {"x": tuning.grid_search([1, 2])}, stop={"nest/x": 2})

    assert [each.metrics["score"] for each in results] == [2, 4]
    assert left == ["run", "run"]
    assert results.get_best_result("score", "min").config == {"x": 1}


def test_what_a_function_returns_is_its_last_result(fit):
    """Without a report the returned dict or number is the result, as in Ray."""
    (by_name,) = fit(lambda config: {"score": 5})
    (number,) = fit(lambda config: 7)

    assert (by_name.metrics["score"], by_name.metrics["done"]) == (5, True)
    assert number.metrics["_metric"] == 7


def test_a_function_s_checkpoints_are_copied(fit, tmp_path):
    """What is reported may vanish afterwards; the trial has its own."""

    def saving(config):
        for step in range(3):
            (tmp_path / "state.txt").write_text(str(step), encoding="utf-8")
            (tmp_path / "run").mkdir(exist_ok=True)
            own = tmp_path / "own"
            own.mkdir(exist_ok=True)
            (own / "state.txt").write_text(str(step), encoding="utf-8")
            tuning.report({"score": step}, checkpoint=tuning.Checkpoint.from_directory(own))

    (result,) = fit(saving, checkpoint_config=SAVING(num_to_keep=1))

    assert folders(result) == ["checkpoint_000002"]
    assert (Path(result.checkpoint.to_directory()) / "state.txt").read_text(encoding="utf-8") == "2"


@pytest.mark.parametrize(
    ("saving", "iterations", "kept", "best"),
    [
        ({}, 5, [0], [5]),
        ({"checkpoint_frequency": 2}, 5, [0, 1, 2], [2, 4, 5]),
        ({"checkpoint_frequency": 2, "checkpoint_at_end": False}, 5, [0, 1], [2, 4]),
        ({"checkpoint_frequency": 2, "checkpoint_at_end": True}, 4, [0, 1], [2, 4]),
        ({"checkpoint_frequency": 1, "num_to_keep": 2}, 5, [3, 4], [4, 5]),
        (
            {
                "checkpoint_frequency": 1,
                "num_to_keep": 2,
                "checkpoint_score_attribute": "score",
            },
            6,
            [1, 4, 5],
            [2, 5],
        ),
        (
            {
                "checkpoint_frequency": 1,
                "num_to_keep": 2,
                "checkpoint_score_attribute": "score",
                "checkpoint_score_order": "min",
            },
            6,
            [2, 5],
            [6, 3],
        ),
    ],
)
def test_checkpoints_are_kept_as_ray_keeps_them(fit, saving, iterations, kept, best):
    """Which folders are left, and which iterations they are of, best last; from Ray 2.60."""
    (result,) = fit(stop={"training_iteration": iterations}, checkpoint_config=SAVING(**saving))

    assert folders(result) == [f"checkpoint_{number:06d}" for number in kept]
    assert [metrics["training_iteration"] for _, metrics in result.best_checkpoints] == best
    assert Path(result.checkpoint.path).name == f"checkpoint_{max(kept):06d}"


def test_a_trial_that_fails_leaves_the_others(fit):
    """Its error is in its result and its folder; the others run on."""
    results = fit(space={"x": tuning.grid_search(["fails", "works"])})

    assert (results.num_errors, results.num_terminated) == (1, 1)
    assert isinstance(results[0].error, ValueError)
    assert "the third step" in (Path(results[0].path) / "error.txt").read_text(encoding="utf-8")
    assert results[0].metrics["training_iteration"] == 2
    assert results[1].metrics["training_iteration"] == 5


def test_failing_fast(fit):
    """No further trials, or the error at once."""
    space = {"x": tuning.grid_search(["fails", "works"])}

    results = fit(space=space, failure_config=tuning.FailureConfig(fail_fast=True))

    assert results[1].metrics is None
    with pytest.raises(ValueError, match="the third step"):
        fit(space=space, failure_config=tuning.FailureConfig(fail_fast="raise"))


def test_a_trial_goes_on_after_a_failure(fit):
    """It begins again from its last checkpoint, as often as it may."""

    class Once(Steps):
        has_failed = False

        def step(self):
            made = super().step()
            if self.n == 3 and not Once.has_failed:
                Once.has_failed = True
                raise RuntimeError
            return made

    (result,) = fit(
        Once,
        stop={"score": 25},
        checkpoint_config=SAVING(checkpoint_frequency=1),
        failure_config=tuning.FailureConfig(max_failures=1),
    )

    assert result.error is None
    assert result.metrics["score"] == 25


def test_what_a_run_holds_does_not_grow_with_its_results(fit):
    """Results are in files; objects are as many after twice as many results."""
    counts, newer = [], Newer()

    class Count(tuning.Callback):
        def on_trial_result(self, iteration, trials, trial, result, **info):
            if iteration in (25, 50, 75, 100):
                counts.append(newer.held())

    def reports(config):
        for step in range(100):
            tuning.report({"score": step / 7, "parts": {"a": [step], "b": step % 3}})

    stops = [tuning.TrialPlateauStopper("score"), tuning.MaximumIterationStopper(100)]
    (result,) = fit(reports, stop=stops, callbacks=[Count()])

    assert grown(counts[1:], 10) == {}
    assert len(fit(reports, stop=None).trials[0].history) == 100
    assert result.metrics["training_iteration"] == 100


def test_callbacks_are_called(fit):
    """Hooks see trials and results, in the order in which things happen."""
    seen = []

    class Tell(tuning.Callback):
        def on_trial_start(self, iteration, trials, trial, **info):
            seen.append(("start", len(trials)))

        def on_trial_result(self, iteration, trials, trial, result, **info):
            seen.append((iteration, result["score"]))

        def on_checkpoint(self, iteration, trials, trial, checkpoint, **info):
            seen.append(Path(checkpoint.path).name)

        def on_experiment_end(self, trials, **info):
            seen.append(trials[0].status)

    fit(stop={"training_iteration": 2}, callbacks=[Tell()])

    assert seen == [("start", 1), (1, 11), (2, 22), "checkpoint_000000", "TERMINATED"]


def test_the_best_needs_something_to_compare(fit):
    """One trial is the best anyway; several need metric and mode."""
    one, two = fit(), fit(space={"a": tuning.grid_search([1, 2])})

    assert one.get_best_result().metrics["score"] == 25
    assert two.get_best_result("score", "min", scope="all").metrics["score"] == 25
    with pytest.raises(ConfigError, match="No metric"):
        two.get_best_result()
    with pytest.raises(ConfigError, match="No mode"):
        two.get_best_result("score")
    with pytest.raises(NoBestResultError, match="nope"):
        two.get_best_result("nope", "max")


def test_tables_need_pandas(fit, monkeypatch):
    """Without it the error says what to read instead."""
    results = fit(stop={"training_iteration": 1})
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(MissingExtraError, match=r"progress\.csv"):
        results.get_dataframe()
    assert (Path(results[0].path) / "progress.csv").is_file()


def test_older_scripts_call_run(tmp_path):
    """`run()` gives the best trial, and raises what failed."""
    quiet = {"storage_path": tmp_path, "verbose": 0, "stop": {"training_iteration": 4}}

    found = tuning.run(
        Steps,
        config={"x": tuning.grid_search([2, 4])},
        metric="score",
        mode="max",
        checkpoint_freq=2,
        **quiet,
    )
    again = tuning.run(Steps, restore=found.best_checkpoint, **quiet)

    assert found.best_config == {"x": 2}
    assert Path(found.get_last_checkpoint().path).name == "checkpoint_000001"
    assert again.best_trial.last_result["score"] == (8 % 3) * 10 + 8
    with pytest.raises(tuning.TuneError, match="the third step"):
        tuning.run(Steps, config={"x": "fails"}, **quiet)


def test_a_run_tells_of_its_trials(tmp_path, capsys):
    """A line as a trial begins and as it ends, on stderr."""
    where = tuning.RunConfig(storage_path=tmp_path, stop={"training_iteration": 2})

    tuning.Tuner(Steps, param_space={"x": tuning.grid_search([1])}, run_config=where).fit()

    told = capsys.readouterr().err
    assert "begins: x=1" in told
    assert "has ended after 2 results" in told


@pytest.mark.parametrize(
    "make",
    [
        lambda: tuning.TuneConfig(scheduler="asha"),
        lambda: tuning.TuneConfig(search_alg=object()),
        lambda: tuning.RunConfig(storage_path="s3://bucket"),
        lambda: tuning.RunConfig(callbacks=[object()]),
        lambda: tuning.CheckpointConfig(num_to_keep=0),
        lambda: tuning.CheckpointConfig(checkpoint_score_order="up"),
        lambda: tuning.Tuner(3).fit(),
        lambda: tuning.Tuner(
            print, run_config=tuning.RunConfig(checkpoint_config=SAVING(checkpoint_at_end=True))
        ).fit(),
    ],
)
def test_what_is_not_there_is_named(make):
    """What only Ray can do, or nobody, is an error before a trial begins."""
    with pytest.raises(ConfigError):
        make()


def test_unknown_names_and_unused_settings_are_told(tmp_path):
    """No algorithm of that name; a reporter that will not report."""
    with pytest.raises(UnknownNameError, match="no algorithm 'APPO'"):
        tuning.Tuner("APPO").fit()
    with pytest.warns(UserWarning, match="progress_reporter"):
        tuning.RunConfig(progress_reporter=tuning.CLIReporter(metric_columns=["a"]))
    with pytest.warns(UserWarning, match="outside of a trial"):
        tuning.report({"a": 1})


def test_parameters_are_handed_on(fit):
    """Objects that are no settings reach functions and `setup`."""
    data = [1, 2, 3]

    class WithData(Steps):
        def setup(self, config, data):
            super().setup(config)
            self.n = len(data)

    (by_class,) = fit(tuning.with_parameters(WithData, data=data), stop={"training_iteration": 1})
    (by_function,) = fit(tuning.with_parameters(lambda config, data: len(data), data=data))

    assert by_class.metrics["score"] == 14
    assert by_function.metrics["_metric"] == 3


def test_a_save_that_fails_leaves_the_one_before(tmp_path):
    """What `save_checkpoint` wrote before it failed is nowhere; a user's own file stays."""
    steps = Steps({})
    steps.save(tmp_path / "saved")
    (tmp_path / "saved" / "notes.txt").write_text("mine", encoding="utf-8")
    steps.n, write = 5, steps.save_checkpoint
    steps.save_checkpoint = lambda folder: [write(folder), 1 / 0]

    with pytest.raises(ZeroDivisionError):
        steps.save(tmp_path / "saved")
    steps.restore(tmp_path / "saved")

    assert steps.n == 0
    assert (tmp_path / "saved" / "notes.txt").read_text(encoding="utf-8") == "mine"
    (tmp_path / "saved" / "n.txt").write_text("7", encoding="utf-8")
    with pytest.raises(CorruptCheckpointError, match=r"n\.txt"):
        steps.restore(tmp_path / "saved")
