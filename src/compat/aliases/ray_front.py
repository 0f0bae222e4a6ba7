"""What stands for `ray` itself and for `ray.tune`: nothing is started, nothing is sent anywhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final, NoReturn

from ...core.errors import ConfigError, UnknownNameError

# The release whose names these are; the tail says that it is not Ray.
__version__: Final = "2.60.0+rlconnect"
ENV_CREATOR: Final = "env_creator"


class NoClusterError(ConfigError, RuntimeError):
    """Something would run on Ray's processes, and there are none."""


_told: Final[set[str]] = set()
_logged: Final[set[str]] = set()


def init(*_: Any, **__: Any) -> None:
    """Start nothing, and say so once."""
    if "init" not in _told:
        _told.add("init")
        warnings.warn(
            "ray.init() starts nothing: rlconnect stands in for Ray and runs in this process.",
            UserWarning,
            stacklevel=2,
        )


def shutdown(*_: Any, **__: Any) -> None:
    """Stop nothing."""


def is_initialized() -> bool:
    """Whether Ray runs: it never does here."""
    return False


def log_once(key: str) -> bool:
    """True on the first call with this key."""
    if key in _logged:
        return False
    _logged.add(key)
    return True


def remote(*args: Any, **options: Any) -> Any:
    """Decorate as Ray does; what is decorated runs when called, and cannot be sent away."""
    if len(args) == 1 and not options and callable(args[0]):
        return _Remote(args[0])
    return _Remote


class _Remote:
    """A function or class that was decorated to run elsewhere."""

    def __init__(self, local: Callable[..., Any]) -> None:
        self.local = local

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self.remote()

    def options(self, **_: Any) -> _Remote:
        return self

    def remote(self, *_: Any, **__: Any) -> NoReturn:
        name = getattr(self.local, "__name__", repr(self.local))
        raise _no_cluster(f"{name}.remote()", f"call it as `{name}.local(...)`, in this process")


def get(*_: Any, **__: Any) -> NoReturn:
    """Refuse: nothing was sent, so nothing can be fetched."""
    raise _no_cluster("ray.get()", "keep the value in a variable")


def put(*_: Any, **__: Any) -> NoReturn:
    """Refuse: there is nowhere to put it."""
    raise _no_cluster("ray.put()", "keep the value in a variable")


def wait(*_: Any, **__: Any) -> NoReturn:
    """Refuse: nothing was sent, so nothing can be awaited."""
    raise _no_cluster("ray.wait()", "call what you wait for directly")


def _no_cluster(used: str, instead: str) -> NoClusterError:
    return NoClusterError(
        f"{used} needs Ray's processes, and rlconnect stands in for Ray without any",
        hint=f"{instead}, or run this where Ray is installed.",
    )


class _Registry:
    """The part of Ray's registry that environments are kept in."""

    def contains(self, category: str, name: str) -> bool:
        """Whether an environment of that name is registered."""
        from ...v2.envs.registry import is_registered

        return category == ENV_CREATOR and is_registered(name)

    def get(self, category: str, name: str) -> Any:
        """What makes the environments of a name."""
        from ...v2.envs.registry import env_creator_of

        if category != ENV_CREATOR:
            raise UnknownNameError(f"nothing is kept under {category!r} without Ray")
        return env_creator_of(name)


_global_registry: Final = _Registry()
