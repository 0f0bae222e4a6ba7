"""Results for Weights & Biases and for MLflow, each in a run that goes on where the folder's does.

Where they are sent, and whether at all, their own variables say: `WANDB_MODE=offline`,
`WANDB_PROJECT`, `MLFLOW_TRACKING_URI`, `MLFLOW_EXPERIMENT_NAME`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from time import time
from typing import Any, Final

from typing_extensions import override

from ...core.data.plain_data import as_json
from ...core.errors import ConfigError, MissingExtraError
from ...core.text.near_names import did_you_mean
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.files.reading import read_bytes
from ...core.vault.own.atomic import replaced_file
from .flat_result import flat, scalars
from .loggers import Logger, step_of

_PROJECT: Final = "rlconnect"
_NO_METRIC: Final = re.compile(r"[^\w\-. :/]")
_RUN_ID: Final = re.compile(r"[\w-]{1,64}")
_MOST_AT_ONCE: Final = {"metrics": 1000, "params": 100}
_LONGEST_VALUE: Final = 500
_HINT: Final = (
    "CSV, JSON and TensorBoard are written anyway; TrainingRun(loggers=[...]) takes a Logger of "
    "your own."
)


class WandbLogger(Logger):
    """Writes results to Weights & Biases."""

    def __init__(self, config: Mapping[str, Any] | None, logdir: str | os.PathLike[str]) -> None:
        super().__init__(config, logdir)
        try:
            import wandb
        except ImportError as error:
            raise _missing("wandb", error) from error
        folder = Path(logdir)
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", _PROJECT),
            name=folder.name,
            dir=str(folder),
            config=as_json(self.config),
            id=_kept_id(folder, "wandb"),
            resume="allow",
        )
        _keep_id(folder, "wandb", self._run.id)

    @override
    def on_result(self, result: Mapping[str, Any]) -> None:
        self._run.log(scalars(result), step=step_of(result))

    @override
    def close(self) -> None:
        self._run.finish()


class MLflowLogger(Logger):
    """Writes results to MLflow, and the settings as its parameters."""

    def __init__(self, config: Mapping[str, Any] | None, logdir: str | os.PathLike[str]) -> None:
        super().__init__(config, logdir)
        try:
            from mlflow import MlflowClient, entities
        except ImportError as error:
            raise _missing("mlflow", error) from error
        client: Any = MlflowClient()
        self._client, self._entities = client, entities
        folder = Path(logdir)
        known = _kept_id(folder, "mlflow")
        if known is not None:
            self._id = known
            self._client.set_terminated(known, status="RUNNING")
        else:
            name = os.environ.get("MLFLOW_EXPERIMENT_NAME", _PROJECT)
            found = self._client.get_experiment_by_name(name)
            place = found.experiment_id if found else self._client.create_experiment(name)
            self._id = self._client.create_run(place, run_name=folder.name).info.run_id
            _keep_id(folder, "mlflow", self._id)
            told = {
                key: str(each)[:_LONGEST_VALUE] for key, each in flat(as_json(self.config)).items()
            }
            self._log("params", [entities.Param(_spelt(key), each) for key, each in told.items()])

    @override
    def on_result(self, result: Mapping[str, Any]) -> None:
        now, step = int(time() * 1000), step_of(result)
        metric = self._entities.Metric
        values = scalars(result).items()
        self._log("metrics", [metric(_spelt(name), value, now, step) for name, value in values])

    @override
    def close(self) -> None:
        self._client.set_terminated(self._id)

    def _log(self, kind: str, entries: list[Any]) -> None:
        size = _MOST_AT_ONCE[kind]
        for begin in range(0, len(entries), size):
            self._client.log_batch(self._id, **{kind: entries[begin : begin + size]})


SERVICES: Final[dict[str, type[Logger]]] = {"wandb": WandbLogger, "mlflow": MLflowLogger}
"""Loggers beyond those that every run has, by the words that ask for them."""


def service_named(name: str) -> type[Logger]:
    """The logger for a service.

    Raises:
        ConfigError: There is none of that name.
    """
    if name not in SERVICES:
        raise ConfigError(
            f"no logger named {name!r}",
            expected=" or ".join(SERVICES),
            hint=did_you_mean(name, SERVICES, otherwise=_HINT),
        )
    return SERVICES[name]


def _missing(name: str, error: ImportError) -> MissingExtraError:
    return MissingExtraError(
        f"logging to {name} needs the package {name}: {error}",
        hint=f"pip install 'rlconnect[{name}]'",
    )


def _spelt(name: str) -> str:
    """A name as MLflow takes it."""
    return _NO_METRIC.sub("_", name)[:250]


def _id_file(folder: Path, service: str) -> Path:
    return folder / f"{service}.run"


def _kept_id(folder: Path, service: str) -> str | None:
    """The service's run of this folder; None before there is one."""
    file = _id_file(folder, service)
    if not os.path.lexists(file):
        return None
    text = read_bytes(file, limits_in_force()).decode("utf-8", "replace").strip()
    return text if _RUN_ID.fullmatch(text) else None


def _keep_id(folder: Path, service: str, run_id: str) -> None:
    with replaced_file(_id_file(folder, service)) as staged:
        staged.write_text(run_id, encoding="utf-8")
