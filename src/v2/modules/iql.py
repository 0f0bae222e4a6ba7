"""The default module of IQL: that of SAC with a network for values of states."""

from __future__ import annotations

from typing import Any, Final

import torch
from gymnasium import spaces
from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ...core.errors import SpaceError
from .apis import ValueFunctionAPI
from .networks import ENCODER_OUT
from .sac import DefaultSACRLModule, DefaultSACTorchRLModule

QF_TARGET_PREDS: Final = "qf_target_preds"
VF_PREDS_NEXT: Final = "vf_preds_next"


class DefaultIQLRLModule(DefaultSACRLModule, ValueFunctionAPI):
    """SAC's networks, and `vf_encoder` and `vf` where it learns."""

    vf_encoder: Any
    vf: Any

    @override
    def setup(self) -> None:
        if not isinstance(self.action_space, spaces.Box):
            raise SpaceError("IQL", expected="actions in a Box", found=repr(self.action_space))
        super().setup()
        if not self.inference_only:
            catalog = self._needed_catalog()
            self.vf_encoder = catalog.build_encoder(framework=self.framework)
            self.vf = catalog.build_qf_head(framework=self.framework)

    @override
    def get_non_inference_attributes(self) -> list[str]:
        return [*super().get_non_inference_attributes(), "vf_encoder", "vf"]


class DefaultIQLTorchRLModule(DefaultSACTorchRLModule, DefaultIQLRLModule):
    """The default module of IQL, for actions in a flat Box."""

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        out = super()._forward_train(batch, **kwargs)
        now = {name: batch[name] for name in (Columns.OBS, Columns.ACTIONS)}
        with torch.no_grad():
            out[QF_TARGET_PREDS] = self.forward_target(now)
        out[Columns.VF_PREDS] = self.compute_values(now)
        out[VF_PREDS_NEXT] = self.compute_values({Columns.OBS: batch[Columns.NEXT_OBS]})
        return out

    @override
    def compute_values(self, batch: dict[str, Any], embeddings: Any | None = None) -> Tensor:
        """Estimate values `(B,)`; `embeddings` are what `vf_encoder` gave, if it has run."""
        if embeddings is None:
            embeddings = self.vf_encoder({Columns.OBS: batch[Columns.OBS]})[ENCODER_OUT]
        values: Tensor = self.vf(embeddings).squeeze(-1)
        return values
