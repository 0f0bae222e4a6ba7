"""Fitted Q evaluation: a network of action values for a policy, from recorded steps alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete

from ..core.errors import ConfigError
from ..core.runtime.torch_draws import drawing
from ..core.types import Array
from ..legacy.models.catalog import build_model

_MOST_UNKNOWNS: Final = 2_000
RIDGE: Final = 1e-9
FREE: Final = 0.25


@dataclass(frozen=True)
class FittedQSettings:
    """How a model is fitted; names and defaults are RLlib's.

    Args:
        fcnet_hiddens: The widths of its hidden layers.
        fcnet_activation: What is between them.
        lr: Adam's.
        n_iters: How often it goes over the steps; the target follows after each time.
        min_loss_threshold: The loss below which it is enough.
        clip_grad_norm: How long a gradient may be.
        minibatch_size: How many steps it looks at together; all if None.
        polyak_coef: How far the target follows.
        weights: To start from, by Ray's names; drawn if None.
        solves: Whether the last layer is solved for at the end, instead of approached. RLlib's
            does not.
        seed: Of fresh weights and of the order of steps.
    """

    fcnet_hiddens: tuple[int, ...] = (32, 32, 32)
    fcnet_activation: str = "relu"
    lr: float = 1e-3
    n_iters: int = 1
    min_loss_threshold: float = 1e-4
    clip_grad_norm: float = 100.0
    minibatch_size: int | None = None
    polyak_coef: float = 1.0
    weights: Mapping[str, Any] | None = None
    solves: bool = False
    seed: int = 0

    @classmethod
    def of(cls, settings: Mapping[str, Any] | None) -> FittedQSettings:
        """Settings as RLlib's `q_model_config` has them."""
        values = dict(settings or {})
        values |= dict(values.pop("model_config", None) or {})
        values.pop("vf_share_layers", None)
        names = {each.name for each in fields(cls)}
        odd = sorted(set(values) - names)
        if odd:
            raise ConfigError(
                f"q_model={{{odd[0]!r}: ...}}", expected=f"some of {', '.join(sorted(names))}"
            )
        values["fcnet_hiddens"] = tuple(values.get("fcnet_hiddens", cls.fcnet_hiddens))
        return cls(**values)


@dataclass(frozen=True)
class Transitions:
    """Recorded steps as a model is fitted to them.

    Args:
        seen: What the network sees before each step, `(N, ...)`.
        actions: What was done, `(N,)`; a vector each, `(N, d)`, where actions are not few.
        rewards: What it earned, `(N,)`.
        seen_next: What the network sees after it.
        choices_next: What the policy would do there: how probable each action is, `(N, n)`; some
            that it draws, `(N, k, d)`, where they are not few.
        is_last: After which nothing comes.
    """

    seen: Array
    actions: Array
    rewards: Array
    seen_next: Array
    choices_next: Array
    is_last: Array


