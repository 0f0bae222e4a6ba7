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
IN_TUNE: Final = "tune"


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
def stand_in(name: str, home: str = STAND_IN) -> type[Any]:
    """Return a class that stands for one of Ray's, for annotations, `isinstance` and subclasses.

    Args:
        name: Its name.
        home: `IN_TUNE` for a class or function of Ray Tune, `STAND_IN` for one of RLlib.

    Example:
        >>> isinstance(1, stand_in("BaseEnv"))
        False
    """
    owner = "Ray Tune" if home == IN_TUNE else "RLlib"
    text = f"{owner}'s `{name}`, which rlconnect can name, not run."
    return _Named(name, (), {"__doc__": text, "_home": home})


def _error(cls: type[Any], used: str) -> StandInError:
    named = next(base for base in reversed(cls.__mro__) if isinstance(base, _Named))
    if vars(named)["_home"] == IN_TUNE:
        return StandInError(
            f"{used} needs Ray Tune, which is not installed",
            hint='pip install "ray[tune]", or search without Ray: docs/howto/optuna.md.',
            name=named.__name__,
        )
    return StandInError(
        f"{used} needs RLlib's {named.__name__}, which rlconnect can name, not run",
        hint="move the code that needs it out of the way, or run it where Ray is installed.",
        name=named.__name__,
    )
