"""Everything that recorded data says of a policy: estimates, how sure they are, and whether."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core.errors import PieceError
from ...core.formulas.intervals import Interval, interval_of
from ...offline.estimators import (
    NEED_MODEL,
    Estimate,
    Steps,
    doubts_of,
    judged,
    known_method,
    recorded,
)
from ...offline.fitted_q import FittedQSettings
from ..loading.natives import Native, natives_of
from ..proof.evidence import Evidence
from .evaluation import own_discount
from .watched import Form, Watched, Watching, dataset_at, watched, with_values

if TYPE_CHECKING:
    from ..loading.natives import Source

METHODS: Final = ("is", "wis", "dm", "dr")
"""The default methods: RLlib's four."""

FEW_EPISODES: Final = 30
_NEARLY_ONE: Final = 0.01
_MODEL_STEPS: Final = 400
_MODEL_BATCH: Final = 2_048


@dataclass(frozen=True)
class Weights:
    """How much of the data speaks for a policy, by the weights of whole episodes.

    Args:
        effective: How many episodes of its own the recorded ones are worth.
        episodes: How many were recorded.
        mean: Of the weights; 1 where the data can answer.
        mean_interval: Where that lies.
        largest_share: The part of all weight that the heaviest hundredth of episodes has.
        zero_share: The part of episodes that the policy would never have come by.
    """

    effective: float
    episodes: int
    mean: float
    mean_interval: Interval
    largest_share: float
    zero_share: float

    @classmethod
    def of(cls, steps: Steps) -> Weights:
        """Those of recorded steps."""
        last_weights = steps.weights[steps.ends]
        total = float(last_weights.sum())
        heaviest = np.sort(last_weights)[-max(len(last_weights) // 100, 1) :]
        mean = float(last_weights.mean())
        return cls(
            total**2 / float((last_weights**2).sum()) if total else 0.0,
            len(last_weights),
            mean,
            interval_of(last_weights, mean),
            float(heaviest.sum()) / total if total else 0.0,
            float(np.mean(last_weights == 0)),
        )


@dataclass(frozen=True)
class Appraisal:
    """What recorded data says of a policy.

    Args:
        policy: What it is called.
        data: What the data is called.
        episodes: How many there are.
        steps: Of all episodes together.
        gamma: The discount.
        behavior: What the recorded behaviour is worth.
        behavior_interval: Where that lies.
        estimates: By method.
        weights: How much of the data speaks for it; None where no probabilities were recorded.
        findings: Why the data cannot answer.
        notes: What to know beside.
        against: The other policy, on the same episodes.
        evidence: When and with what this was found.
    """

    policy: str
    data: str
    episodes: int
    steps: int
    gamma: float
    behavior: float
    behavior_interval: Interval
    estimates: Mapping[str, Estimate]
    weights: Weights | None
    findings: tuple[str, ...]
    notes: tuple[str, ...]
    against: Appraisal | None = None
    evidence: Evidence | None = None

    @property
    def answers(self) -> bool:
        """Whether the data can answer the question, of the other policy, too."""
        other = self.against is None or self.against.answers
        return not self.findings and other

    @property
    def differences(self) -> dict[str, tuple[float, Interval]]:
        """By method, how much more the policy is worth than the other one, and where that lies.

        Both are judged on the same episodes: what is the same for both drops out.
        """
        if self.against is None:
            return {}
        by_method = {}
        for method, mine in self.estimates.items():
            yours = self.against.estimates.get(method)
            if yours is not None:
                more = mine.v_target - yours.v_target
                by_method[method] = more, interval_of(mine.influence - yours.influence, more)
        return by_method

    def with_evidence(self, evidence: Evidence) -> Appraisal:
        """The same, with the evidence of when and by what it was found."""
        return replace(self, evidence=evidence)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, without what single episodes say."""
        data: dict[str, Any] = {
            "policy": self.policy,
            "data": self.data,
            "answers": self.answers,
            "findings": list(self.findings),
            "notes": list(self.notes),
            "episodes": self.episodes,
            "steps": self.steps,
            "gamma": self.gamma,
            "behavior": {"value": self.behavior, "interval": _ends(self.behavior_interval)},
            "estimates": {name: _as_data(estimate) for name, estimate in self.estimates.items()},
            "effective_sample_size": None if self.weights is None else self.weights.effective,
            "weights": None if self.weights is None else _told_weights(self.weights),
        }
        if self.against is not None:
            data["against"] = self.against.to_dict()
            data["differences"] = {
                name: {"value": more, "interval": _ends(interval)}
                for name, (more, interval) in self.differences.items()
            }
        if self.evidence is not None:
            data["evidence"] = dict(self.evidence.lines())
        return data


def appraise(
    policy: Source,
    data: Any,
    *,
    against: Source | None = None,
    methods: Sequence[str] | None = None,
    gamma: float | None = None,
    q_model: Mapping[str, Any] | None = None,
    policy_id: str | None = None,
    observations: Form = "auto",
    actions_normalized: bool | None = None,
    greedy: bool = False,
    behavior: Source | None = None,
    name: str = "",
    other_name: str = "",
    seed: int = 0,
    **options: Any,
) -> Appraisal:
    """Say all that recorded data says of a policy.

    Args:
        policy: As for `evaluate`.
        data: Likewise.
        against: Another policy, judged on the same episodes.
        methods: Which estimates to make; those of `METHODS` that the data allows if None.
        gamma: The discount; the policy's own if None, 0.99 where it does not say.
        q_model: How the model is fitted; over and over, until it has settled, if None.
        policy_id: Which of several policies.
        observations: As for `evaluate`.
        actions_normalized: Likewise.
        greedy: Likewise.
        behavior: Likewise.
        name: What to call the policy.
        other_name: What to call the other one.
        seed: Of the model's first weights.
        **options: As for `rlconnect.load`, of paths.

    Raises:
        ConfigError: An unknown method.
        PieceError: The policy, or the data, is of a kind that cannot be judged.
        SpaceError: The data is of another environment.
    """
    for method in methods or ():
        known_method(method)
    dataset = dataset_at(data)
    native = natives_of(policy, policy_id, **options).only
    discount = (own_discount(native) or 0.99) if gamma is None else gamma
    form: dict[str, Any] = {"form": observations, "is_normalized": actions_normalized}
    recorder = None
    if behavior is not None:
        recorder = Watching(natives_of(behavior, policy_id, **options).only, dataset, **form)

    def judge(one: Native, called: str) -> Appraisal:
        watching = Watching(one, dataset, is_greedy=greedy, **form)
        asked_methods = methods or METHODS
        watched_steps = watched(
            watching,
            policy=policy_id or one.name,
            with_model=None if methods is None else bool(NEED_MODEL & set(methods)),
            behavior=recorder,
        )
        return _appraised(
            watched_steps,
            called,
            _name_of(data),
            asked_methods,
            methods is None,
            discount,
            q_model,
            seed,
        )

    mine = judge(native, name or _name_of(policy, native.name))
    if against is None:
        return mine
    other = natives_of(against, policy_id, **options).only
    return replace(mine, against=judge(other, other_name or _name_of(against, other.name)))


def _name_of(source: Any, otherwise: str = "recorded data") -> str:
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else otherwise


def _appraised(
    watched_steps: Watched,
    policy: str,
    data: str,
    methods: Sequence[str],
    may_skip: bool,
    gamma: float,
    q_model: Mapping[str, Any] | None,
    seed: int,
) -> Appraisal:
    notes: list[str] = []
    has_weights = watched_steps.has_weights
    if not has_weights and may_skip:
        methods = [method for method in methods if method == "dm"]
        notes.append(
            "the policy takes one of many actions for sure, so nothing is weighed"
            if watched_steps.chances is None
            else "the data does not say how probable its actions were, so nothing is weighed: "
            "name the policy that recorded it (--behavior PATH)"
        )
    if watched_steps.model is None and may_skip:
        methods = [method for method in methods if method not in NEED_MODEL]
        notes.append("observations are images and actions not few, so no model is fitted")
    if not methods:
        watched_steps.steps()
        raise PieceError("nothing is left to estimate", found="; ".join(notes))
    steps = watched_steps.steps(needs_weights=set(methods) != {"dm"})
    if watched_steps.model is not None and NEED_MODEL & set(methods):
        steps = with_values(
            steps, watched_steps.model, gamma, _model_settings(q_model, len(steps.rewards), seed)
        )
        if not watched_steps.model.is_last.any():
            notes.append("no episode was ended by the environment: the model looks beyond all ends")
    returns = recorded(steps, gamma)
    weights = Weights.of(steps) if has_weights else None
    if "wis" in methods and len(set(watched_steps.lengths.tolist())) > 1:
        notes.append(
            "episodes differ in length: 'wis', as in RLlib, assumes that those of the policy would "
            "be as long"
        )
    behavior = float(returns.mean())
    estimates = {
        method: Estimate.of(returns, judged(method, steps, gamma), doubts_of(method, steps))
        for method in methods
    }
    doubts = dict.fromkeys(doubt for estimate in estimates.values() for doubt in estimate.doubts)
    return Appraisal(
        policy,
        data,
        len(watched_steps.lengths),
        len(watched_steps.rewards),
        gamma,
        behavior,
        interval_of(returns, behavior),
        estimates,
        weights,
        (*_findings(weights, len(watched_steps.lengths)), *doubts),
        tuple(notes),
    )


def _findings(weights: Weights | None, episodes: int) -> list[str]:
    """Why the data cannot answer; nothing if it can."""
    if weights is None:
        return [] if episodes >= FEW_EPISODES else [f"there are {episodes} episodes"]
    findings = []
    if episodes < FEW_EPISODES:
        findings.append(f"there are {episodes} episodes; intervals want {FEW_EPISODES} or more")
    elif weights.effective < FEW_EPISODES:
        findings.append(
            f"the {episodes:,} episodes are worth {weights.effective:.3g} of the policy's own: "
            "it does what was hardly ever recorded"
        )
    if weights.zero_share > 0.5:
        findings.append(
            f"{weights.zero_share:.0%} of the episodes hold an action that the policy never takes"
        )
    if not weights.mean_interval.holds(1.0) and abs(weights.mean - 1) > _NEARLY_ONE:
        findings.append(
            f"weights have a mean of {weights.mean:.3g} where 1 is due: the recorded probabilities "
            "are not those of the actions, or what the policy does was never recorded"
        )
    return findings


def _model_settings(settings: Mapping[str, Any] | None, steps: int, seed: int) -> FittedQSettings:
    if settings is not None:
        return FittedQSettings.of({"seed": seed, **settings})
    batches = -(-steps // _MODEL_BATCH)
    return FittedQSettings(
        fcnet_hiddens=(32, 32),
        lr=3e-3,
        n_iters=max(_MODEL_STEPS // batches, 1),
        min_loss_threshold=0.0,
        minibatch_size=_MODEL_BATCH,
        solves=True,
        seed=seed,
    )


def _ends(interval: Interval) -> list[float | None]:
    ends = (interval.low, interval.high)
    return [float(end) if np.isfinite(end) else None for end in ends]


def _as_data(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": estimate.v_target,
        "interval": _ends(estimate.interval),
        "std": estimate.v_target_std,
        "gain": estimate.v_gain,
        "delta": estimate.v_delta,
    }


def _told_weights(weights: Weights) -> dict[str, Any]:
    return {
        "mean": weights.mean,
        "mean_interval": _ends(weights.mean_interval),
        "largest_share": weights.largest_share,
        "zero_share": weights.zero_share,
    }
