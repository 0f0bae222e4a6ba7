"""The default module of DQN: action values, perhaps dueling, perhaps as distributions."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor
from typing_extensions import override

from ...core import nest
from ...core.columns import Columns
from .apis import InferenceOnlyAPI, QNetAPI, TargetNetworkAPI
from .catalogs import DQNCatalog
from .model_config import as_settings
from .networks import ENCODER_OUT, initial_state_of, state_of
from .rl_module import RLModule
from .schedules import Scheduler
from .torch_model import make_target_network
from .torch_rl_module import TorchRLModule

ATOMS: Final = "atoms"
QF_PREDS: Final = "qf_preds"
QF_LOGITS: Final = "qf_logits"
QF_PROBS: Final = "qf_probs"
QF_NEXT_PREDS: Final = "qf_next_preds"
QF_TARGET_NEXT_PREDS: Final = "qf_target_next_preds"
QF_TARGET_NEXT_PROBS: Final = "qf_target_next_probs"

_DEFAULTS: Final = {
    "double_q": True,
    "dueling": True,
    "num_atoms": 1,
    "v_min": -10.0,
    "v_max": 10.0,
    "epsilon": [(0, 1.0), (10000, 0.05)],
}


class DefaultDQNRLModule(RLModule, InferenceOnlyAPI, TargetNetworkAPI, QNetAPI):
    """An encoder, a head `af` for action values and, when dueling, a head `vf` for the state's.

    Its settings are those of `DefaultModelConfig` and `double_q`, `dueling`, `num_atoms`, `v_min`,
    `v_max` and `epsilon`.
    """

    encoder: Any
    af: Any
    vf: Any
    _target_encoder: Any
    _target_af: Any
    _target_vf: Any

    @override
    def setup(self) -> None:
        settings = {**_DEFAULTS, **as_settings(self.model_config)}
        self.uses_double_q = bool(settings["double_q"])
        self.uses_dueling = bool(settings["dueling"])
        self.num_atoms = int(settings["num_atoms"] or 1)
        self.v_min = float(settings["v_min"])
        self.v_max = float(settings["v_max"])
        self.epsilon_schedule = Scheduler(settings["epsilon"], framework=self.framework)
        catalog = self._needed_catalog()
        self.encoder = catalog.build_encoder(framework=self.framework)
        self.af = catalog.build_af_head(framework=self.framework)
        if self.uses_dueling:
            self.vf = catalog.build_vf_head(framework=self.framework)

    @override
    def make_target_networks(self) -> None:
        self._target_encoder = make_target_network(self.encoder)
        self._target_af = make_target_network(self.af)
        if self.uses_dueling:
            self._target_vf = make_target_network(self.vf)

    @override
    def get_target_network_pairs(self) -> list[tuple[Any, Any]]:
        pairs = [(self.encoder, self._target_encoder), (self.af, self._target_af)]
        return [*pairs, (self.vf, self._target_vf)] if self.uses_dueling else pairs

    @override
    def get_non_inference_attributes(self) -> list[str]:
        copies = ["_target_encoder", "_target_af"]
        return [*copies, "_target_vf"] if self.uses_dueling else copies

    @override
    def get_initial_state(self) -> dict[str, Any]:
        return initial_state_of(self.encoder)

    @override
    def compute_q_values(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Estimate the values of all actions: `qf_preds` of shape `(B, n)`."""
        return self._qf_forward_helper(batch, self.encoder, self._heads(self.af, "vf"))

    @override
    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        heads = self._heads(self._target_af, "_target_vf")
        return self._qf_forward_helper(batch, self._target_encoder, heads)

    def _heads(self, af: Any, vf: str) -> Any:
        return {"af": af, "vf": getattr(self, vf)} if self.uses_dueling else af

    def _qf_forward_helper(self, batch: dict[str, Any], encoder: Any, head: Any) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} computes no action values.")


