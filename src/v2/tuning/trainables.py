"""What a trial can run: algorithms and others by name, and how they get what they need."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

from ...core.errors import ConfigError
from ..algorithms.algorithm import Algorithm
from ..saving.class_slots import algorithm_named
from .trainable import Trainable

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
