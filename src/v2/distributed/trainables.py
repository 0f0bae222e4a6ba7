"""What rlconnect trains as a `Trainable` of Ray Tune's: saved, restored, given other settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...core.errors import MissingExtraError
from ..envs.registry import env_creator_of, is_registered, register_env
from ..logging.loggers import NoLogger


def has_tune() -> bool:
    """Whether `import ray` finds Ray with Tune, and not what stands for it (`compat.aliases`)."""
    try:
        import ray
        from ray import tune  # noqa: F401
    except ImportError:
        return False
    return not str(ray.__version__).endswith("+rlconnect")


def real_tune() -> Any:
    """Ray Tune.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        from ray import tune
        from ray.tune import Trainable  # noqa: F401  # what stands in for Ray's names has it, too
    except ImportError as error:
        raise MissingExtraError(
            f"trials in processes of Ray's need Ray Tune: {error}",
            hint="pip install 'rlconnect[ray]'; rlconnect.v2.tuning.Tuner runs trials without it.",
        ) from error
    return tune


def _updated(config: Any, values: Mapping[str, Any]) -> Any:
    return config.copy(copy_frozen=False).update_from_dict(values)


def algorithm_trainable(
    algorithm_class: type[Any],
    config: Any,
    begin_from: Any = None,
    merge: Callable[[Any, Mapping[str, Any]], Any] = _updated,
) -> Any:
    """An algorithm with settings as a class that Ray Tune trains."""
    env = config.env
    creator = env_creator_of(env) if isinstance(env, str) and is_registered(env) else None

    def make(values: Mapping[str, Any], folder: str) -> Any:
        if creator is not None:  # A trial's process knows only what it is told.
            register_env(env, creator)
        algorithm = algorithm_class(
            config=merge(config, values),
            logger_creator=lambda _: NoLogger(None, folder),
        )
        algorithm.progress_line = None
        if begin_from is not None:
            algorithm.restore(begin_from)
        return algorithm

    def bundles(values: Mapping[str, Any]) -> list[dict[str, float]]:
        trial_config = merge(config, values)
        runner = {
            "CPU": trial_config.num_cpus_per_env_runner,
            "GPU": trial_config.num_gpus_per_env_runner,
            **trial_config.custom_resources_per_env_runner,
        }
        beside = trial_config.num_env_runners + trial_config.evaluation_num_env_runners
        gpus = 0 if trial_config.num_learners else trial_config.num_gpus_per_learner
        main = {"CPU": trial_config.num_cpus_for_main_process, "GPU": gpus}
        return [
            main,
            *[runner] * beside,
            *[trial_config.learner_resources] * trial_config.num_learners,
        ]

    return ray_trainable(algorithm_class.__name__, make, bundles)


def ray_trainable(
    name: str,
    make: Callable[[Mapping[str, Any], str], Any],
    bundles: Callable[[Mapping[str, Any]], list[dict[str, float]]] = lambda values: [{"CPU": 1}],
) -> Any:
    """A class of Ray Tune's around something with `train`, `save`, `restore` and `stop`.

    Args:
        name: Its name, by which trials are called.
        make: Makes the thing of a trial's settings and folder.
        bundles: What a trial asks Ray for: its own process first, then those beside it.
    """
    tune = real_tune()
    base: Any = tune.Trainable

    class InRay(base):  # type: ignore[misc]  # Ray has no types where it is not installed
        """Hands everything on to something of rlconnect's."""

        @classmethod
        def default_resource_request(cls, config: dict[str, Any]) -> Any:
            """What Ray sets aside for a trial."""
            bundles_asked = [
                {kind: float(count) for kind, count in each.items() if count}
                for each in bundles(config)
            ]
            return tune.PlacementGroupFactory(bundles_asked)

        def setup(self, config: dict[str, Any]) -> None:
            """Begin, with the trial's settings."""
            self.made = make(config, self.logdir)

        def step(self) -> dict[str, Any]:
            """Do one iteration; the settings, which Ray knows, are left out of the result."""
            result: dict[str, Any] = self.made.train()
            return {key: each for key, each in result.items() if key not in ("config", "trial_id")}

        def save_checkpoint(self, checkpoint_dir: str) -> None:
            """Write into a folder what `load_checkpoint` needs."""
            self.made.save(checkpoint_dir)

        def load_checkpoint(self, checkpoint: Any) -> None:
            """Go on from such a folder."""
            self.made.restore(checkpoint)

        def reset_config(self, new_config: dict[str, Any]) -> bool:
            """Begin again with other settings, in the same process."""
            self.made.stop()
            self.setup(new_config)
            return True

        def cleanup(self) -> None:
            """End."""
            self.made.stop()

    InRay.__name__ = InRay.__qualname__ = name
    return InRay
