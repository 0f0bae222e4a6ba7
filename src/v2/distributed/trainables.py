"""Our algorithms as trainables of Ray Tune: saved, restored and given other settings by it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ...core.errors import UnknownNameError
from ..logging.loggers import NoLogger
from ..saving.class_slots import algorithm_named
from .ray_tune import ray_tune


def as_trainable(trainable: Any) -> Any:
    """Return what Ray Tune runs for a name or class of an algorithm; all else stays as it is.

    Args:
        trainable: What a user gave to `Tuner` or `run`.
    """
    if isinstance(trainable, str):
        with suppress(UnknownNameError):  # Ray knows others.
            trainable = algorithm_named(trainable)
    if isinstance(trainable, type) and hasattr(trainable, "as_trainable"):
        return algorithm_trainable(trainable)
    return trainable


def algorithm_trainable(algorithm_class: type[Any], config: Any = None) -> Any:
    """Return the class that Ray Tune trains for an algorithm.

    Args:
        algorithm_class: The algorithm.
        config: Settings that all trials share; None for the algorithm's defaults. Those of a
            trial override them.

    Raises:
        MissingExtraError: Ray Tune is not installed.
    """
    tune = ray_tune(algorithm_class.__name__)
    base: Any = tune.Trainable

    def config_of(values: Mapping[str, Any]) -> Any:
        shared = algorithm_class.get_default_config() if config is None else config
        return shared.copy(copy_frozen=False).update_from_dict(values)

    class InRay(base):  # type: ignore[misc]  # Ray has no types where it is not installed
        """An algorithm, as Ray Tune trains it."""

        @classmethod
        def default_resource_request(cls, config: dict[str, Any]) -> Any:
            """Return what a trial asks Ray for: its own process, env runners, learners."""
            settings = config_of(config)
            runner = {
                "CPU": settings.num_cpus_per_env_runner,
                "GPU": settings.num_gpus_per_env_runner,
                **settings.custom_resources_per_env_runner,
            }
            runners = settings.num_env_runners + settings.evaluation_num_env_runners
            gpus = 0 if settings.num_learners else settings.num_gpus_per_learner
            main = {"CPU": settings.num_cpus_for_main_process, "GPU": gpus}
            learners = [settings.learner_resources] * settings.num_learners
            bundles = [main, *[runner] * runners, *learners]
            return tune.PlacementGroupFactory(
                [{kind: float(n) for kind, n in each.items() if n} for each in bundles]
            )

        def setup(self, config: dict[str, Any]) -> None:
            """Build the algorithm with a trial's settings."""
            self.algorithm = algorithm_class(
                config=config_of(config), logger_creator=lambda _: NoLogger(None, self.logdir)
            )
            self.algorithm.progress_line = None

        def step(self) -> dict[str, Any]:
            """Train for one iteration."""
            result: dict[str, Any] = self.algorithm.train()
            return {key: each for key, each in result.items() if key not in ("config", "trial_id")}

        def save_checkpoint(self, checkpoint_dir: str) -> None:
            """Save the algorithm to a folder."""
            self.algorithm.save(checkpoint_dir)

        def load_checkpoint(self, checkpoint: Any) -> None:
            """Restore the algorithm from a folder."""
            self.algorithm.restore(checkpoint)

        def reset_config(self, new_config: dict[str, Any]) -> bool:
            """Start again with other settings in the same process."""
            self.algorithm.stop()
            self.setup(new_config)
            return True

        def cleanup(self) -> None:
            """Stop the algorithm."""
            self.algorithm.stop()

    InRay.__name__ = InRay.__qualname__ = algorithm_class.__name__
    return InRay
