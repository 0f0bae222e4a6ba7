"""The best actions of a squashed distribution, squashed as those it draws are."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ....core import array_namespace as xp
from ....core import nest
from ....core.columns import Columns
from ....core.step.part import Contribution, Part
from ....core.types import Nest
from ..columnar import ColumnarPiece
from ..piece_plan import Call


class SquashGreedyActions(ColumnarPiece):
    """Bend actions into [-1, 1] by a hyperbolic tangent, where nothing was explored.

    `TorchSquashedGaussian` gives actions between -1 and 1 when it draws them, but its best action
    is the mean before squashing, in RLlib as here. The old stack's SAC squashed both.

    Example:
        >>> batch = {"actions": {("e0",): [np.array([100.0], np.float32)]}}
        >>> SquashGreedyActions()(rl_module=None, batch=batch, episodes=[], explore=False)
        {'actions': {('e0',): [array([1.], dtype=float32)]}}
    """

    TAKES_ROWS = True

    @override
    def columns(self, batch: Any, call: Call) -> Any:
        if not call.explore:
            self.change_column(batch, Columns.ACTIONS, _squashed)
        return batch

    def part(self) -> Contribution:
        """What it does to actions, as data."""
        return Contribution(action=(Part(type(self).__name__, _squashed),))


def _squashed(actions: Nest) -> Nest:
    if type(actions) is np.ndarray:  # the usual case of what follows
        return np.tanh(actions)
    return nest.map_structure(lambda leaf: xp.namespace(leaf).tanh(leaf), actions)
