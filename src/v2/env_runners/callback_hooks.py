"""The user's callbacks: which hooks somebody listens to, and calling them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..config.callbacks import overridden_hooks

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig


def callback_objects(config: Any) -> list[Any]:
    """Make the objects of the classes that `config.callbacks(...)` names."""
    classes = config.callbacks_class
    return [
        callback_class()
        for callback_class in (classes if isinstance(classes, (list, tuple)) else [classes])
    ]


class CallbackHooks:
    """The hooks that a user has filled; the others cost nothing.

    Objects are called before the functions that a config holds as `callbacks_on_...`.
    """

    def __init__(self, objects: Iterable[Any], config: AlgorithmConfig) -> None:
        self._found = overridden_hooks(objects, config)

    def of(self, name: str) -> list[Callable[..., Any]]:
        """Give what is to be called for a hook, in order."""
        return self._found.get(name, [])

    def call(self, name: str, **kwargs: Any) -> None:
        """Call a hook, if anybody listens."""
        for listener in self.of(name):
            listener(**kwargs)
