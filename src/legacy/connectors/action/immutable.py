"""Hand actions out read-only."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from ....core.step.part import NOTHING, Contribution
from ...batches.step_rows import locked
from ..connector import FromContext
from ..types import PolicyOutputType
from .formula import FormulaActionConnector


class ImmutableActionsConnector(FromContext, FormulaActionConnector):
    """Make actions, states and fetches read-only, so that no environment can change them.

    The arrays handed out are read-only views; numbers cannot be changed anyway.

    Example:
        >>> from rlconnect.legacy import ActionConnectorDataType
        >>> record = ActionConnectorDataType("env", "agent", {}, (np.zeros(1), [], {}))
        >>> ImmutableActionsConnector()(record).output[0].flags.writeable
        False
    """

    def transform_all(self, output: PolicyOutputType) -> PolicyOutputType:
        """Lock the arrays; rows of locked arrays are locked too."""
        actions, states, fetches = output
        if type(actions) is np.ndarray:
            actions = actions.view()
            actions.setflags(False)
        elif not isinstance(actions, np.generic):
            actions = locked(actions)
        return actions, states and locked(states), fetches and locked(fetches)

    def part(self) -> Contribution:
        """Return an empty contribution: the arrays of a plan are already copies."""
        return NOTHING


def make_action_immutable(obj: Any) -> Any:
    """One leaf or dict that cannot be written to any more: arrays are locked in place.

    Args:
        obj: An array or numpy scalar (locked itself), a dict (becomes a read-only view of it), or
            anything else (stays).

    Example:
        >>> make_action_immutable(np.zeros(2)).flags.writeable
        False
    """
    if isinstance(obj, np.ndarray):
        obj.setflags(write=False)
        return obj
    return MappingProxyType(obj) if isinstance(obj, dict) else obj
