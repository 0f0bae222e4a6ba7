"""Folders that Tune wrote: trials, curves, the best checkpoint; moved, cut, or from long ago."""

import json
import pickle
import shutil

import pytest
from rlconnect.cli.app import main
from rlconnect.core.errors import CheckpointNotFoundError, ConfigError
from rlconnect.offline import open_runs

METRIC = "env_runners/episode_return_mean"


class Bomb:
    """Ends the test if it is ever unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))


def write_trial(run, name, lr, values, *, named=True, done=True):
    """A trial as Ray 2.7 and newer write it; checkpoints after every second iteration."""
    folder = run / name
    folder.mkdir(parents=True)
    (folder / "params.json").write_text(json.dumps({"lr": lr, "model": {"fcnet_hiddens": [4]}}))
    (folder / "params.pkl").write_bytes(pickle.dumps(Bomb()))
    rows, saved = [], 0
    for at, value in enumerate(values, 1):
        row = {"env_runners": {"episode_return_mean": value}, "training_iteration": at}
        row |= {"done": done and at == len(values), "config": {"lr": lr}, "loss": 1 / at}
        if at % 2 == 0:
            checkpoint = f"checkpoint_{saved if named else at:06d}"
            (folder / checkpoint).mkdir()
            saved += 1
            row |= {"checkpoint_dir_name": checkpoint} if named else {}
        rows.append(row)
    (folder / "result.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


class Kept:
    """What stands in a pickled state: an object with attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def state_of(name, checkpoints):
    """What a run's state says of a trial: after which iteration which checkpoint was saved."""
    saved = [
        Kept(checkpoint=Kept(path=f"/old/{name}/{folder}"), metrics={"training_iteration": at})
        for folder, at in checkpoints.items()
    ]
    manager = pickle.dumps(Kept(_checkpoint_results=saved)).hex()
    told = {"checkpoint_manager": {"_type": "CLOUDPICKLE_FALLBACK", "value": manager}}
    trial = {"trial_id": name, "status": "TERMINATED", "relative_logdir": f"/old/{name}"}
    return {"trial_data": [[json.dumps(trial), json.dumps(told)]]}


