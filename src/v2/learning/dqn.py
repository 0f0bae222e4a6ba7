"""Learners of action values: what they share, and DQN's loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ...core.data.checked import count
from ..metrics import names
from ..modules.apis import QNetAPI, TargetNetworkAPI
from ..modules.dqn import (
    ATOMS,
    QF_LOGITS,
    QF_NEXT_PREDS,
    QF_PREDS,
    QF_PROBS,
    QF_TARGET_NEXT_PREDS,
    QF_TARGET_NEXT_PROBS,
)
from ..modules.multi_spec import MultiRLModuleSpec
from ..modules.torch_model import TargetCopies
from .learner import Learner
from .losses import RowMean
from .optimizers import adam
from .q_losses import (
    distributional_loss,
    expected_loss,
    highest,
    of_actions,
    worth_of_the_next,
)
from .torch_learner import TorchLearner
from .train_batch import needed


class TargetNetworkLearner(Learner):
    """Makes the copies and lets them follow, every `target_network_update_freq` sampled steps.

    Attributes:
        last_update_ts_by_mid: Module id to how many steps were sampled when its copies last moved.
    """

    last_update_ts_by_mid: dict[str, int]

    @override
    def build(self) -> None:
        super().build()
        self._copies: dict[str, TargetCopies] = {}
        self.last_update_ts_by_mid = self.keep_by_module(
            "last_target_update_ts", lambda module_id: 0, int, lambda _, saved: count(saved)
        )
        for module in self.module.values():
            _make_copies(module)

    @override
    def add_module(self, *, module_id: str, **kwargs: Any) -> MultiRLModuleSpec:
        spec = super().add_module(module_id=module_id, **kwargs)
        _make_copies(self.module[module_id])
        return spec

    @override
    def after_gradient_based_update(self, *, timesteps: Mapping[Any, Any]) -> None:
        """Move the copies whose time has come by `tau` towards what they follow."""
        super().after_gradient_based_update(timesteps=timesteps)
        step = timesteps.get(names.NUM_ENV_STEPS_SAMPLED_LIFETIME, 0)
        for module_id, each in self.module.items():
            module, config = each.unwrapped(), self._config_of(module_id)
            if not isinstance(module, TargetNetworkAPI):
                continue
            if step - self.last_update_ts_by_mid.get(module_id, 0) < (
                config.target_network_update_freq
            ):
                continue
            copies = self._copies.get(module_id)
            if copies is None:  # Layers may be exchanged, if not while nobody looks at results.
                copies = TargetCopies(module.get_target_network_pairs())
                self._copies[module_id] = copies
                self.metrics.later("copies", self._copies.clear)
            copies.move(config.tau)
            self.last_update_ts_by_mid[module_id] = step
            log = self.metrics.log_value
            log((module_id, names.NUM_TARGET_UPDATES), int(self.is_first), reduce="lifetime_sum")
            log((module_id, names.LAST_TARGET_UPDATE_TS), step, reduce="max")


def _make_copies(module: Any) -> None:
    inner = module.unwrapped()
    if isinstance(inner, TargetNetworkAPI):
        inner.make_target_networks()


QF_LOSS_KEY: Final = "qf_loss"
QF_MEAN_KEY: Final = "qf_mean"
QF_MAX_KEY: Final = "qf_max"
QF_MIN_KEY: Final = "qf_min"
TD_ERROR_MEAN_KEY: Final = "td_error_mean"


class DQNLearner(TargetNetworkLearner):
    """What learners of action values keep: copies of networks, which follow."""

    @classmethod
    def rl_module_required_apis(cls) -> list[type]:
        """What a module has to promise."""
        return [QNetAPI, TargetNetworkAPI]


class DQNTorchLearner(DQNLearner, TorchLearner):
    """DQN on torch modules: double or not, with values or distributions over returns."""

    @override
    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Register Adam over all parameters of a module."""
        settings = self._config_of(module_id) if config is None else config
        params = self.get_parameters(self.module[module_id])
        self.register_optimizer(
            module_id=module_id,
            optimizer=adam(params, lr=1e-3, eps=settings.adam_epsilon),
            params=params,
            lr_or_lr_schedule=settings.lr,
        )

    @override
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Tensor:
        """Compute DQN's loss; its terms and each row's error go to `metrics`."""
        needed(batch, _NEEDED, type(self).__name__, module_id)
        after: Tensor = fwd_out[QF_TARGET_NEXT_PREDS]
        judge: Tensor = fwd_out[QF_NEXT_PREDS] if config.double_q else after
        chosen = of_actions(fwd_out[QF_PREDS], batch[Columns.ACTIONS])
        worth = worth_of_the_next(config.gamma, batch["n_step"], batch[Columns.TERMINATEDS])
        rewards = batch[Columns.REWARDS]
        if config.num_atoms > 1:
            atoms = fwd_out[ATOMS]
            # In a double pass the values of both observations lie one behind the other.
            terms = distributional_loss(
                _at_actions(fwd_out[QF_LOGITS][: len(rewards)], batch[Columns.ACTIONS]),
                _at_actions(fwd_out[QF_TARGET_NEXT_PROBS], judge.argmax(dim=-1)),
                atoms,
                rewards.unsqueeze(-1) + worth.unsqueeze(-1) * atoms,
                batch["weights"],
            )
        else:
            best = of_actions(after, judge.argmax(dim=-1)) if config.double_q else highest(after)
            target = rewards + worth * best
            terms = expected_loss(chosen, target, batch["weights"], config.td_error_loss_fn)
        mask = self._mask(batch, config)
        loss = RowMean(mask)(terms.losses)
        self._keep(module_id, loss, terms.td_error, chosen.detach(), mask, fwd_out)
        return loss

    def _keep(
        self,
        module_id: str,
        loss: Tensor,
        td_error: Tensor,
        chosen: Tensor,
        mask: Tensor | None,
        fwd_out: Mapping[str, Tensor],
    ) -> None:
        """Keep each row's error for the buffer, and what the loss is made of for `metrics`."""
        self.metrics.log_value((module_id, names.TD_ERROR_KEY), td_error, reduce="item_series")

        def late() -> dict[str, Tensor]:
            mean = RowMean(mask)
            values = chosen if mask is None else chosen[mask.bool()]
            figures = {
                QF_MEAN_KEY: mean(chosen),
                QF_MAX_KEY: _extreme(values, torch.max),
                QF_MIN_KEY: _extreme(values, torch.min),
                TD_ERROR_MEAN_KEY: mean(td_error),
            }
            if ATOMS not in fwd_out:
                return figures
            return {**figures, **_told_of_distributions(fwd_out)}

        self._keep_terms(module_id, {QF_LOSS_KEY: loss}, late=late)

    @override
    def _mask(self, batch: Mapping[str, Any], config: Any) -> Tensor | None:
        """The rows that count: not the padding of sequences, nor their burn-in."""
        if Columns.LOSS_MASK not in batch:
            return None
        mask: Tensor = batch[Columns.LOSS_MASK]
        if config.burn_in_len:
            mask = mask.clone()
            mask[:, : config.burn_in_len] = False
        return mask


