"""A module with an LSTM of its own, dense layers behind it, and a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn
from typing_extensions import override

from ...core.columns import Columns
from ...core.trust import trust
from ...v2.modules.apis import ValueFunctionAPI
from ...v2.modules.torch_rl_module import TorchRLModule


@trust
class LSTMContainingRLModule(TorchRLModule, ValueFunctionAPI):
    """Takes flat observations `(B, T, n)` and gives logits of discrete actions.

    See `RLModule` for its arguments; `model_config` may hold "lstm_cell_size" (256) and
    "dense_layers" ([128, 128]).
    """

    @override
    def setup(self) -> None:
        settings: Mapping[str, Any] = self.model_config
        self._lstm_cell_size = int(settings.get("lstm_cell_size", 256))
        width = self._lstm_cell_size
        self._lstm = nn.LSTM(self.observation_space.shape[0], width, batch_first=True)
        layers: list[nn.Module] = []
        for size in settings.get("dense_layers", [128, 128]):
            layers += [nn.Linear(width, size), nn.ReLU()]
            width = size
        self._fc_net = nn.Sequential(*layers)
        self._pi_head = nn.Linear(width, self.action_space.n)
        self._values = nn.Linear(width, 1)

    @override
    def get_initial_state(self) -> dict[str, Any]:
        return {name: np.zeros(self._lstm_cell_size, np.float32) for name in ("h", "c")}

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        features, state = self._features(batch)
        return {Columns.ACTION_DIST_INPUTS: self._pi_head(features), Columns.STATE_OUT: state}

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        features, state = self._features(batch)
        return {
            Columns.ACTION_DIST_INPUTS: self._pi_head(features),
            Columns.STATE_OUT: state,
            Columns.EMBEDDINGS: features,
        }

    @override
    def compute_values(self, batch: Mapping[str, Any], embeddings: Any = None) -> torch.Tensor:
        features = self._features(batch)[0] if embeddings is None else embeddings
        values: torch.Tensor = self._values(features).squeeze(-1)
        return values

    def _features(self, batch: Mapping[str, Any]) -> tuple[torch.Tensor, dict[str, Any]]:
        state = [batch[Columns.STATE_IN][name].unsqueeze(0) for name in ("h", "c")]
        out, (h, c) = self._lstm(batch[Columns.OBS], tuple(state))
        return self._fc_net(out), {"h": h.squeeze(0), "c": c.squeeze(0)}
