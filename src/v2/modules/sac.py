"""The default module of SAC: a policy and one or two estimates of action values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from gymnasium import spaces
from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ...core.errors import ConfigError
from .apis import InferenceOnlyAPI, QNetAPI, TargetNetworkAPI
from .catalogs import SACCatalog
from .model_config import as_settings
from .network_configs import MultiStreamEncoderConfig, RecurrentEncoderConfig
from .networks import ENCODER_OUT
from .rl_module import RLModule
from .row_part import drawn_for_all
from .torch_model import make_target_network
from .torch_rl_module import TorchRLModule

QF_PREDS: Final = "qf_preds"
QF_TWIN_PREDS: Final = "qf_twin_preds"
QF_TARGET_NEXT: Final = "q_target_next"
Q_CURR: Final = "q_curr"
LOGP_RESAMPLED: Final = "logp_resampled"
LOGP_NEXT_RESAMPLED: Final = "logp_next_resampled"
ACTION_DIST_INPUTS_NEXT: Final = "action_dist_inputs_next"
ACTION_PROBS: Final = "action_probs"
ACTION_LOG_PROBS: Final = "action_log_probs"
ACTION_PROBS_NEXT: Final = "action_probs_next"
ACTION_LOG_PROBS_NEXT: Final = "action_log_probs_next"


class DefaultSACRLModule(RLModule, InferenceOnlyAPI, TargetNetworkAPI, QNetAPI):
    """A policy (`pi_encoder`, `pi`), action values (`qf_encoder`, `qf`) and perhaps their twins.

    Its settings are those of `DefaultModelConfig` and `twin_q`.
    """

    pi_encoder: Any
    pi: Any

    @override
    def setup(self) -> None:
        """Build the networks; only the policy's where the module only acts."""
        self.twin_q = bool(as_settings(self.model_config).get("twin_q", True))
        catalog = self._needed_catalog()
        if isinstance(catalog.encoder_config, RecurrentEncoderConfig):
            raise ConfigError("SAC has no recurrent default network", hint="set use_lstm=False.")
        framework = self.framework
        self.pi_encoder = catalog.build_encoder(framework=framework)
        if not self.inference_only:
            for name in self._names():
                setattr(self, f"{name}_encoder", catalog.build_qf_encoder(framework=framework))
        self.pi = catalog.build_pi_head(framework=framework)
        if not self.inference_only:
            for name in self._names():
                setattr(self, name, catalog.build_qf_head(framework=framework))

    def _names(self) -> list[str]:
        """The networks for action values."""
        return ["qf", "qf_twin"] if self.twin_q else ["qf"]

    def _parts(self) -> list[str]:
        return [part for name in self._names() for part in (f"{name}_encoder", name)]

    @override
    def make_target_networks(self) -> None:
        for part in self._parts():
            setattr(self, f"target_{part}", make_target_network(getattr(self, part)))

    @override
    def get_target_network_pairs(self) -> list[tuple[Any, Any]]:
        return [(getattr(self, part), getattr(self, f"target_{part}")) for part in self._parts()]

    @override
    def get_non_inference_attributes(self) -> list[str]:
        return [*self._parts(), *(f"target_{part}" for part in self._parts())]


