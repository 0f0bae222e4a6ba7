"""Results for Weights & Biases and MLflow; with the real ones where they are installed."""

import sys
from types import SimpleNamespace

import pytest
from rlconnect.core.errors import ConfigError, MissingExtraError
from rlconnect.v2.logging.services import MLflowLogger, WandbLogger, service_named

RESULTS = [
    {"training_iteration": 1, "num_env_steps_sampled_lifetime": 64, "env_runners": {"a b(c)": 1.5}},
    {"training_iteration": 2, "num_env_steps_sampled_lifetime": 128, "env_runners": {"a b(c)": 2}},
]


class Service:
    """What is asked of wandb and of mlflow, remembered."""

    def __init__(self):
        self.calls, self.runs = [], 0

    def init(self, **given):
        self.calls.append(("init", given["id"]))
        self.runs += given["id"] is None
        run_id = given["id"] or f"run{self.runs}"
        log = lambda values, step: self.calls.append((run_id, step, values))  # noqa: E731
        return SimpleNamespace(
            id=run_id, log=log, finish=lambda: self.calls.append(("end", run_id))
        )


def write(kind, folder, results):
    logger = kind({"lr": 0.1, "model_config": {"fcnet_hiddens": [8]}}, folder)
    for result in results:
        logger.on_result(result)
    logger.close()


def test_wandb_gets_results_and_goes_on_with_its_run(tmp_path, monkeypatch):
    """Numbers lie over steps sampled; a folder that is gone on with keeps its run."""
    service = Service()
    monkeypatch.setitem(sys.modules, "wandb", service)

    write(WandbLogger, tmp_path, RESULTS[:1])
    write(WandbLogger, tmp_path, RESULTS[1:])

    assert [call[0] for call in service.calls] == ["init", "run1", "end", "init", "run1", "end"]
    assert service.calls[3] == ("init", "run1")
    assert service.calls[4][1:] == (
        128,
        {
            "training_iteration": 2.0,
            "num_env_steps_sampled_lifetime": 128.0,
            "env_runners/a b(c)": 2.0,
        },
    )


@pytest.mark.parametrize(("kind", "name"), [(WandbLogger, "wandb"), (MLflowLogger, "mlflow")])
def test_what_is_missing_is_named(kind, name, tmp_path, monkeypatch):
    """Without the package the error says which extra brings it."""
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(MissingExtraError, match=rf"rlconnect\[{name}\]"):
        kind({}, tmp_path)


def test_services_by_name():
    """A misspelt one is told with the nearest."""
    assert service_named("mlflow") is MLflowLogger
    with pytest.raises(ConfigError, match="did you mean 'wandb'"):
        service_named("wanbd")


def test_a_run_id_of_a_strangers_is_not_used(tmp_path, monkeypatch):
    """What a folder says is held to what an id may be."""
    service = Service()
    monkeypatch.setitem(sys.modules, "wandb", service)
    (tmp_path / "wandb.run").write_text("../../elsewhere", encoding="utf-8")

    write(WandbLogger, tmp_path, RESULTS[:1])

    assert service.calls[0] == ("init", None)
    assert (tmp_path / "wandb.run").read_text(encoding="utf-8") == "run1"


def test_mlflow_keeps_results_and_settings(tmp_path, monkeypatch):
    """In a store of files: metrics over steps, settings as parameters, one run for one folder."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())

    write(MLflowLogger, tmp_path / "run", RESULTS[:1])
    write(MLflowLogger, tmp_path / "run", RESULTS[1:])

    client = mlflow.MlflowClient()
    place = client.get_experiment_by_name("rlconnect").experiment_id
    (run,) = client.search_runs([place])
    assert run.info.status == "FINISHED"
    assert run.data.params["lr"] == "0.1"
    told = client.get_metric_history(run.info.run_id, "env_runners/a b_c_")
    assert [(each.step, each.value) for each in told] == [(64, 1.5), (128, 2.0)]


def test_wandb_takes_it_offline(tmp_path, monkeypatch):
    """The real one, without a network."""
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")

    write(WandbLogger, tmp_path / "run", RESULTS)

    assert any((tmp_path / "run" / "wandb").glob("offline-run-*/*.wandb"))
