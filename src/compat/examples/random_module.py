"""A module that acts at random, for opponents and comparisons."""

from __future__ import annotations

from typing import Any, NoReturn

from typing_extensions import override

from ...core import nest
from ...core.arrays.batching import stack_rows
from ...core.columns import Columns
from ...core.errors import PieceError
from ...core.trust import trust
from ...v2.modules.rl_module import RLModule


@trust
class RandomRLModule(RLModule):
    """Draws actions from the action space, whatever it observes; it does not learn.

    Example:
        >>> import numpy as np
        >>> from gymnasium.spaces import Box, Discrete
        >>> module = RandomRLModule(observation_space=Box(-1, 1, (3,)), action_space=Discrete(2))
        >>> module.forward_inference({"obs": np.zeros((4, 3))})["actions"].shape
        (4,)
    """

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        count = len(nest.flatten(batch[Columns.OBS])[0])
        drawn = [self.action_space.sample() for _ in range(count)]
        return {Columns.ACTIONS: nest.map_structure(lambda *rows: stack_rows(rows), *drawn)}

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> NoReturn:
        raise PieceError(
            "RandomRLModule does not learn",
            hint="leave it out of config.multi_agent(policies_to_train=[...]).",
        )

    def compile(self, *_: Any, **__: Any) -> None:
        """Do nothing: there is no network."""
