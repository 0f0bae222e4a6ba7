"""Hand actions and states out as numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import nest, xp
from ...core.types import Nest
from ..connector import ActionConnector
from ..context import ConnectorContext
from ..types import ActionConnectorDataType, PolicyOutputType

_KEPT = (np.ndarray, np.generic, bool, int, float, complex, str, bytes)


class ConvertToNumpyConnector(ActionConnector):
    """Turn tensors among the actions and states into numpy arrays; fetches stay as they are.

    Example:
        >>> record = ActionConnectorDataType("env", "agent", {}, ([1, 2], [], {}))
        >>> ConvertToNumpyConnector()(record).output[0]
        [1, 2]
    """

    def transform(self, ac_data: ActionConnectorDataType) -> ActionConnectorDataType:
        """Convert actions and states."""
        actions, states, fetches = ac_data.output
        is_numpy = isinstance(actions, (np.ndarray, np.generic))
        if is_numpy and (not states or all([isinstance(state, np.ndarray) for state in states])):
            return ac_data
        if not is_numpy:
            actions = as_numpy(actions)
        states = as_numpy(states)
        return ActionConnectorDataType(
            ac_data.env_id, ac_data.agent_id, ac_data.input_dict, (actions, states, fetches)
        )

    def transform_all(self, output: PolicyOutputType) -> PolicyOutputType:
        """Convert the actions and states of a batch."""
        actions, states, fetches = output
        return as_numpy(actions), as_numpy(states), fetches

    def to_state(self) -> tuple[str, Any]:
        """Its name; there is nothing else to save."""
        return "ConvertToNumpyConnector", None

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> ConvertToNumpyConnector:
        """A connector in the context `ctx`."""
        return ConvertToNumpyConnector(ctx)


def as_numpy(values: Nest) -> Nest:
    """The nest with its tensors as arrays; arrays and numbers stay what they are."""
    return nest.map_structure(_leaf_as_numpy, values)


def _leaf_as_numpy(leaf: Any) -> Any:
    return leaf if leaf is None or isinstance(leaf, _KEPT) else xp.to_numpy(leaf)
