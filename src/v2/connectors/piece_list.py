"""The pieces of a pipeline as a list that is edited by names and classes."""

from __future__ import annotations

import abc
import warnings
from typing import Any

from ...core.data.damage import calling
from ...core.errors import PipelineError
from ...core.text.visible import visible_lines
from .connector import ConnectorV2


class UnsupportedIndexError(PipelineError, NotImplementedError):
    """A pipeline has no items of that kind."""


class PieceList(abc.ABC):
    """Pieces in an order, that are found, put in and taken out by name, class or themselves.

    Attributes:
        connectors: The pieces as a plain list; it may be edited directly, too.
    """

    connectors: list[ConnectorV2]

    @abc.abstractmethod
    def _connect(self) -> None:
        """Let the pieces know of each other; called after each edit."""

    # Editing

    def remove(self, name_or_class: str | type | ConnectorV2) -> None:
        """Remove the first piece of a name or class, or this very one; warns if there is none."""
        try:
            place = self._place_of(name_or_class)
        except PipelineError as error:
            warnings.warn(visible_lines(error.summary), UserWarning, stacklevel=2)
            return
        del self.connectors[place]
        self._connect()

    def insert_before(self, name_or_class: str | type | ConnectorV2, connector: Any) -> ConnectorV2:
        """Insert a piece before the first one of a name or class, or before this very one.

        Returns:
            The piece that now follows it.

        Raises:
            PipelineError: There is no such piece; nothing is inserted.
        """
        return self._insert(name_or_class, connector, 0)

    def insert_after(self, name_or_class: str | type | ConnectorV2, connector: Any) -> ConnectorV2:
        """Insert a piece after the first one of a name or class, or after this very one.

        Returns:
            The piece that is now before it.

        Raises:
            PipelineError: There is no such piece; nothing is inserted.
        """
        return self._insert(name_or_class, connector, 1)

    def prepend(self, connector: Any) -> None:
        """Put a piece at the front."""
        self.connectors.insert(0, piece_of(connector))
        self._connect()

    def append(self, connector: Any) -> None:
        """Put a piece at the end."""
        self.connectors.append(piece_of(connector))
        self._connect()

    def _insert(
        self, name_or_class: str | type | ConnectorV2, connector: Any, offset: int
    ) -> ConnectorV2:
        place = self._place_of(name_or_class)
        neighbour = self.connectors[place]
        self.connectors.insert(place + offset, piece_of(connector))
        self._connect()
        return neighbour

    def _place_of(self, asked_for: str | type | ConnectorV2) -> int:
        for place, piece in enumerate(self.connectors):
            if asked_for is piece or asked_for is type(piece) or asked_for == type(piece).__name__:
                return place
        kind = asked_for if isinstance(asked_for, type) else type(asked_for)
        name = asked_for if isinstance(asked_for, str) else kind.__name__
        raise PipelineError(
            f"{type(self).__name__} holds no piece {name!r}",
            expected=f"one of {[type(piece).__name__ for piece in self.connectors]}",
        )

    # Reading

    def __len__(self) -> int:
        return len(self.connectors)

    def __getitem__(self, key: Any) -> Any:
        """A piece by its place; a list of pieces by class or class name."""
        if isinstance(key, int):
            return self.connectors[key]
        if isinstance(key, str):
            return [piece for piece in self.connectors if type(piece).__name__ == key]
        if isinstance(key, type):
            return [piece for piece in self.connectors if isinstance(piece, key)]
        raise UnsupportedIndexError(
            f"a pipeline has no items by {type(key).__name__}",
            expected="an int, a class or a class name",
            hint="pipeline.connectors is a plain list; slicing it works.",
        )

    def __repr__(self) -> str:
        lines = [type(self).__name__, *(piece.__str__(4) for piece in self.connectors)]
        return "\n".join(lines)


def piece_of(value: Any) -> ConnectorV2:
    """A piece as it is, or built from its class and arguments.

    Raises:
        PipelineError: It is neither.
    """
    if isinstance(value, ConnectorV2):
        return value
    if isinstance(value, (tuple, list)) and len(value) == 3 and isinstance(value[0], type):
        cls, args, kwargs = value
        with calling(cls):
            piece = cls(*args, **kwargs)
        return piece_of(piece)
    raise PipelineError(
        f"{value!r} is no piece of a pipeline",
        expected="a ConnectorV2 or (class, args, kwargs)",
        hint=f"add {value.__name__}(), not the class." if isinstance(value, type) else "",
    )
