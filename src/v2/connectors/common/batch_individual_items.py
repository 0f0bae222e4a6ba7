"""Lists of items into arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from ....core import nest
from ....core.arrays.batching import BatchedNdArray
from ....core.arrays.batching import batch as batched
from ....core.columns import DEFAULT_MODULE_ID, Columns
from ....core.errors import PieceError, SpaceError
from ....core.step.part import moves_numbers
from ....core.types import Nest
from ..columnar import ColumnarPiece
from ..piece_plan import Call
from ..table import NotColumnar, Table

_NO_ROWS: Final = "the module is not of the kind that the piece is set for"


class BatchIndividualItems(ColumnarPiece):
    """Stack the items of each column; those that are batches already are laid end to end.

    Infos stay a list. In the order in which a single agent's rows lie, the ids of their episodes
    are kept in `shared_data["memorized_map_structure"]`.

    Args:
        multi_agent: Whether the batch is ordered by module id.

    Example:
        >>> batch = {"reward": {("e0",): [1.5], ("e1",): [2.5]}}
        >>> BatchIndividualItems()(rl_module=None, batch=batch, episodes=[])
        {'reward': array([1.5, 2.5])}
    """

    TAKES_ROWS = TURNS_FORM = True
    part = moves_numbers

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        multi_agent: bool = False,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.multi_agent = multi_agent

    @override
    def columns(self, batch: Any, call: Call) -> Any:
        if type(batch) is Table:
            return self._columns_of(batch, call)
        is_by_module, rl_module = call.is_multi, call.rl_module
        observed = batch.get(Columns.OBS)
        is_acting = isinstance(observed, dict) and not _is_train_batch(observed)
        for column, items in list(batch.items()):
            if isinstance(items, list):
                batch[column] = _rows(column, items)
            elif is_by_module and column in rl_module:
                for name, of_key in items.items():
                    if isinstance(of_key, list):
                        items[name] = _rows(f"{column}/{name}", of_key, name)
            elif isinstance(items, dict) and not self.multi_agent and _is_by_episode(items):
                if is_acting and observed is not None:
                    check_same_owners(self, column, items, observed)
                owners = [key for key, of_key in items.items() for _ in of_key]
                listed = [item for of_key in items.values() for item in of_key]
                if column == Columns.OBS:
                    call.shared_data["memorized_map_structure"] = _ids_of_rows(items)
                rows = _rows(column, listed, owners=owners)
                if is_by_module:
                    batch.pop(column)
                    batch.setdefault(DEFAULT_MODULE_ID, {})[column] = rows
                else:
                    batch[column] = rows
        return batch

    def _columns_of(self, table: Table, call: Call) -> dict[Any, Any]:
        blocks = table.blocks
        if table.is_by_module:
            if not call.is_multi or any(module_id not in call.rl_module for module_id in blocks):
                raise NotColumnar(_NO_ROWS)
            return {module_id: rows.columns for module_id, rows in blocks.items()}
        if self.multi_agent or None not in blocks or call.is_multi:
            raise NotColumnar(_NO_ROWS)
        rows = blocks[None]
        if Columns.OBS in rows.columns:
            call.shared_data["memorized_map_structure"] = rows.keys
        if table.given is None:
            return rows.columns
        table.given.update(rows.columns)
        return table.given


def check_same_owners(
    piece: object, column: str, items: Mapping[Any, Any], observed: Mapping[Any, Any]
) -> None:
    """Check that everybody who observed has items in a column, too, if others of his module do.

    Raises:
        PieceError: Somebody has none.
    """
    if not items.keys() < observed.keys():
        return
    modules = {key[2:] for key in items}
    missing = [key for key in observed if key not in items and key[2:] in modules]
    if not missing:
        return
    whose = ", ".join(map(str, missing[:3]))
    raise PieceError(
        f"{type(piece).__name__}: column {column!r} has no items of {whose}",
        expected="items of all that have observations and the same module",
        found=f"items of {len(items)} of {len(observed)}",
        hint=f"add an item to {column!r} for each of them, a neutral one where there is nothing.",
    )


def _is_by_episode(items: dict[Any, Any]) -> bool:
    return all(isinstance(key, tuple) for key in items)


def _is_train_batch(observed: Mapping[Any, Any]) -> bool:
    """Whether items come many at a time, as learner pipelines add them."""
    first = next(iter(observed.values()), None)
    return isinstance(first, list) and any(
        isinstance(leaf, BatchedNdArray) for item in first[:1] for leaf in nest.flatten(item)
    )


def _ids_of_rows(items: Mapping[Any, list[Any]]) -> list[Any]:
    """The episode id of each row; an item may be a batch of them."""
    ids: list[Any] = []
    for key, listed in items.items():
        for item in listed:
            leaf = next(iter(nest.flatten(item)), None)
            ids += [key[0]] * (len(leaf) if isinstance(leaf, BatchedNdArray) else 1)
    return ids


def _rows(
    where: str, items: list[Any], column: str | None = None, owners: Sequence[Any] = ()
) -> Nest:
    if (column or where) == Columns.INFOS or not items:
        return items
    try:
        return batched(items, individual_items_already_have_batch_dim="auto")
    except SpaceError as error:
        forms = [_form(item) for item in items]
        odd = next((place for place, form in enumerate(forms) if form != forms[0]), None)
        whose = f"; {owners[odd]} has the first odd one" if owners and odd is not None else ""
        raise PieceError(
            f"the items of column {where!r} make no batch: {error.message}{whose}",
            expected=error.expected,
            found=error.found,
            hint="all items of a column need one structure and one shape.",
        ) from error


def _form(item: Any) -> tuple[Any, ...]:
    """How an item is built: its keys and the shapes of its parts."""
    return tuple((path, np.shape(leaf)) for path, leaf in nest.flatten_with_path(item))
