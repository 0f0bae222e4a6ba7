"""Let a policy play an environment and keep what it earned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..legacy.inference import local_policy_inference
from ..legacy.policy import Policy


@dataclass(frozen=True)
class Played:
    """What a policy earned, episode by episode.

    Args:
        returns: The sum of rewards of each.
        lengths: The number of steps of each.
    """

    returns: tuple[float, ...]
    lengths: tuple[int, ...]

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(np.mean(self.returns))

    @property
    def half_interval(self) -> float:
        """Half of the mean's 95 % confidence interval; infinite for one episode."""
        if len(self.returns) < 2:
            return float("inf")
        return float(1.96 * np.std(self.returns, ddof=1) / np.sqrt(len(self.returns)))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        half = self.half_interval
        return {
            **asdict(self),
            "mean": self.mean,
            "half_interval": half if np.isfinite(half) else None,
        }


def rollout(
    policy: Policy,
    env: Any,
    *,
    episodes: int = 10,
    seed: int = 0,
    explore: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Played:
    """Play whole episodes, one after the other.

    Args:
        policy: With connectors.
        env: A live environment of one agent.
        episodes: How many.
        seed: Of the first; each next one has the next seed.
        explore: Whether to explore.
        progress: Called with how many are done and how many there are.
    """
    returns, lengths = [], []
    for number in range(episodes):
        slot = f"rollout-{seed + number}"
        policy.reset_connectors(slot)
        obs, _ = env.reset(seed=seed + number)
        total, length, reward, is_over = 0.0, 0, None, False
        while not is_over:
            ((action, _, _),) = local_policy_inference(
                policy, slot, "agent", obs, reward, explore=explore
            )
            obs, reward, terminated, truncated, _ = env.step(action)
            total, length = total + float(reward), length + 1
            is_over = terminated or truncated
        policy.reset_connectors(slot)
        returns.append(total)
        lengths.append(length)
        if progress is not None:
            progress(number + 1, episodes)
    return Played(tuple(returns), tuple(lengths))