_NEEDED: Final = (
    *(Columns.ACTIONS, Columns.REWARDS, Columns.TERMINATEDS),
    *("n_step", "weights"),
)


def _at_actions(distributions: Tensor, actions: Tensor) -> Tensor:
    """The distribution of one action a row: `(..., n, atoms)` at `(...)`."""
    places = actions.long()[..., None, None].expand(*actions.shape, 1, distributions.shape[-1])
    return distributions.gather(-2, places).squeeze(-2)


def _extreme(values: Tensor, find: Any) -> Tensor:
    """The largest or least value; NaN where none counts."""
    extreme: Tensor = find(values) if values.numel() else values.new_tensor(float("nan"))
    return extreme


def _told_of_distributions(fwd_out: Mapping[str, Any]) -> dict[str, Tensor]:
    """How far apart the actions' distributions over returns are, on average over rows."""
    atoms = fwd_out[ATOMS]
    probs = fwd_out[QF_PROBS].detach()
    probs = probs.reshape(-1, *probs.shape[-2:]).mean(dim=0)
    apart = probs.diff(dim=0)
    return {
        ATOMS: atoms.mean(),
        "expectations_abs_diff": (probs * atoms).sum(dim=1).diff().mean().abs(),
        "dist_total_variation_dist": apart.abs().sum() * 0.5,
        "dist_max_abs_distance": apart.abs().max(),
        "action_dist_mean_entropy": (probs * probs.log()).sum(dim=1).mean(),
    }
