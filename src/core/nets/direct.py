"""Networks of actors in numpy that see nothing but observations, with the choice behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..types import Array, Nest
from .numpy_layers import ColumnStack, Stack, numpy_serves


@dataclass(frozen=True)
class Direct:
    """A network and choice over float32 observations `(B, n)` alone.

    `inputs` gives those of the distribution, `actions` those taken without exploration.
    """

    inputs: Callable[[Array], Array]
    actions: Callable[[Array], Nest]
    is_by_columns: bool

    @classmethod
    def of(
        cls,
        network: ColumnStack | Stack,
        choose: Callable[[Array], Nest],
        of_columns: Callable[[Array], Array] | None = None,
        finish: Callable[[Array], Array] | None = None,
    ) -> Direct:
        """Dense layers and the choice behind them.

        `of_columns` chooses by inputs `(n, B)`, which it may change; `finish` makes inputs of what
        the layers give, where that is something else.
        """
        inputs = network if finish is None else lambda obs: finish(network(obs))
        if not isinstance(network, ColumnStack) or of_columns is None:
            is_by_columns = isinstance(network, ColumnStack)
            return cls(inputs, lambda obs: choose(inputs(obs)), is_by_columns)
        columns = network.columns if finish is None else lambda obs: inputs(obs).T
        return cls(inputs, lambda obs: of_columns(columns(obs)), True)


def quicker(direct: Direct | None, rows: int) -> Direct | None:
    """`direct` if numpy was measured to be quicker than torch for this many rows; else None.

    It is up to 1,024 rows, where torch's dispatch costs more than the arithmetic. On one core it is
    for any number of rows, for networks that it computes by columns; torch shares a large batch
    better among several cores.
    """
    if direct is None or numpy_serves(rows):
        return direct
    import torch

    return direct if direct.is_by_columns and torch.get_num_threads() == 1 else None
