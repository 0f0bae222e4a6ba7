"""Built-in pieces: one method each, on a batch in its documented form or as rows in a table.

A user's piece has a `__call__`, and sees lists by `(episode id,)` or by ids of episode, agent and
module. A built-in one has `columns`, from which its `__call__` follows. Consecutive ones run
together: then what lies between them is a `Table`, rows of arrays in place of lists of items.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

from gymnasium.spaces import Space
from typing_extensions import override

from ...core.types import Nest
from .batch_items import foreach_batch_item_change_in_place
from .connector import ConnectorV2
from .piece_plan import Call
from .stateful_modules import is_multi
from .table import NotColumnar, Table

Work: TypeAlias = Callable[[Any, Call], Any]
"""A piece's work: from a batch or a table to the next one."""


class ColumnarPiece(ConnectorV2):
    """A piece that is defined by `columns`, and can be combined with others.

    Attributes:
        TAKES_ROWS: Whether it supports tables; otherwise it receives the batch.
        MAKES_ROWS: Whether it returns tables when combined with others.
        TURNS_FORM: Whether it converts items to arrays or arrays to items. Pieces are combined if
            one of them does, because no items are needed between them.
    """

    TAKES_ROWS: ClassVar[bool] = False
    MAKES_ROWS: ClassVar[bool] = False
    TURNS_FORM: ClassVar[bool] = False

    @abc.abstractmethod
    def columns(self, batch: Any, call: Call) -> Any:
        """Transform a batch.

        Args:
            batch: In its documented form; or a `Table`, where pieces before it have made one.
            call: All else that the call is about.

        Returns:
            The new batch, in either form.

        Raises:
            NotColumnar: It cannot take these rows. Up to here nothing may have changed
                that all pieces, called with the batch once more, would do differently.
        """

    def planned(self, following: Sequence[type]) -> Work:
        """How it works in front of the classes of pieces that run together with it."""
        return self.columns

    @staticmethod
    def change_column(batch: Any, name: str, formula: Callable[[Nest], Nest]) -> None:
        """Change a column in place: all rows of a table at once, or item by item.

        Args:
            batch: In either form.
            name: Of the column; there is nothing to do if it is missing.
            formula: From a nest of arrays to another; may not care whether these are rows.
        """
        if type(batch) is Table:
            for rows in batch.blocks.values():
                if name in rows.columns:
                    rows.columns[name] = formula(rows.columns[name])
        elif name in batch:
            foreach_batch_item_change_in_place(batch, name, lambda item, *ids: formula(item))

    @override
    def __call__(
        self,
        *,
        rl_module: Any = None,
        batch: dict[str, Any],
        episodes: Sequence[Any] = (),
        explore: bool | None = None,
        shared_data: dict[str, Any] | None = None,
        metrics: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        if shared_data is None:
            shared_data = {}
        call = Call(rl_module, episodes, explore, shared_data)
        call.is_multi = is_multi(rl_module)
        transformed: dict[str, Any] = self.columns(batch, call)
        return transformed


class ColumnarRun:
    """Consecutive built-in pieces as one step.

    Args:
        pieces: In order.

    Attributes:
        refusal: Why they ran one by one when they last did; empty if they never did.
    """

    refusal = ""

    def __init__(self, pieces: Sequence[ColumnarPiece]) -> None:
        self.pieces: tuple[Any, ...] = tuple(pieces)
        kinds = [*map(type, pieces)]
        self._works: list[Work] = []
        may_be_rows = False
        for place, piece in enumerate(pieces):
            work = piece.planned(kinds[place + 1 :])
            takes = not may_be_rows or piece.TAKES_ROWS
            self._works.append(work if takes else partial(_of_items, work))
            may_be_rows = may_be_rows or piece.MAKES_ROWS
        self._last_kind: type = type(None)
        self._is_multi = False

    def __call__(self, batch: dict[str, Any], call: Call) -> dict[str, Any]:
        """Transform a batch as the pieces do one after the other."""
        kind = type(call.rl_module)
        if kind is not self._last_kind:  # A module of torch is slow to tell what it lacks.
            self._is_multi, self._last_kind = is_multi(call.rl_module), kind
        call.is_multi = self._is_multi
        transformed: Any = batch
        try:
            for work in self._works:
                transformed = work(transformed, call)
        except NotColumnar as refusal:
            # Nothing has changed that the pieces would do differently.
            transformed, self.refusal = batch, str(refusal)
            for piece in self.pieces:
                transformed = piece.columns(transformed, call)
        closed: dict[str, Any] = transformed.closed() if type(transformed) is Table else transformed
        return closed

    def rows(self, batch: dict[Any, Any], call: Call) -> Table | None:
        """Return the output of all pieces but the last, if it is available as rows."""
        transformed: Any = batch
        try:
            for work in self._works[:-1]:
                transformed = work(transformed, call)
        except NotColumnar:
            return None
        return transformed if type(transformed) is Table else None


def _of_items(work: Work, batch: Any, call: Call) -> Any:
    """The computation of a piece that does not support tables."""
    if type(batch) is Table:
        raise NotColumnar("a piece among them takes items only")
    return work(batch, call)


def is_columnar(piece: Any) -> bool:
    """Whether a piece's own class is defined by columns: a subclass may do something else."""
    return isinstance(piece, ColumnarPiece) and "columns" in vars(type(piece))


def joined_run(pieces: Sequence[Any]) -> ColumnarRun | None:
    """A run of pieces, one of which turns the form of the batch; others run one by one."""
    return ColumnarRun(pieces) if any(piece.TURNS_FORM for piece in pieces) else None


class FromEpisodes(ColumnarPiece):
    """A piece that reads what is to be acted on from running episodes, or all steps for learners.

    Args:
        as_learner_connector: Whether the batch is a train batch.
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        as_learner_connector: bool = False,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.as_learner_connector = as_learner_connector