class DefaultSACTorchRLModule(TorchRLModule, DefaultSACRLModule):
    """The default module of SAC, for flat Box and for Discrete actions.

    Actions in a Box are meant as the policy gives them, between -1 and 1.
    """

    _default_catalog = SACCatalog

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self._policy(batch[Columns.OBS])}

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        if isinstance(self.action_space, spaces.Discrete):
            return self._forward_train_discrete(batch)
        return self._forward_train_continuous(batch)

    def _forward_train_discrete(self, batch: dict[str, Any]) -> dict[str, Any]:
        now, after = batch[Columns.OBS], batch[Columns.NEXT_OBS]
        log_probs_next = self._policy(after).log_softmax(dim=-1)
        out = {
            ACTION_PROBS_NEXT: log_probs_next.exp(),
            ACTION_LOG_PROBS_NEXT: log_probs_next,
            QF_TARGET_NEXT: self.forward_target({Columns.OBS: after}, squeeze=False),
        }
        for name, key in zip(self._names(), (QF_PREDS, QF_TWIN_PREDS), strict=False):
            out[key] = self._q(name, {Columns.OBS: now}, squeeze=False)
        log_probs = self._policy(now).log_softmax(dim=-1)
        return {**out, ACTION_PROBS: log_probs.exp(), ACTION_LOG_PROBS: log_probs}

    def _forward_train_continuous(self, batch: dict[str, Any]) -> dict[str, Any]:
        now, after = batch[Columns.OBS], batch[Columns.NEXT_OBS]
        out = {}
        for name, key in zip(self._names(), (QF_PREDS, QF_TWIN_PREDS), strict=False):
            out[key] = self._q(name, batch)
        kind: Any = self.get_train_action_dist_cls()
        inputs, inputs_next = self._policy(now), self._policy(after)
        # Gradients of the sampled actions and their densities are what trains the policy.
        actions, logp = drawn_for_all(
            batch, inputs, lambda rows: kind.from_logits(rows).rsample_and_logp()
        )
        actions_next, logp_next = drawn_for_all(
            batch, inputs_next, lambda rows: kind.from_logits(rows).sample_and_logp()
        )
        out[Columns.ACTION_DIST_INPUTS] = inputs
        out[ACTION_DIST_INPUTS_NEXT] = inputs_next
        out[LOGP_RESAMPLED] = logp
        out[LOGP_NEXT_RESAMPLED] = logp_next.detach()
        with self._held_values():
            out[Q_CURR] = self.compute_q_values({Columns.OBS: now, Columns.ACTIONS: actions})
        target = self.forward_target({Columns.OBS: after, Columns.ACTIONS: actions_next})
        out[QF_TARGET_NEXT] = target.detach()
        return out

    @override
    def forward_target(  # type: ignore[override]  # a plain tensor, as in RLlib
        self, batch: dict[str, Any], squeeze: bool = True
    ) -> Tensor:
        """Estimate action values by the copies: the smaller of twins; `squeeze` drops an axis."""
        return self._smallest([f"target_{name}" for name in self._names()], batch, squeeze)

    @override
    def compute_q_values(  # type: ignore[override]  # a plain tensor, as in RLlib
        self, batch: dict[str, Any], squeeze: bool = True
    ) -> Tensor:
        """Estimate action values: the smaller of twins; `squeeze` drops an axis."""
        return self._smallest(self._names(), batch, squeeze)

    def _smallest(self, names: list[str], batch: dict[str, Any], squeeze: bool) -> Tensor:
        values = [self._q(name, batch, squeeze=squeeze) for name in names]
        return values[0] if len(values) == 1 else torch.minimum(*values)

    def _q(self, name: str, batch: dict[str, Any], squeeze: bool = True) -> Tensor:
        encoder, head = getattr(self, f"{name}_encoder"), getattr(self, name)
        return self._qf_forward_train_helper(batch, encoder, head, squeeze=squeeze)

    def _qf_forward_train_helper(
        self, batch: dict[str, Any], encoder: Any, head: Any, squeeze: bool = True
    ) -> Tensor:
        """Action values by one encoder and head."""
        columns = {Columns.OBS: batch[Columns.OBS]}
        if not isinstance(self.action_space, spaces.Discrete):
            if isinstance(encoder.config, MultiStreamEncoderConfig):
                columns[Columns.ACTIONS] = batch[Columns.ACTIONS]
            else:  # older releases put observation and action side by side
                both = (batch[Columns.OBS], batch[Columns.ACTIONS])
                columns[Columns.OBS] = torch.cat(both, dim=-1)
        values: Tensor = head(encoder(columns)[ENCODER_OUT])
        return values.squeeze(-1) if squeeze else values

    def _policy(self, observations: Any) -> Tensor:
        encoded = self.pi_encoder({Columns.OBS: observations})
        inputs: Tensor = self.pi(encoded[ENCODER_OUT])
        return inputs

    @contextmanager
    def _held_values(self) -> Iterator[None]:
        """Let gradients pass through the action values without reaching their weights."""
        parameters = [
            parameter
            for part in self._parts()
            for parameter in getattr(self, part).parameters()
            if parameter.requires_grad
        ]
        for parameter in parameters:
            parameter.requires_grad_(False)
        try:
            yield
        finally:
            for parameter in parameters:
                parameter.requires_grad_(True)
