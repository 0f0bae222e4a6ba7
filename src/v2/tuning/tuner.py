"""`Tuner` and `run`: Ray Tune's, for the names and classes of our algorithms."""

from __future__ import annotations

from typing import Any

from ..config.in_ray_tune import accept_as_space
from ..config.store import SettingsStore
from ..distributed.ray_tune import ray_tune
from ..distributed.trainables import as_trainable


class Tuner:
    """Create a `ray.tune.Tuner`.

    Args:
        trainable: The name or class of one of our algorithms, or anything Ray's Tuner accepts.
        **settings: `param_space` (a config or a dict), `tune_config` and `run_config`, as Ray's
            Tuner takes them.

    Raises:
        MissingExtraError: Ray Tune is not installed.
    """

    def __new__(cls, trainable: Any = None, **settings: Any) -> Any:
        """Return Ray's Tuner."""
        return _ray_tune("Tuner").Tuner(as_trainable(trainable), **settings)

    @staticmethod
    def restore(path: str, trainable: Any, **settings: Any) -> Any:
        """Call `ray.tune.Tuner.restore`; Ray unpickles files of the folder, so it must be trusted.

        Args:
            path: The folder of an interrupted run.
            trainable: What was run, as for `Tuner`.
            **settings: As Ray's `restore` takes them.

        Raises:
            MissingExtraError: Ray Tune is not installed.
        """
        return _ray_tune("Tuner").Tuner.restore(path, as_trainable(trainable), **settings)

    @staticmethod
    def can_restore(path: str, **settings: Any) -> bool:
        """Call `ray.tune.Tuner.can_restore`.

        Args:
            path: The folder of a run.
            **settings: As Ray's `can_restore` takes them.

        Raises:
            MissingExtraError: Ray Tune is not installed.
        """
        return bool(_ray_tune("Tuner").Tuner.can_restore(path, **settings))


def run(run_or_experiment: Any, **settings: Any) -> Any:
    """Call `ray.tune.run`.

    Args:
        run_or_experiment: The name or class of one of our algorithms, or anything Ray accepts.
        **settings: `config` (a config or a dict), `stop`, `num_samples` and so on, as Ray takes
            them.

    Raises:
        MissingExtraError: Ray Tune is not installed.
    """
    return _ray_tune("run").run(as_trainable(run_or_experiment), **settings)


def _ray_tune(what: str) -> Any:
    tune = ray_tune(f"rlconnect.v2.tuning.{what}")
    accept_as_space(SettingsStore)
    return tune
