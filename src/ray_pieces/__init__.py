"""Classes for Ray: pieces and modules that Ray lacks, computed by rlconnect's own.

A checkpoint that `migrate(..., to="ray")` wrote names them where Ray has nothing of its own. On a
machine with Ray and rlconnect they are found when `Algorithm.from_checkpoint` or
`RLModule.from_checkpoint` of Ray opens it; nothing has to be called. Each is a thin face: it
takes what Ray hands it to the piece or module of the same name in `rlconnect.v2` or
`rlconnect.bridge`.
"""

from __future__ import annotations

from typing import Any, Final

from ..bridge.migrate.faces import MODULE_HOMES, PIECE_HOMES
from ..core.errors import MissingExtraError

_NAMES: Final = sorted((*PIECE_HOMES, *MODULE_HOMES))


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from .faces import face_of
    except ImportError as error:
        raise MissingExtraError(
            f"{__name__}.{name} is a class for Ray's new stack, and Ray is not installed here: "
            f"{error}",
            hint="pip install 'rlconnect[ray]'",
        ) from error
    return face_of(name)


def __dir__() -> list[str]:
    return _NAMES
