"""Policies as models of MLflow: what is saved, logged and loaded acts the same."""

import sys
from pathlib import Path

import numpy as np
import pytest
from rlconnect.bridge import Actor
from rlconnect.bridge.front import mlflow_flavour
from rlconnect.core.errors import CheckpointNotFoundError, MissingExtraError

SAMPLE = Path(__file__).parents[3] / "src" / "samples" / "ppo-pendulum-ray-2.7"
MODULE = Path(__file__).parents[3] / "examples" / "checkpoints" / "ppo-module-ray-2.60"
ROWS = np.random.default_rng(0).uniform(-1, 1, (5, 3)).astype(np.float32)


@pytest.fixture
def pyfunc(tmp_path, monkeypatch):
    """MLflow's own, with a store in a folder of the test."""
    pytest.importorskip("pandas")
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    return pytest.importorskip("mlflow.pyfunc")


@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_what_is_saved_acts_the_same(pyfunc, tmp_path):
    """On arrays of any number type and on tables; no file of it is a pickle."""
    import pandas

    mlflow_flavour.save_model(SAMPLE, tmp_path / "model")

    model = pyfunc.load_model(str(tmp_path / "model"))
    wanted = Actor.from_checkpoint(SAMPLE).act(ROWS)
    for rows in (ROWS, ROWS.astype(float), pandas.DataFrame(ROWS)):
        np.testing.assert_allclose(model.predict(rows), wanted, atol=1e-6)
    suffixes = {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert suffixes.isdisjoint({".pkl", ".pickle", ".pt"})


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_what_is_logged_acts_the_same(pyfunc):
    """A module of the new stack, by the address that MLflow gives."""
    import mlflow

    with mlflow.start_run():
        logged = mlflow_flavour.log_model(MODULE, "policy")

    model = pyfunc.load_model(logged.model_uri)
    rows = ROWS[:, :2]
    np.testing.assert_array_equal(model.predict(rows), Actor.from_checkpoint(MODULE).act(rows))


def test_each_row_begins_an_episode():
    """Nothing is remembered from one call to the next."""
    model = mlflow_flavour._load_pyfunc(str(SAMPLE))

    np.testing.assert_array_equal(model.predict(ROWS), model.predict(ROWS))


def test_what_is_missing_is_told(monkeypatch, tmp_path):
    """The extra, and a checkpoint that is not there."""
    for name in ("mlflow", "mlflow.pyfunc"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"rlconnect\[mlflow\]"):
        mlflow_flavour.save_model(SAMPLE, tmp_path / "model")
    with pytest.raises(CheckpointNotFoundError):
        mlflow_flavour.save_model(tmp_path / "nowhere", tmp_path / "model")
