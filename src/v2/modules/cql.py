"""The default module of CQL: that of SAC, which also asks what drawn actions seem worth."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ...core.errors import SpaceError
from .model_config import as_settings
from .row_part import drawn_for_all
from .sac import ACTION_DIST_INPUTS_NEXT, DefaultSACTorchRLModule

NUM_ACTIONS: Final = 10


class DefaultCQLTorchRLModule(DefaultSACTorchRLModule):
    """The default module of CQL, for actions in a flat Box.

    Its settings are those of SAC's and `num_actions`: how many are drawn a step, of each kind.
    """

    @override
    def setup(self) -> None:
        if not isinstance(self.action_space, spaces.Box):
            raise SpaceError("CQL", expected="actions in a Box", found=repr(self.action_space))
        super().setup()
        self.num_actions = int(as_settings(self.model_config).get("num_actions", NUM_ACTIONS))

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        out = super()._forward_train(batch, **kwargs)
        kind: Any = self.get_train_action_dist_cls()
        repeat, rows = self.num_actions, len(batch[Columns.ACTIONS])
        actions, observations = [self._drawn_evenly(batch)], []
        with torch.no_grad():
            for when, inputs in (
                ("curr", out[Columns.ACTION_DIST_INPUTS]),
                ("next", out[ACTION_DIST_INPUTS_NEXT]),
            ):
                drawn, logp = drawn_for_all(
                    batch,
                    inputs.repeat_interleave(repeat, 0),
                    lambda rows: kind.from_logits(rows).rsample_and_logp(),
                    repeat,
                )
                actions.append(drawn)
                out[f"logps_{when}_repeat"] = logp.view(rows, repeat, 1)
        for obs in (batch[Columns.OBS], batch[Columns.OBS], batch[Columns.NEXT_OBS]):
            observations.append(obs.repeat_interleave(repeat, 0))
        # One pass for all three kinds.
        both = {Columns.OBS: torch.cat(observations), Columns.ACTIONS: torch.cat(actions)}
        for name, prefix in zip(self._names(), ("q", "q_twin"), strict=False):
            values = self._q(name, both).view(3, rows, repeat, 1)
            for kind_name, each in zip(_KINDS, values, strict=True):
                out[f"{prefix}_{kind_name}_repeat"] = each
        for kind_name, each in zip(_KINDS, actions, strict=True):
            out[f"actions_{kind_name}_repeat"] = each
        return out

    def _drawn_evenly(self, batch: dict[str, Any]) -> Tensor:
        """Actions from anywhere in the space; from -1 to 1 where that has no end."""
        recorded = batch[Columns.ACTIONS]
        space: Any = self.action_space
        is_finite = np.isfinite(space.low) & np.isfinite(space.high)
        low, high = np.where(is_finite, space.low, -1.0), np.where(is_finite, space.high, 1.0)
        lowest, highest = (
            torch.as_tensor(each, dtype=torch.float32).to(recorded.device) for each in (low, high)
        )
        shape = (len(recorded) * self.num_actions, recorded.shape[-1])
        (share,) = drawn_for_all(
            batch,
            recorded.new_empty(shape, dtype=torch.float32),
            lambda rows: (torch.rand(rows.shape, device=rows.device),),
            self.num_actions,
        )
        return lowest + (highest - lowest) * share


_KINDS: Final = ("rand", "curr", "next")
