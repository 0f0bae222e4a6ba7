"""Fitted Q evaluation where actions are not few: a network takes them beside observations.

What the policy would do is drawn from it; the value of a step is the mean over what was drawn.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from typing_extensions import override

from ..core.types import Array
from .fitted_q import (
    FREE,
    RIDGE,
    FittedQ,
    FittedQSettings,
    Transitions,
    leverages_in,
    spread_of,
)  # fmt: skip

_AT_ONCE: Final = 1 << 14
_LEAST_SPREAD: Final = 1e-6


class FittedCritic(FittedQ):
    """Values of actions that are vectors.

    Columns are brought to a mean of 0 and a deviation of 1 first.
    """

    def __init__(self, steps: Transitions, settings: FittedQSettings) -> None:
        both = _beside(steps.seen, steps.actions)
        super().__init__(both.shape[1:], 1, settings)
        spread = both.std(0)
        self._shift = both.mean(0, dtype=np.float64).astype(np.float32)
        self._scale = (1 / np.where(spread > _LEAST_SPREAD, spread, 1)).astype(np.float32)

    @override
    def judged(self, observations: Array, actions: Array, choices: Array) -> tuple[Array, Array]:
        here = self._of_actions(observations, actions)
        each = self._of_actions(observations, choices[:, 0])
        spread = spread_of(here)
        self.reach = float(leverages_in(each, spread).mean() / leverages_in(here, spread).mean())
        return here @ self._last, self._of_choices(observations, choices) @ self._last

    @property
    def _last(self) -> Array:
        """The weights of the last layer."""
        if self._solved is not None:
            return self._solved
        weight, bias = [each.detach().numpy() for each in self._model._logits.parameters()]
        return np.append(weight[0], bias).astype(np.float64)

    @override
    def _chosen(self, model: Any, observations: Any, actions: Any) -> Any:
        return self._values(model, self._scaled(observations, actions))[:, 0]

    @override
    def _expected(self, model: Any, observations: Any, choices: Any) -> Any:
        rows, draws = choices.shape[:2]
        again = observations.reshape(rows, 1, -1).expand(-1, draws, -1).reshape(rows * draws, -1)
        values = self._values(model, self._scaled(again, choices.reshape(rows * draws, -1)))
        return values.reshape(rows, draws).mean(1)

    def _scaled(self, obs: Any, actions: Any) -> Any:
        import torch

        both = torch.cat([obs.reshape(len(obs), -1), actions], 1)
        return (both - torch.as_tensor(self._shift)) * torch.as_tensor(self._scale)

    def _of_actions(self, obs: Array, actions: Array) -> Array:
        """What the last layer takes of each step, and a one, `(N, w)`."""
        return self._features((_beside(obs, actions) - self._shift) * self._scale)

    def _of_choices(self, obs: Array, choices: Array) -> Array:
        """Their mean over what the policy would do."""
        draws = choices.shape[1]
        parts = []
        for start in range(0, len(obs), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            again = np.repeat(obs[rows], draws, axis=0)
            features = self._of_actions(again, choices[rows].reshape(len(again), -1))
            parts.append(features.reshape(-1, draws, features.shape[1]).mean(1))
        return np.concatenate(parts)

    @override
    def _solve(self, steps: Transitions, gamma: float) -> None:
        here = self._of_actions(steps.seen, steps.actions)
        after = self._of_choices(steps.seen_next, steps.choices_next)
        worth = gamma * (1.0 - steps.is_last)
        square = here.T @ (here - worth[:, None] * after)
        square[np.diag_indices_from(square)] += RIDGE * len(here)
        try:
            solved = np.linalg.solve(square, here.T @ steps.rewards)
        except np.linalg.LinAlgError:
            return
        self._solved, self._square, self._spread = solved, square, spread_of(here)

    @override
    def influence(self, steps: Transitions, starts: Array, choices: Array, gamma: float) -> Any:
        if self._solved is None or self._square is None:
            return None
        first = self._of_choices(steps.seen[starts], choices)
        pull = np.linalg.solve(self._square.T, first.mean(0))
        here = self._of_actions(steps.seen, steps.actions)
        after = self._of_choices(steps.seen_next, steps.choices_next)
        # A step draws the values towards itself: its own error is larger than it looks.
        share_left = np.maximum(1 - leverages_in(here, self._spread), FREE)
        worth = gamma * (1.0 - steps.is_last)
        errors = steps.rewards + (worth[:, None] * after - here) @ self._solved
        moved = np.add.reduceat((here @ pull) * len(starts) * errors / share_left, starts)
        return first @ self._solved + moved


def _beside(obs: Array, actions: Array) -> Array:
    """Observations and actions as one vector a row."""
    return np.concatenate(
        [np.asarray(each, np.float32).reshape(len(each), -1) for each in (obs, actions)], axis=1
    )
