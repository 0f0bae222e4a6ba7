"""The user's callbacks: which hooks somebody listens to, and calling them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..callbacks import RLlibCallback


def callback_objects(config: Any) -> list[Any]:
    """Make the objects of the classes that `config.callbacks(...)` names."""
    classes = config.callbacks_class
    return [made() for made in (classes if isinstance(classes, (list, tuple)) else [classes])]


class CallbackHooks:
    """The hooks that a user has filled; the others cost nothing.

    Objects are called before the functions that a config holds as `callbacks_on_...`.

    Args:
        objects: Of callback classes.
        config: Whose functions are called too.
    """

    def __init__(self, objects: Iterable[Any], config: Any) -> None:
        self._objects = list(objects)
        self._config = config
        self._found: dict[str, list[Callable[..., Any]]] = {}

    def of(self, name: str) -> list[Callable[..., Any]]:
        """Give what is to be called for a hook, in order.

        Args:
            name: As RLlib calls it: "on_episode_step".
        """
        found = self._found.get(name)
        if found is None:
            empty = getattr(RLlibCallback, name, None)
            found = [
                getattr(each, name)
                for each in self._objects
                if getattr(type(each), name, None) is not empty
            ]
            given = getattr(self._config, f"callbacks_{name}", None)
            found += given if isinstance(given, (list, tuple)) else [given] if given else []
            self._found[name] = found
        return found

    def call(self, name: str, **kwargs: Any) -> None:
        """Call a hook, if anybody listens."""
        for listener in self.of(name):
            listener(**kwargs)
