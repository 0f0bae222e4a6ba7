"""Trials that are ended early."""

import json
from pathlib import Path

import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import tuning

GOLDEN = Path(__file__).parents[2] / "golden" / "tuning" / "asha.json"


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text(encoding="utf-8")))
def test_asha_decides_as_ray_does(case):
    """Each result of each trial ends it where it does in Ray 2.60, with its recorded curves."""
    asha = tuning.ASHAScheduler(metric="score", mode=case["mode"], **case["settings"])
    age = case["settings"].get("time_attr", "training_iteration")
    for number, rows in enumerate(case["trials"]):
        for when, score, is_end in rows:
            result = {age: when, "score": float("nan") if score is None else score}

            assert asha(f"t{number}", result) == is_end


def slope(config):
    for step in range(1, 9):
        tuning.report({"score": step * config["x"]})


def test_worse_trials_end_early_and_a_table_tells_it(tmp_path, capsys):
    """Without Ray, too: the run's metric is the scheduler's; the best trial goes on to its end."""
    grid = tuning.Tuner(
        slope,
        param_space={"x": tuning.grid_search([3, 1, 2, 4])},
        tune_config=tuning.TuneConfig(
            metric="score",
            mode="max",
            scheduler=tuning.ASHAScheduler(grace_period=2, reduction_factor=2),
        ),
        run_config=tuning.RunConfig(storage_path=tmp_path, name="run"),
        in_ray=False,
    ).fit()

    assert [each.metrics["training_iteration"] for each in grid] == [8, 2, 4, 8]
    assert grid.get_best_result().config["x"] == 4
    table = capsys.readouterr().err.splitlines()[-6:-1]
    assert table[0].split() == ["trial", "settings", "status", "iterations", "seconds", "score"]
    rows = [line.split() for line in table[1:]]
    assert [row[:4] for row in rows] == [
        [str(number), f"x={x}", "TERMINATED", str(count)]
        for number, (x, count) in enumerate([(3, 8), (1, 2), (2, 4), (4, 8)])
    ]
    assert [row[-1] for row in rows] == ["24", "2", "8", "32"]


def test_what_asha_cannot_go_by_is_refused(tmp_path):
    """Settings that contradict each other, and a run that names no metric."""
    with pytest.raises(ConfigError, match="grace_period <= max_t"):
        tuning.ASHAScheduler(grace_period=5, max_t=3)
    tuner = tuning.Tuner(
        slope,
        tune_config=tuning.TuneConfig(scheduler=tuning.ASHAScheduler()),
        run_config=tuning.RunConfig(storage_path=tmp_path, verbose=0),
        in_ray=False,
    )
    with pytest.raises(ConfigError, match="nothing to compare"):
        tuner.fit()
