"""A run in a folder: cut off anywhere, it goes on to the same results, each told once."""

import csv
import errno
import json
import os
import shutil

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.core.errors import (
    CheckpointWriteError,
    ConfigError,
    CorruptCheckpointError,
    SpaceError,
)
from rlconnect.v2 import PPO, LossError, PPOConfig, RLlibCallback
from rlconnect.v2.logging import loggers
from rlconnect.v2.runs.stop_criteria import enough_of
from rlconnect.v2.runs.training_run import DamagedCheckpointWarning, TrainingRun

from tests.v2.algorithms.algorithm_cases import small
from tests.v2.counting_objects import Newer, grown
from tests.v2.runs.runs import curves, tensorboard_steps

SAVING = {"keep": 2, "save_every": 2}


class CutError(Exception):
    """Stands for the end of the process."""


def run_in(folder, iterations, config=None, saving=SAVING):
    """A small run that ends after some iterations."""
    stop = {"training_iteration": iterations}
    return TrainingRun(config or small(), folder, stop=stop, **saving)


def cut_at(iteration):
    """What ends a run right after a result was written."""

    def cut(result):
        if result["training_iteration"] == iteration:
            raise CutError

    return cut


def moving():
    """Evaluations, schedules and a filter's counts: all of what has a state."""
    return (
        small()
        .training(lr=[[0, 1e-3], [2000, 1e-5]], entropy_coeff=[[0, 0.1], [1000, 0.0]])
        .evaluation(evaluation_interval=2, evaluation_duration=3)
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two runs that nothing cut off."""
    folder = tmp_path_factory.mktemp("whole")
    run_in(folder / "moving", 6, moving()).go()
    run_in(folder / "small", 4).go()
    return folder


@pytest.mark.parametrize("cut", [1, 3, 4])
def test_a_run_that_was_cut_off_goes_on_to_the_same_results(tmp_path, whole, cut):
    """All but times is equal, to the bit; lines are neither missing nor double."""
    with pytest.raises(CutError):
        run_in(tmp_path / "cut", 6, moving()).go(cut_at(cut))
    with (tmp_path / "cut" / "result.json").open("a", encoding="utf-8") as file:
        file.write('{"training_itera')

    resumed = run_in(tmp_path / "cut", 6, moving())
    resumed.go()

    assert curves(tmp_path / "cut") == curves(whole / "moving")
    with (tmp_path / "cut" / "progress.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["training_iteration"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    names = [
        sorted(each.name for each in folder.glob("checkpoint_*"))
        for folder in (tmp_path / "cut", whole / "moving")
    ]
    assert names[0] == names[1]
    steps = tensorboard_steps(tmp_path / "cut")
    assert steps == sorted(set(steps))
    assert len(steps) == 6


def test_the_best_are_kept_and_the_newest(tmp_path):
    """By score; what was kept before a cut counts after it."""
    saving = {"keep": 1, "save_every": 1, "score": "score"}
    scores = {1: 5.0, 2: 9.0, 3: 7.0, 4: 1.0}

    class Scored(RLlibCallback):
        def on_train_result(self, *, result, **kwargs):
            result["score"] = scores[result["training_iteration"]]

    config = small().callbacks(Scored)
    run_in(tmp_path, 3, config, saving).go()
    run = run_in(tmp_path, 4, config, saving)
    run.go()

    assert sorted(each.name for each in tmp_path.glob("checkpoint_*")) == [
        "checkpoint_000002",
        "checkpoint_000004",
    ]
    assert run.checkpoints.best()[-1][0].path.endswith("checkpoint_000002")


def test_a_damaged_checkpoint_costs_the_way_from_the_one_before(tmp_path, whole):
    """The newest cannot be read: a warning says so, and the results are the same in the end."""
    shutil.copytree(whole / "small", tmp_path / "cut")
    file = next((tmp_path / "cut/checkpoint_000004").rglob("module_state.pkl"))
    file.write_bytes(file.read_bytes()[:-9])

    with pytest.warns(DamagedCheckpointWarning, match="checkpoint_000004"):
        run_in(tmp_path / "cut", 4).go()

    assert curves(tmp_path / "cut") == curves(whole / "small")


def test_nothing_whole_is_told(tmp_path):
    """With no checkpoint that can be read, the damage is the error."""
    run_in(tmp_path, 1).go()
    for file in tmp_path.rglob("module_state.pkl"):
        file.write_bytes(b"")

    with pytest.warns(DamagedCheckpointWarning), pytest.raises(CorruptCheckpointError):
        run_in(tmp_path, 2).go()


def test_it_ends_when_it_is_told_to(tmp_path):
    """After the iteration under way, saved."""
    run = TrainingRun(small(), tmp_path)
    seen = []

    def end(result):
        seen.append(result["training_iteration"])
        if seen[-1] == 2:
            run.end_soon()

    assert run.go(end) == ""
    assert seen == [1, 2]
    assert run.newest == 2


def test_what_was_reached_needs_no_more(tmp_path):
    """A run that is done trains no further iteration."""
    run_in(tmp_path, 2).go()
    seen = []

    assert run_in(tmp_path, 2).go(seen.append) == "training_iteration"
    assert seen == []


def test_leftovers_of_killed_saves_go(tmp_path):
    """Half a checkpoint under a hidden name is removed when the run goes on."""
    run_in(tmp_path, 1).go()
    half = tmp_path / ".checkpoint_000007.tmp-0123456789ab"
    half.mkdir()

    run_in(tmp_path, 2).go()

    assert not half.exists()


@pytest.mark.parametrize("what", ["a result", "a checkpoint"])
def test_a_full_disk(tmp_path, whole, monkeypatch, what):
    """It is told as such, and the run goes on from what was saved before."""
    folder = tmp_path / "full"

    def refuse(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill(result):
        if result["training_iteration"] == 3:
            if what == "a result":
                monkeypatch.setattr(loggers.JsonLogger, "on_result", refuse)
            else:
                monkeypatch.setattr("rlconnect.core.vault.own.atomic.flush_folder", refuse)

    with pytest.raises(CheckpointWriteError, match="no space left") as caught:
        run_in(folder, 4).go(fill)
    assert "free some space" in caught.value.hint
    monkeypatch.undo()
    run = run_in(folder, 4)
    assert run.newest == 2
    run.go()

    assert curves(folder) == curves(whole / "small")


def test_a_disk_that_is_full_when_files_are_closed(tmp_path, monkeypatch):
    """What stood in a buffer does not fit: told with the folder, as anywhere else."""

    def refuse(self):
        self._file.close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(loggers.JsonLogger, "close", refuse)

    with pytest.raises(CheckpointWriteError, match="no space left") as caught:
        run_in(tmp_path / "full", 1).go()
    assert "full" in str(caught.value)


class Breaking(gym.Wrapper):
    """CartPole whose rewards are no numbers from some step on."""

    def __init__(self, config=None):
        super().__init__(gym.make("CartPole-v1"))
        self.steps = 0

    def step(self, action):
        self.steps += 1
        observation, reward, *rest = super().step(action)
        return (observation, float("nan") if self.steps > 200 else reward, *rest)


def test_a_loss_that_is_no_number(tmp_path):
    """Update and minibatch are named, and the checkpoint before it stays."""
    config = small().environment(Breaking).env_runners(num_envs_per_env_runner=1)
    run = run_in(tmp_path, 9, config, {"keep": 2, "save_every": 1, "score": None})

    with pytest.raises(LossError, match=r"minibatch 1 of update 2") as caught:
        run.go()

    assert (caught.value.update, caught.value.minibatch) == (2, 1)
    assert run.newest == 1
    assert all(
        np.isfinite(each).all()
        for each in PPO.from_checkpoint(run.folder_of(1), config=config)
        .get_module()
        .get_state()
        .values()
    )


def test_another_environment_is_told(tmp_path):
    """Going on in one with other spaces is refused by what does not fit."""
    run_in(tmp_path, 1).go()

    with pytest.raises(SpaceError, match=r"another observation space.*\(4,\).*\(6,\)") as told:
        run_in(tmp_path, 2, small().environment("Acrobot-v1")).go()

    assert "rlconnect train --env Acrobot-v1 --from" in told.value.hint


def test_a_checkpoint_from_elsewhere_is_told(tmp_path):
    """One that was copied into the folder under another number is of another run."""
    run_in(tmp_path, 1).go()
    shutil.copytree(tmp_path / "checkpoint_000001", tmp_path / "checkpoint_000005")

    with pytest.raises(ConfigError, match="iteration 5"):
        run_in(tmp_path, 6).go()


def test_results_that_are_none_are_told(tmp_path):
    """A line that somebody wrote into the results."""
    run_in(tmp_path, 2).go()
    file = tmp_path / "result.json"
    file.write_text("odd\n" + file.read_text(encoding="utf-8"), encoding="utf-8")

    with pytest.raises(CorruptCheckpointError, match="line 1"):
        run_in(tmp_path, 3).go()


@pytest.mark.parametrize(
    ("told", "match"),
    [
        ("return", "WORD=NUMBER"),
        ("retrun=3", "'return'"),
        ("steps=10m", "a number"),
        ("time=10x", "a number"),
        ("steps=.e", "a number"),
        ({"steps": None}, "a number"),
    ],
)
def test_when_it_is_enough(told, match):
    """Words that are no metric, numbers that are none."""
    with pytest.raises(ConfigError, match=match):
        enough_of(told)

    assert enough_of("time=1.5h, env_runners/x=-3") == {"time_total_s": 5400.0, "env_runners/x": -3}


def test_settings_are_not_in_every_line(tmp_path):
    """They lie beside the results, once."""
    run_in(tmp_path, 1).go()

    assert "config" not in json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert json.loads((tmp_path / "params.json").read_text(encoding="utf-8"))["lr"] == 1e-3


def test_what_a_run_holds_does_not_grow_with_its_results(tmp_path):
    """Loggers, evaluations and checkpoints leave as many objects as there were."""
    config = PPOConfig().environment("Pendulum-v1").env_runners(num_env_runners=0)
    config.training(train_batch_size=16, minibatch_size=16, num_epochs=1)
    config.rl_module(model_config={"fcnet_hiddens": [4]}).debugging(seed=1)
    config.evaluation(evaluation_interval=5, evaluation_duration=1)
    config.reporting(metrics_num_episodes_for_smoothing=2)
    saving = {"keep": 2, "save_every": 5}
    counts, newer = {}, Newer()

    def look(result):
        if result["training_iteration"] in (19, 20, 35, 50):
            counts[result["training_iteration"]] = newer.held()

    TrainingRun(config, tmp_path, stop={"training_iteration": 51}, **saving).go(look)

    assert grown([*counts.values()][1:], 2) == {}