class DefaultDQNTorchRLModule(TorchRLModule, DefaultDQNRLModule):
    """The default module of DQN.

    Acting gives `actions` themselves: the best ones, or while exploring random ones at the rate
    that `epsilon` has at step `t`.
    """

    _default_catalog = DQNCatalog

    @override
    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        values = self.compute_q_values(batch)
        return {Columns.ACTIONS: values[QF_PREDS].argmax(dim=-1), **state_of(values)}

    @override
    def _forward_exploration(
        self, batch: dict[str, Any], t: int = 0, **kwargs: Any
    ) -> dict[str, Any]:
        values = self.compute_q_values(batch)
        best = values[QF_PREDS].argmax(dim=-1)
        epsilon = self.epsilon_schedule.update(t)
        is_random = torch.rand(best.shape, device=best.device) < epsilon
        # The least of exponential numbers is any of them: what multinomial() does after its checks.
        noise = torch.empty_like(values[QF_PREDS]).exponential_()
        if is_random.any():
            best = torch.where(is_random, _any_allowed(values[QF_PREDS], noise), best)
        return {Columns.ACTIONS: best, **state_of(values)}

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        now = _columns(batch, Columns.OBS, Columns.STATE_IN)
        after = _columns(batch, Columns.NEXT_OBS, Columns.NEXT_STATE_IN)
        # One pass over both, where both are needed.
        both = (
            nest.map_structure(lambda *x: torch.cat(x), now, after) if self.uses_double_q else now
        )
        values = self.compute_q_values(both)
        target = self.forward_target(after)
        out: dict[str, Any] = {}
        if self.uses_double_q:
            out[QF_PREDS], out[QF_NEXT_PREDS] = values[QF_PREDS].chunk(2)
        else:
            out[QF_PREDS] = values[QF_PREDS]
        out[QF_TARGET_NEXT_PREDS] = target[QF_PREDS]
        if self.num_atoms > 1:
            out.update({key: values[key] for key in (ATOMS, QF_LOGITS, QF_PROBS)})
            out[QF_TARGET_NEXT_PROBS] = target[QF_PROBS]
        if Columns.STATE_OUT in values:
            out[Columns.STATE_OUT] = values[Columns.STATE_OUT]
            out[Columns.NEXT_STATE_OUT] = target[Columns.STATE_OUT]
        return out

    @override
    def _qf_forward_helper(self, batch: dict[str, Any], encoder: Any, head: Any) -> dict[str, Any]:
        encoded = encoder(batch)
        features = encoded[ENCODER_OUT]
        af, vf = (head["af"], head["vf"]) if isinstance(head, dict) else (head, None)
        scores: Tensor = af(features)
        out: dict[str, Any] = {}
        if self.num_atoms > 1:
            atoms = torch.linspace(
                self.v_min, self.v_max, self.num_atoms, device=scores.device, dtype=scores.dtype
            )
            logits = scores.reshape(*scores.shape[:-1], -1, self.num_atoms)
            if vf is not None:
                # RLlib centres over the atoms here, not over the actions; it cancels in `probs`.
                logits = vf(features).unsqueeze(-1) + logits - logits.mean(dim=-1, keepdim=True)
            probs = logits.softmax(dim=-1)
            out = {ATOMS: atoms, QF_PREDS: (atoms * probs).sum(dim=-1)}
            out.update({QF_LOGITS: logits, QF_PROBS: probs})
        elif vf is not None:
            out[QF_PREDS] = vf(features) + scores - scores.mean(dim=-1, keepdim=True)
        else:
            out[QF_PREDS] = scores
        return {**out, **state_of(encoded)}


def _any_allowed(values: Tensor, noise: Tensor) -> Tensor:
    """Index of the least noise `(...)` among actions not forbidden by the least of values."""
    forbidden = torch.finfo(values.dtype).min / 2
    if not values.min() > forbidden:
        allowed = values > forbidden
        is_any = allowed.any(dim=-1, keepdim=True)  # A row may forbid everything.
        noise = noise.masked_fill(is_any & ~allowed, torch.inf)
    return noise.argmin(dim=-1)


def _columns(batch: dict[str, Any], obs: str, state: str) -> dict[str, Any]:
    columns = {Columns.OBS: batch[obs]}
    if state in batch:
        columns[Columns.STATE_IN] = batch[state]
    return columns
