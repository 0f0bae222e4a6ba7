"""Tell each of two agents in a grid of two rows where the other one is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from typing_extensions import override

from ...core.errors import SpaceError
from ...core.trust import trust
from ...v2.connectors.env_to_module.observation_preprocessor import (
    MultiAgentObservationPreprocessor,
)

_FIRST: Final = "agent_0"
_SECOND: Final = "agent_1"
_GONE: Final = 2
_ROWS: Final = 2


@trust
class AddOtherAgentsRowIndexToXYPos(MultiAgentObservationPreprocessor):
    """Adds the other agent's row to each agent's own place, (row, column).

    "agent_0" gets a dict of its place as one number and the other's row, "agent_1" a vector of
    its row, its column and the other's row. An agent that is done stands in row 2.

    Raises:
        SpaceError: The observations are not those of these two agents.
    """

    @override
    def recompute_output_observation_space(
        self, input_observation_space: Any, input_action_space: Any
    ) -> Any:
        agents = input_observation_space.spaces if isinstance(input_observation_space, Dict) else {}
        place = agents.get(_FIRST)
        if not isinstance(place, Box) or _SECOND not in agents:
            raise SpaceError(
                f"{type(self).__name__} cannot take these observations",
                expected=f"a Dict of {_FIRST!r} and {_SECOND!r}, Boxes of row and column",
                found=repr(input_observation_space),
            )
        last_column = place.high[1]
        self._columns = float(last_column) + 1
        cell = Discrete(int(_ROWS * self._columns))
        return Dict(
            {
                _FIRST: Dict({"agent": cell, "other_agent_row": Discrete(_ROWS + 1)}),
                _SECOND: Box(0, last_column, (3,), np.float32),
            }
        )

    @override
    def preprocess(self, observations: Mapping[str, Any], episode: Any) -> dict[str, Any]:
        rows = {name: observations.get(name, [_GONE])[0] for name in (_FIRST, _SECOND)}
        by_agent: dict[str, Any] = {}
        if _FIRST in observations:
            row, column = observations[_FIRST]
            by_agent[_FIRST] = {
                "agent": row * self._columns + column,
                "other_agent_row": rows[_SECOND],
            }
        if _SECOND in observations:
            row, column = observations[_SECOND]
            by_agent[_SECOND] = np.array([row, column, rows[_FIRST]], np.float32)
        return by_agent
