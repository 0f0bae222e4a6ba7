"""Hand actions and states out as numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core import nest
from ....core.rllib_utils.frameworks import convert_to_numpy
from ....core.step.part import NOTHING, Contribution
from ....core.types import Nest
from ..connector import FromContext
from ..types import PolicyOutputType
from .formula import FormulaActionConnector

_KEPT = (np.ndarray, np.generic, bool, int, float, complex, str, bytes)


class ConvertToNumpyConnector(FromContext, FormulaActionConnector):
    """Convert tensors in actions and states to numpy arrays; fetches are unchanged.

    Example:
        >>> from rlconnect.legacy import ActionConnectorDataType
        >>> record = ActionConnectorDataType("env", "agent", {}, ([1, 2], [], {}))
        >>> ConvertToNumpyConnector()(record).output[0]
        [1, 2]
    """

    is_for_tensors = True

    def transform_all(self, output: PolicyOutputType) -> PolicyOutputType:
        """Convert actions and states."""
        actions, states, fetches = output
        is_numpy = isinstance(actions, (np.ndarray, np.generic))
        if is_numpy and (not states or all([isinstance(state, np.ndarray) for state in states])):
            return output
        return actions if is_numpy else as_numpy(actions), as_numpy(states), fetches

    def part(self) -> Contribution:
        """Nothing: a plan gives arrays for arrays."""
        return NOTHING


def as_numpy(values: Nest) -> Nest:
    """The nest with its tensors as arrays of at most 32 bits; arrays and numbers stay."""
    return nest.map_structure(_leaf_as_numpy, values)


def _leaf_as_numpy(leaf: Any) -> Any:
    return leaf if leaf is None or isinstance(leaf, _KEPT) else convert_to_numpy(leaf)