@pytest.mark.parametrize("named", [0, 1, None])
def test_a_state_says_when_checkpoints_were_saved(tmp_path, named):
    """Since Ray 2.7 folders are counted from 0, and results name them too early or not at all."""
    trial = tmp_path / "run/t"
    write_trial(tmp_path / "run", "t", 0.1, [1.0, 2.0, 3.0, 4.0], named=False)
    rows = [json.loads(line) for line in (trial / "result.json").read_text().splitlines()]
    for count, old in enumerate(("checkpoint_000002", "checkpoint_000004")):
        (trial / old).rename(trial / f"new_{count}")
        if named is not None:
            rows[2 * count + named]["checkpoint_dir_name"] = f"checkpoint_{count:06d}"
    for count in range(2):
        (trial / f"new_{count}").rename(trial / f"checkpoint_{count:06d}")
    (trial / "result.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    unsaid = open_runs(tmp_path / "run").trials[0].checkpoints(METRIC)
    state = state_of("t", {"checkpoint_000000": 2, "checkpoint_000001": 4})
    (tmp_path / "run/experiment_state-1.json").write_text(json.dumps(state))

    run = open_runs(tmp_path / "run")

    assert [each.value for each in run.trials[0].checkpoints(METRIC)] == [2.0, 4.0]
    assert run.best_checkpoint.path.name == "checkpoint_000001"
    if named is None:
        assert [each.value for each in unsaid] == [None, None]


def test_checkpoints_of_ours_are_numbered_by_their_iterations(tmp_path):
    """Also while the one from before the first iteration is there, which Tune would count from."""
    trial = write_trial(tmp_path, "t", 0.1, [1.0, 2.0, 3.0, 4.0], named=False)
    (trial / "checkpoint_000000").mkdir()
    (trial / "spaces.json").write_text("{}")

    runs = open_runs(trial)

    assert [each.value for each in runs.trials[0].checkpoints(METRIC)] == [None, 2.0, 4.0]
    assert runs.best_checkpoint.path.name == "checkpoint_000004"


def test_settings_that_fit_a_table_come_first(tmp_path):
    """What takes a line, such as a space, stands behind numbers, and seeds between them."""
    for seed in (1, 2):
        told = {"a_space": "Box(-1.0, 1.0, (4,), float32)"[seed:], "seed": seed, "lr": 1 / seed}
        folder = write_trial(tmp_path, f"t{seed}", 0.1, [1.0, 2.0])
        (folder / "params.json").write_text(json.dumps(told))

    assert open_runs(tmp_path).varied() == ["lr", "seed", "a_space"]


@pytest.mark.parametrize("held", [Bomb(), [Bomb()], 7, Kept(_checkpoint_results=[Bomb(), 3])])
def test_a_hostile_state_is_not_run(tmp_path, held):
    """What its pickle names is not called; nothing is known of checkpoints then."""
    write_trial(tmp_path / "run", "t", 0.1, [1.0, 2.0])
    told = {"checkpoint_manager": {"value": pickle.dumps(held).hex()}}
    trial = {"trial_id": "t", "status": "TERMINATED", "relative_logdir": "/old/t"}
    state = {"trial_data": [[json.dumps(trial), json.dumps(told)]]}
    (tmp_path / "run/experiment_state-1.json").write_text(json.dumps(state))

    (trial,) = open_runs(tmp_path / "run").trials

    assert trial.status == "TERMINATED"
    assert [each.value for each in trial.checkpoints(METRIC)] == [2.0]


@pytest.fixture
def results(tmp_path):
    """A run of three trials, one broken off, with a state whose paths are of another machine."""
    run = tmp_path / "ray_results/PPO"
    write_trial(run, "PPO_a_lr=1", 0.1, [float("nan"), 2.0, 5.0, 3.0])
    write_trial(run, "PPO_b_lr=2", 0.2, [1.0, 7.0, 1.0, 6.0])
    write_trial(run, "PPO_c_lr=3", 0.3, [1.0], done=False)
    states = [
        [json.dumps({"trial_id": name, "status": status, "relative_logdir": f"/old/{name}"}), "{}"]
        for name, status in (("PPO_a_lr=1", "TERMINATED"), ("PPO_b_lr=2", "PAUSED"))
    ]
    (run / "experiment_state-2026-01-01.json").write_text(json.dumps({"trial_data": states}))
    (run / "tuner.pkl").write_bytes(pickle.dumps(Bomb()))
    return run.parent


def test_trials_are_told_with_settings_and_curves(results):
    """Whatever level is named; values that are no numbers are no part of a curve."""
    for place in (results, results / "PPO"):
        found = open_runs(place)

        assert [trial.name[:5] for trial in found.trials] == ["PPO_a", "PPO_b", "PPO_c"]
        assert found.metric == METRIC
        assert found.varied() == ["lr"]
        assert [found.setting(trial, "lr") for trial in found.trials] == [0.1, 0.2, 0.3]
        assert [trial.status for trial in found.trials] == ["TERMINATED", "PAUSED", "UNFINISHED"]
        curve = found.trials[0].curve(METRIC)
        assert (curve.iterations, curve.values) == ((2, 3, 4), (2.0, 5.0, 3.0))
    assert len(open_runs(results / "PPO/PPO_b_lr=2").trials) == 1


@pytest.mark.parametrize("named", [True, False])
def test_the_best_checkpoint_is_that_of_the_best_iteration(tmp_path, named):
    """Numbered as they come, or, before Ray 2.7, by their iteration."""
    write_trial(tmp_path, "a", 0.1, [0.0, 2.0, 9.0, 3.0], named=named)
    write_trial(tmp_path, "b", 0.2, [1.0, 7.0, 1.0, 6.0], named=named)

    found = open_runs(tmp_path)

    assert found.best.name == "a"
    assert found.best_checkpoint.path == tmp_path / "b" / f"checkpoint_{0 if named else 2:06d}"
    assert (found.best_checkpoint.iteration, found.best_checkpoint.value) == (2, 7.0)
    assert open_runs(tmp_path, mode="min").best_checkpoint.value == 2.0


def test_folders_may_be_moved(results, tmp_path):
    """Nothing depends on where they were."""
    shutil.move(results, tmp_path / "elsewhere")

    found = open_runs(tmp_path / "elsewhere")

    assert found.best_checkpoint.path.is_dir()
    assert found.trials[0].status == "TERMINATED"


def test_a_table_serves_where_there_is_no_other(results):
    """Some keep `progress.csv` alone."""
    folder = results / "PPO/PPO_b_lr=2"
    (folder / "result.json").unlink()
    (folder / "progress.csv").write_text(f"{METRIC},training_iteration,done\n1.5,1,False\n2,2,True")

    (trial,) = open_runs(folder).trials

    assert trial.curve(METRIC).values == (1.5, 2.0)


def test_damage_costs_its_line(results):
    """A run that was killed leaves half a line; settings that are cut come from a result."""
    folder = results / "PPO/PPO_a_lr=1"
    file = folder / "result.json"
    file.write_text(file.read_text() + '{"env_runners": {"episo')
    (folder / "params.json").write_text('{"lr": ')

    trial = open_runs(results).trials[0]

    assert len(trial.results) == 4
    assert trial.damaged[0]["line"] == 5
    assert trial.config == {"lr": 0.1}


def test_what_is_not_there_is_told(results, tmp_path):
    """With what there is instead."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointNotFoundError, match="no trial"):
        open_runs(tmp_path / "empty")
    with pytest.raises(ConfigError, match="env_runners/episode_return_mean"):
        open_runs(results, metric="episode_return_mean")
    with pytest.raises(ConfigError, match="'max' or 'min'"):
        open_runs(results, mode="most")


def test_the_command_shows_a_table_and_the_best(results, capsys, monkeypatch):
    """Each trial with its curve; the best checkpoint with what to do next."""
    monkeypatch.setenv("COLUMNS", "120")

    assert main(["runs", str(results)]) == 0
    page = capsys.readouterr().out
    assert main(["runs", str(results), "--json", "--metric", "loss", "--mode", "min"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert "PPO_b_lr=2" in page
    assert "▁█" in page
    assert "rlconnect inspect" in page
    assert told["best_trial"].startswith("PPO_a")
    assert told["trials"][0]["curve"]["values"] == [1.0, 0.5, 1 / 3, 0.25]
