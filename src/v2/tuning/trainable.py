"""Something that is trained step by step, by a class of a user's."""

from __future__ import annotations

import functools
import inspect
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from ...core.errors import ConfigError
from ...core.vault.save_manifest import read_as_one
from ...core.vault.saved_tree import replaced_tree
from ..algorithms.algorithm import Algorithm
from ..algorithms.iteration import Progress
from ..algorithms.saved_run import SavedRun
from ..saving.class_slots import algorithm_named
from .reporting import current


class Trainable:
    """A base for what a trial runs: a subclass says `step`, and what it saves.

    Args:
        config: The trial's settings.
        storage: Kept for Ray Tune's sake.

    Example:
        >>> class Halve(Trainable):
        ...     def setup(self, config):
        ...         self.value = config["begin"]
        ...
        ...     def step(self):
        ...         self.value /= 2
        ...         return {"value": self.value}
        >>> halve = Halve({"begin": 8})
        >>> halve.train()["value"], halve.train()["training_iteration"]
        (4.0, 2)
    """

    def __init__(self, config: dict[str, Any] | None = None, storage: Any = None) -> None:
        context = current()
        self.config = dict(config or {})
        self.trial_id = "default" if context is None else context.get_trial_id()
        self.trial_name = "default" if context is None else context.get_trial_name()
        self._logdir = None if context is None else context.get_trial_dir()
        self._progress = Progress()
        self._last_result: dict[str, Any] = {}
        self.setup(self.config)

    # What subclasses say

    def setup(self, config: dict[str, Any]) -> None:
        """Begin, with the trial's settings."""

    def step(self) -> dict[str, Any]:
        """Do one iteration; gives metrics, `done=True` to end.

        Raises:
            ConfigError: A subclass has not said what.
        """
        raise ConfigError(f"{type(self).__name__} has no step()", hint="define it.")

    def save_checkpoint(self, checkpoint_dir: str) -> dict[str, Any] | None:
        """Write into a folder what `load_checkpoint` needs.

        Raises:
            ConfigError: A subclass has not said what.
        """
        raise ConfigError(f"{type(self).__name__} has no save_checkpoint()", hint="define it.")

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Go on from a folder that `save_checkpoint` wrote.

        Raises:
            ConfigError: A subclass has not said how.
        """
        raise ConfigError(f"{type(self).__name__} has no load_checkpoint()", hint="define it.")

    def cleanup(self) -> None:
        """End."""

    def log_result(self, result: dict[str, Any]) -> None:
        """See each result."""

    # What a trial calls

    @property
    def iteration(self) -> int:
        """How many calls of `train()` there were."""
        return self._progress.iteration

    training_iteration = iteration

    @property
    def logdir(self) -> str:
        """The trial's folder, or a temporary one."""
        if self._logdir is None:
            self._logdir = tempfile.mkdtemp(prefix=f"{type(self).__name__}_")
        return self._logdir

    def get_config(self) -> dict[str, Any]:
        """Give the settings."""
        return self.config

    def train(self) -> dict[str, Any]:
        """Do one iteration; gives metrics and times."""
        self._progress.begin()
        metrics = self.step()
        if not isinstance(metrics, Mapping):
            raise ConfigError(
                f"{type(self).__name__}.step()", expected="a dict", found=repr(metrics)
            )
        result = {**self._progress.end(), "trial_id": self.trial_id, **metrics}
        self._last_result = result
        self.log_result(result)
        return result

    def save(self, checkpoint_dir: str | os.PathLike[str] | None = None) -> SavedRun:
        """Save it, all or nothing: `save_checkpoint` writes into a folder that takes its place.

        Args:
            checkpoint_dir: The folder; None makes one.
        """
        path = tempfile.mkdtemp() if checkpoint_dir is None else os.fspath(checkpoint_dir)
        with replaced_tree(Path(path)) as folder:
            self.save_checkpoint(str(folder))
        return SavedRun(path, self._last_result)

    def restore(self, checkpoint_path: str | os.PathLike[str]) -> None:
        """Go on from a folder that `save` wrote."""
        path = os.fspath(checkpoint_path)
        read_as_one(path, lambda kept: self.load_checkpoint(path if kept is None else str(kept)))

    def continue_from(self, result: Mapping[str, Any]) -> None:
        """Count on from a result that a former process gave."""
        self._progress.continue_from(result)

    def stop(self) -> None:
        """End, by `cleanup`."""
        self.cleanup()


_registered: Final[dict[str, Any]] = {}


def register_trainable(name: str, trainable: Any, **_: Any) -> None:
    """Give a name to an algorithm, a `Trainable` or a function of one's own."""
    _registered[name] = trainable


def get_trainable_cls(name: str) -> Any:
    """The algorithm of a name.

    Raises:
        UnknownNameError: rlconnect has none of that name, and nobody has registered one.
    """
    if name in _registered:
        return _registered[name]
    return algorithm_named(name)


def trainable_of(trainable: Any) -> tuple[str, Any]:
    """What to run, and its name, of whatever a user gave.

    Raises:
        ConfigError: It cannot be run.
    """
    runnable = get_trainable_cls(trainable) if isinstance(trainable, str) else trainable
    is_ours = is_class_trainable(runnable)
    if not is_ours and (isinstance(runnable, type) or not callable(runnable)):
        raise ConfigError(
            "nothing to run",
            expected="the name or class of an algorithm, a Trainable, or a function of settings",
            found=repr(trainable),
        )
    inner = runnable.func if isinstance(runnable, functools.partial) else runnable
    name = getattr(inner, "__name__", type(inner).__name__)
    return (trainable if isinstance(trainable, str) else name), runnable


def is_class_trainable(trainable: Any) -> bool:
    """Whether it is trained step by step, not a function that reports."""
    return isinstance(trainable, type) and issubclass(trainable, (Algorithm, Trainable))


def default_config(trainable: Any) -> Any:
    """The settings that an algorithm has by default; None for all other things."""
    is_algorithm = isinstance(trainable, type) and issubclass(trainable, Algorithm)
    return trainable.get_default_config() if is_algorithm else None


def can_save(trainable: Any) -> bool:
    """Whether it says how it is saved."""
    if issubclass(trainable, Algorithm):
        return True
    return bool(trainable.save_checkpoint is not Trainable.save_checkpoint)


def with_parameters(trainable: Any, **kwargs: Any) -> Any:
    """Hand objects to a function, or to the `setup` of a `Trainable`, beside its settings.

    Args:
        trainable: The function or class.
        **kwargs: The objects.
    """
    if not inspect.isclass(trainable):
        return functools.partial(trainable, **kwargs)

    base: Any = trainable

    def setup(self: Any, config: dict[str, Any]) -> None:
        base.setup(self, config, **kwargs)

    return type(base.__name__, (base,), {"setup": setup})


def with_resources(trainable: Callable[..., Any], resources: Any) -> Any:
    """Give a trainable back as it is: it has what this process has."""
    return trainable
