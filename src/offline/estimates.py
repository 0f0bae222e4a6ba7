"""What a policy is worth, judged by recorded episodes alone: RLlib's importance sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from ..core.errors import ConfigError, PieceError
from ..core.types import Array
from ..legacy import compute_log_likelihoods_from_input_dict
from ..legacy.batches.multi_agent_batch import DEFAULT_POLICY_ID
from ..legacy.policy.policy import Policy
from .dataset import Dataset

_LEAST: float = 1e-8


@dataclass(frozen=True)
class Estimate:
    """Values of the recorded behaviour and of the policy asked about, over episodes.

    Args:
        v_behavior: The mean discounted return that was recorded.
        v_behavior_std: Its standard deviation over episodes.
        v_target: The mean that the policy is estimated to get.
        v_target_std: Its standard deviation over episodes.
    """

    v_behavior: float
    v_behavior_std: float
    v_target: float
    v_target_std: float

    @property
    def v_gain(self) -> float:
        """`v_target` over `v_behavior`, as RLlib has it: huge where that is not positive."""
        return self.v_target / max(self.v_behavior, _LEAST)

    @property
    def v_delta(self) -> float:
        """`v_target` less `v_behavior`."""
        return self.v_target - self.v_behavior


def evaluate(
    policy: Policy,
    data: Dataset,
    method: str = "is",
    gamma: float = 1.0,
    epsilon_greedy: float = 0.0,
    by_episode: bool = True,
    q_model: Any = None,
) -> Estimate:
    """Estimate what a policy is worth from what another one did.

    Args:
        policy: A policy of the old stack without a state.
        data: Recorded with the column "action_prob".
        method: "is" (importance sampling by decision) or "wis" (weighted).
        gamma: The discount.
        epsilon_greedy: The share of actions the policy takes at random.
        by_episode: Judge each row by itself if false, as for bandits.
        q_model: Taken as RLlib's estimators take it; neither of the two reads it.

    Raises:
        ConfigError: An unknown method.
        PieceError: The policy, or the data, is of a kind that cannot be judged.
    """
    if method not in ("is", "wis"):
        raise ConfigError(f"no method {method!r}", expected="'is' or 'wis'")
    if policy.is_recurrent():
        raise PieceError("a recurrent policy cannot be judged yet", expected="one without a state")
    ratios, rewards = _paths(policy, data, epsilon_greedy, by_episode)
    longest = max(map(len, ratios))
    weights = np.full((len(ratios), longest), np.nan)
    for row, each in enumerate(ratios):
        weights[row, : len(each)] = np.cumprod(each)
    if method == "wis":
        weights = weights / np.maximum(np.nanmean(weights, axis=0), np.finfo(float).tiny)
    discounts = gamma ** np.arange(longest)
    values = np.array([each @ discounts[: len(each)] for each in rewards])
    targets = np.array(
        [
            (each * weights[row, : len(each)]) @ discounts[: len(each)]
            for row, each in enumerate(rewards)
        ]
    )
    return Estimate(
        float(values.mean()), float(values.std()), float(targets.mean()), float(targets.std())
    )


def _paths(
    policy: Policy, data: Dataset, epsilon_greedy: float, by_episode: bool
) -> tuple[list[Array], list[Array]]:
    """By episode, or row, how much likelier each action is under the policy; and the rewards."""
    ratios: dict[Any, list[Array]] = {}
    rewards: dict[Any, list[Array]] = {}
    for batch in data.sample_batches(512):
        parts = batch.as_multi_agent().policy_batches
        if set(parts) != {DEFAULT_POLICY_ID}:
            raise PieceError("data of several policies cannot be judged as one")
        part = parts[DEFAULT_POLICY_ID]
        if "action_prob" not in part:
            raise PieceError("the data has no column 'action_prob'")
        columns = {"obs": np.asarray(part["obs"], np.float32), "actions": part["actions"]}
        logp = np.asarray(compute_log_likelihoods_from_input_dict(policy, columns), np.float64)
        chance = np.exp(logp)
        if epsilon_greedy:
            space = policy.action_space
            if not isinstance(space, gym.spaces.Discrete):
                raise PieceError("epsilon_greedy needs a Discrete action space")
            chance = chance * (1 - epsilon_greedy) + epsilon_greedy / int(space.n)
        ratio = chance / np.asarray(part["action_prob"], np.float64)
        keys = (
            part["eps_id"].tolist() if by_episode else range(len(ratios), len(ratios) + part.count)
        )
        for row, key in enumerate(keys):
            ratios.setdefault(key, []).append(ratio[row])
            rewards.setdefault(key, []).append(np.float64(part["rewards"][row]))
    if not ratios:
        raise PieceError("the data has no steps")
    return [np.array(v) for v in ratios.values()], [np.array(v) for v in rewards.values()]
