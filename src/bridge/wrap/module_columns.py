"""Forward batches of the new stack as the columns a legacy network takes, and back.

A module with a state gets a time axis after the batch axis; old networks take rows, `B * T` of
them, states with `B` rows, and say how long the sequences are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...core import nest
from ...core.columns import Columns
from ...core.errors import PieceError
from .step_records import state_name


@dataclass(frozen=True)
class Rows:
    """A forward batch in the old form.

    Args:
        columns: Of tensors, one row a step.
        states: One tensor `(B, ...)` for each state.
        seq_lens: Steps per sequence; None without a state.
        lead: The leading axes of the new form.
    """

    columns: dict[str, Any]
    states: list[Tensor]
    seq_lens: Tensor | None
    lead: tuple[int, ...]

    def restored(self, rows: Any) -> Any:
        """What the network gave, one row a step, in the new form."""
        return nest.map_structure(lambda leaf: leaf.reshape(*self.lead, *leaf.shape[1:]), rows)


def rows_of(
    batch: Mapping[str, Any], columns: Mapping[str, str], states: int, device: torch.device
) -> Rows:
    """The rows of a forward batch.

    `columns` has the batch's names of columns by the network's.
    """
    sources = {"obs": Columns.OBS, **columns}
    missing = [column for column in sources.values() if column not in batch]
    if states and Columns.STATE_IN not in batch:
        missing.append(Columns.STATE_IN)
    if missing:
        raise PieceError(
            f"the batch lacks columns that the policy looks at: {missing}",
            expected=str([*sources.values(), *([Columns.STATE_IN] if states else [])]),
            found=str(list(batch)),
            hint="LegacyAgentConnectorV2 of the policy's own connectors makes them.",
        )
    tensors = {name: _tensors(batch[column], device) for name, column in sources.items()}
    first = nest.a_leaf(tensors["obs"])
    if not states:
        return Rows(tensors, [], None, (len(first),))
    state_in = batch[Columns.STATE_IN]
    carried = [_tensors(state_in[state_name(place)], device) for place in range(states)]
    lead = tuple(first.shape[:2])
    flat = nest.map_structure(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), tensors)
    seq_lens = torch.full((lead[0],), lead[1], dtype=torch.int32, device=device)
    return Rows(flat, carried, seq_lens, lead)


def next_states(
    old_states: Iterable[Tensor], states: Iterable[Any], windows: Mapping[int, int], lead: Any
) -> dict[str, Tensor]:
    """The states to go on with, as a module gives them.

    The network gave next states, or a row a step of those that are windows: `windows` says of how
    many rows, by the place of the state. `lead` is sequences and steps.
    """
    states_after = {}
    for place, (before, after) in enumerate(zip(old_states, states, strict=True)):
        if place in windows:
            steps = after.reshape(*lead, *after.shape[1:])
            after = torch.cat([before, steps.to(before.dtype)], 1)[:, -windows[place] :]
        states_after[state_name(place)] = after
    return states_after


def _tensors(column: Any, device: torch.device) -> Any:
    return nest.map_structure(lambda leaf: torch.as_tensor(leaf, device=device), column)
