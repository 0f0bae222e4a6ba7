"""Policies as models of MLflow: saved and logged as `pyfunc`, without a pickle."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.importing.torch_needed import extra_needed
from ...core.types import Array
from ...core.vault.convert import convert
from ..actor.actor import Actor

_LOADER: Final = __name__
_NEEDS: Final = ["rlconnect"]


def save_model(
    policy: str | os.PathLike[str], path: str | os.PathLike[str], **options: Any
) -> None:
    """Save a checkpoint as a model of MLflow, a copy without a pickle in it.

    `mlflow.pyfunc.load_model(path).predict(observations)` gives actions.

    Args:
        policy: Any checkpoint, or a URL of one.
        path: The folder to make.
        **options: As of `mlflow.pyfunc.save_model`: `signature`, `input_example`, ...

    Raises:
        CheckpointError: The checkpoint cannot be read.
        MissingExtraError: mlflow or pandas is not installed.
    """
    with _copied(policy) as words:
        _pyfunc().save_model(os.fspath(path), **{**words, **options})


def log_model(policy: str | os.PathLike[str], name: str, **options: Any) -> Any:
    """Log a checkpoint as a model of MLflow's running run.

    Args:
        policy: Any checkpoint, or a URL of one.
        name: What it is called there.
        **options: As of `mlflow.pyfunc.log_model`: `registered_model_name`, ...

    Returns:
        What MLflow tells of it; `model_uri` is what opens it.

    Raises:
        CheckpointError: The checkpoint cannot be read.
        MissingExtraError: mlflow or pandas is not installed.
    """
    with _copied(policy) as words:
        pyfunc = _pyfunc()
        is_new = int(version("mlflow-skinny").partition(".")[0]) >= 3  # it renamed its argument
        called = {"name" if is_new else "artifact_path": name}
        return pyfunc.log_model(**called, **{**words, **options})


class PyfuncPolicy:
    """What MLflow asks for actions: the best ones, each row as the first of an episode."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    def predict(self, model_input: Any, params: Any = None) -> Any:
        """Actions for a batch: an array, a table with a column a feature, a dict of arrays."""
        actor = self.actor
        actor.reset()
        space = actor.observation_space
        rows = model_input.to_numpy() if hasattr(model_input, "to_numpy") else model_input
        return actor.act(nest.map_structure(lambda part: _rows(part, space), rows))


def _load_pyfunc(path: str) -> PyfuncPolicy:
    """What MLflow calls with the folder that was saved."""
    return PyfuncPolicy(Actor.from_checkpoint(path))


def _rows(part: Any, space: Any) -> Array:
    rows = np.asarray(part)
    return rows.astype(space.dtype) if space.shape and rows.dtype != space.dtype else rows


@contextmanager
def _copied(policy: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """What MLflow has to know of a copy."""
    with tempfile.TemporaryDirectory(prefix="rlconnect-") as place:
        folder = Path(place, "policy")
        convert(policy, folder)
        yield {"loader_module": _LOADER, "data_path": str(folder), "pip_requirements": _NEEDS}


def _pyfunc() -> Any:
    with (
        extra_needed("pandas", "a model of MLflow", "mlflow"),
        extra_needed("mlflow", "a model of MLflow", "mlflow"),
    ):
        import mlflow.pyfunc

        return mlflow.pyfunc
