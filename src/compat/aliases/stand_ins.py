"""Classes that old sources name in annotations and bases, and that nothing here can run.

`from ray.rllib.env import BaseEnv` at the top of a file of callbacks, or a TensorFlow model beside
the one for torch, must not keep the rest of the file from working.
"""

from __future__ import annotations

from abc import ABCMeta
from functools import cache
from typing import Any, Final, NoReturn

from ...core.errors import PieceError

STAND_IN: Final = "stand-in"


class StandInError(PieceError, NotImplementedError):
    """Something of RLlib is used that rlconnect can only name. `name` says which class."""


class _Named(ABCMeta):
    """The class of stand-ins: any use of one raises an error that says what to do."""

    def __getattr__(cls, attribute: str) -> NoReturn:
        if attribute.startswith("_"):  # asked by Python's own machinery
            raise AttributeError(attribute)
        raise _error(cls, f"{cls.__name__}.{attribute}")

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise _error(cls, f"{cls.__name__}(...)")


@cache
def stand_in(name: str) -> type[Any]:
    """The class that stands for one of RLlib's: for annotations, `isinstance` and subclasses.

    Example:
        >>> isinstance(1, stand_in("BaseEnv"))
        False
    """
    return _Named(name, (), {"__doc__": f"RLlib's `{name}`, which rlconnect can name, not run."})


def _error(cls: type[Any], used: str) -> StandInError:
    name = next(base.__name__ for base in reversed(cls.__mro__) if isinstance(base, _Named))
    return StandInError(
        f"{used} needs RLlib's {name}, which rlconnect can name, not run",
        hint="move the code that needs it out of the way, or run it where Ray is installed.",
        name=name,
    )
