"""What becomes of an author's connectors, as registered by `register_twin`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ...core.errors import PieceError
from ...legacy.connectors.registry import BUILT_INS
from ...v2.connectors.connector import ConnectorV2
from .twin import Twin, native


class _Word(NamedTuple):
    piece: type[ConnectorV2]
    settings: Callable[[Any], Mapping[str, Any]] | None


_WORDS: Final[dict[str, _Word]] = {}


def register_twin(
    connector: str | type,
    piece: type[ConnectorV2],
    settings: Callable[[Any], Mapping[str, Any]] | None = None,
) -> None:
    """Let a piece of the new stack take over from an old connector of your own in migrations.

    The step is proven equal like any other, and taken back where it is not. Whoever loads what was
    migrated needs the class of the piece: `@rlconnect.trust`, or `trust=[...]`.

    Args:
        connector: The old connector's class, or the name of it.
        piece: The class that takes over; registered again, the last one counts.
        settings: From the old connector to the piece's settings; it has none if left out.

    Raises:
        PieceError: The connector is the library's, or the piece is no ConnectorV2.

    Example:
        >>> from rlconnect.v2 import SingleAgentObservationPreprocessor
        >>> class Halve(SingleAgentObservationPreprocessor):
        ...     def preprocess(self, observation, episode):
        ...         return observation / 2
        >>> register_twin("HalveAgentConnector", Halve)
    """
    name = connector if isinstance(connector, str) else connector.__name__
    if name in BUILT_INS:
        raise PieceError(
            "what takes over from a connector of the library's is known",
            expected="a connector of your own",
            found=name,
        )
    if not (isinstance(piece, type) and issubclass(piece, ConnectorV2)):
        raise PieceError(
            f"what takes over from {name}",
            expected="a class derived from ConnectorV2",
            found=repr(piece),
        )
    _WORDS[name] = _Word(piece, settings)


def twin_of_own(connector: Any, snippet: Callable[[str], str]) -> Twin:
    """What becomes of one of an author's connectors."""
    name = type(connector).__name__
    word = _WORDS.get(name)
    if word is None:
        return Twin(
            "code",
            f"{name} is its author's own: only they know what it means",
            "the old piece, wrapped",
            snippet=snippet(name),
        )
    settings = {} if word.settings is None else dict(word.settings(connector))
    words = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return native(
        f"{word.piece.__name__}({words})", lambda: [word.piece(**settings)], "its author's word"
    )