class FittedQ:
    """Values of actions that are few."""

    reach: float | None = None
    """How far beyond what was recorded it is asked, on a scale on which 1 is not at all."""

    def __init__(self, shape: tuple[int, ...], actions: int, settings: FittedQSettings) -> None:
        import torch

        from ..core.arrays.tensors import as_tensors

        self.settings = settings
        space = Box(-np.inf, np.inf, shape, np.float32)
        config = {
            "fcnet_hiddens": list(settings.fcnet_hiddens),
            "fcnet_activation": settings.fcnet_activation,
            "vf_share_layers": True,
        }
        with drawing(settings.seed, torch.device("cpu")):
            self._model, self._target = (
                build_model(space, Discrete(actions), actions, config) for _ in range(2)
            )
        if settings.weights is not None:
            self._take(as_tensors(dict(settings.weights)))
        self._target.load_state_dict(self._model.state_dict())
        self._solved: Array | None = None
        self._square: Array | None = None

    def _take(self, weights: Mapping[str, Any]) -> None:
        try:
            self._model.load_state_dict(weights)
        except RuntimeError as error:
            first = str(error).splitlines()[-1].strip()
            raise ConfigError(
                "q_model={'weights': ...} do not fit the network",
                expected=", ".join(self._model.state_dict()),
                found=first[:200],
                hint="set fcnet_hiddens as they were.",
            ) from None

    def fit(self, steps: Transitions, gamma: float) -> list[float]:
        """Fit it to recorded steps; the loss of each time over them."""
        import torch

        settings = self.settings
        optimizer = torch.optim.Adam(self._model.parameters(), settings.lr)
        rng = np.random.default_rng(settings.seed)
        count = len(steps.rewards)
        size = settings.minibatch_size or count
        columns = [
            torch.as_tensor(np.ascontiguousarray(each))
            for each in (
                np.asarray(steps.seen, np.float32),
                steps.actions,
                np.asarray(steps.rewards, np.float32),
                np.asarray(steps.seen_next, np.float32),
                np.asarray(steps.choices_next, np.float32),
                gamma * (1.0 - np.asarray(steps.is_last, np.float64)),
            )
        ]
        losses: list[float] = []
        for _ in range(settings.n_iters):
            errors = []
            order = torch.as_tensor(rng.permutation(count)) if size < count else None
            for start in range(0, count, size):
                places = slice(None) if order is None else order[start : start + size]
                obs, actions, rewards, after, choices, worth = (each[places] for each in columns)
                chosen = self._chosen(self._model, obs, actions)
                with torch.no_grad():
                    later = self._expected(self._target, after, choices)
                loss = ((rewards + worth * later - chosen) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self._model.parameters(), settings.clip_grad_norm)
                optimizer.step()
                errors.append(float(loss.detach()))
            losses.append(float(np.mean(errors)))
            if losses[-1] < settings.min_loss_threshold:
                break
            self._follow(settings.polyak_coef)
        if settings.solves:
            self._solve(steps, gamma)
        return losses

    def judged(self, observations: Array, actions: Array, choices: Array) -> tuple[Array, Array]:
        """The values of actions, and of what the policy would do there, `(N,)` both."""
        values = self.values(observations)
        return values[np.arange(len(actions)), actions], (values * choices).sum(-1)

    def _chosen(self, model: Any, observations: Any, actions: Any) -> Any:
        return self._values(model, observations).gather(-1, actions[:, None])[:, 0]

    def _expected(self, model: Any, observations: Any, choices: Any) -> Any:
        """The values of what the policy would do, as tensors."""
        return (self._values(model, observations) * choices).sum(-1)

    def values(self, observations: Array) -> Array:
        """The value of each action, `(N, n)`."""
        return (
            self._forward(observations)
            if self._solved is None
            else self._features(observations) @ self._solved
        )

    def _forward(self, observations: Array) -> Array:
        """What the network itself gives."""
        import torch

        rows = torch.as_tensor(np.ascontiguousarray(np.asarray(observations, np.float32)))
        with torch.inference_mode():
            values: Array = self._values(self._model, rows).numpy()
        return values

    @staticmethod
    def _values(model: Any, observations: Any) -> Any:
        return model({"obs": observations}, [], None)[0]

    def _follow(self, share: float) -> None:
        mine, target = self._model.state_dict(), self._target.state_dict()
        self._target.load_state_dict(
            {name: share * mine[name] + (1 - share) * target[name] for name in target}
        )

    def _solve(self, steps: Transitions, gamma: float) -> None:
        """Solve for the last layer, if what comes out is closer to its own targets."""
        actions = steps.choices_next.shape[1]
        if not hasattr(self._model, "_hidden_layers"):  # of images
            return
        here, after = self._features(steps.seen), self._features(steps.seen_next)
        width = here.shape[1]
        if width * actions > _MOST_UNKNOWNS:
            return
        self._solved = self._square = None
        own_errors = self._errors(
            steps, gamma, self.values(steps.seen), self.values(steps.seen_next)
        )
        worth = gamma * (1.0 - steps.is_last)
        matrix = np.zeros((actions, width, actions, width))
        goal = np.zeros((actions, width))
        for action in range(actions):
            rows = steps.actions == action
            of_action = here[rows]
            goal[action] = of_action.T @ steps.rewards[rows]
            matrix[action, :, action] += of_action.T @ of_action
            for later in range(actions):
                weighed = after[rows] * (worth * steps.choices_next[:, later])[rows, None]
                matrix[action, :, later] -= of_action.T @ weighed
        square = matrix.reshape(actions * width, actions * width)
        square[np.diag_indices_from(square)] += RIDGE * len(here)
        try:
            solved = np.linalg.solve(square, goal.reshape(-1)).reshape(actions, width)
        except np.linalg.LinAlgError:
            return
        errors = self._errors(steps, gamma, here @ solved.T, after @ solved.T)
        if np.mean(errors**2) <= np.mean(own_errors**2):
            self._solved, self._square = solved.T, square

    def influence(self, steps: Transitions, starts: Array, choices: Array, gamma: float) -> Any:
        """What each episode does to the mean value of first steps.

        The values solve equations that are sums over steps: what a step adds there moves them, in a
        straight line near enough (the sandwich of regressions, episode by episode). `starts` are
        the places of the episodes' first steps, `choices` what the policy would do there. None if
        the last layer was not solved for.
        """
        if self._solved is None or self._square is None:
            return None
        solved, square = self._solved, self._square
        features = self._features(steps.seen)
        first = (choices[:, :, None] * features[starts][:, None, :]).reshape(len(starts), -1)
        pull = np.linalg.solve(square.T, first.mean(0)).reshape(solved.shape[::-1])
        pulls = (features * pull[steps.actions]).sum(-1) * len(starts)
        # A step draws the values towards itself: its own error is larger than it looks.
        share_left = np.maximum(1 - _leverages(features, steps.actions), FREE)
        errors = self._errors(steps, gamma, features @ solved, self.values(steps.seen_next))
        moved = np.add.reduceat(pulls * errors / share_left, starts)
        return first @ solved.T.reshape(-1) + moved

    def _features(self, obs: Array) -> Array:
        """The inputs of the last layer, and a one for its bias."""
        self._forward(obs)
        features = self._model._features.numpy().astype(np.float64)
        return np.concatenate([features, np.ones((len(features), 1))], axis=1)

    @staticmethod
    def _errors(steps: Transitions, gamma: float, here: Array, after: Array) -> Array:
        """How far each step's reward and later value are from the value of its action."""
        chosen = here[np.arange(len(steps.rewards)), steps.actions]
        later = (after * steps.choices_next).sum(-1)
        errors: Array = steps.rewards + gamma * (1.0 - steps.is_last) * later - chosen
        return errors


def _leverages(features: Array, actions: Array) -> Array:
    """How much of the value at each step is its own doing, from 0 to 1."""
    leverages = np.zeros(len(features))
    for action in np.unique(actions):
        rows = features[actions == action]
        leverages[actions == action] = leverages_in(rows, spread_of(rows))
    return leverages


def spread_of(features: Array) -> Array:
    """The second moments of features, summed over rows, with a ridge."""
    spread: Array = features.T @ features
    spread[np.diag_indices_from(spread)] += RIDGE * len(features)
    return spread


def leverages_in(features: Array, spread: Array) -> Array:
    """How far each row lies from the rows that a spread is of."""
    leverages: Array = (features * np.linalg.solve(spread, features.T).T).sum(-1)
    return leverages
