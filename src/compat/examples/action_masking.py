"""A PPO module that leaves out actions that the observation forbids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gymnasium.spaces import Dict
from typing_extensions import override

from ...core.columns import Columns
from ...core.errors import SpaceError
from ...core.trust import trust
from ...legacy import FLOAT_MIN
from ...v2.modules.ppo import DefaultPPOTorchRLModule

_MASK: Final = "action_mask"
_INNER: Final = "observations"


@trust
class ActionMaskingTorchRLModule(DefaultPPOTorchRLModule):
    """Takes observations of an "action_mask" (1 where an action is allowed) and "observations".

    See `RLModule` for its arguments; `observation_space` is the Dict of both.

    Raises:
        SpaceError: The observation space is another one.
    """

    def __init__(self, *, observation_space: Any = None, **settings: Any) -> None:
        parts = observation_space.spaces if isinstance(observation_space, Dict) else {}
        if not {_MASK, _INNER} <= set(parts):
            raise SpaceError(
                f"{type(self).__name__} cannot take these observations",
                expected=f"a Dict of {_MASK!r} and {_INNER!r}",
                found=repr(observation_space),
            )
        super().__init__(observation_space=parts[_INNER], **settings)
        self.observation_space = observation_space

    @override
    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return _masked(super()._forward_inference(_inner(batch), **kwargs), batch)

    @override
    def _forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return _masked(super()._forward_exploration(_inner(batch), **kwargs), batch)

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return _masked(super()._forward_train(_inner(batch), **kwargs), batch)

    @override
    def compute_values(self, batch: Mapping[str, Any], embeddings: Any = None) -> Any:
        return super().compute_values(_inner(batch), embeddings)


def _inner(batch: Mapping[str, Any]) -> dict[str, Any]:
    """The batch that the network sees."""
    return {**batch, Columns.OBS: batch[Columns.OBS][_INNER]}


def _masked(outputs: dict[str, Any], batch: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    mask = batch[Columns.OBS][_MASK]
    logits = outputs[Columns.ACTION_DIST_INPUTS]
    outputs[Columns.ACTION_DIST_INPUTS] = logits + torch.clamp(torch.log(mask), min=FLOAT_MIN)
    return outputs
