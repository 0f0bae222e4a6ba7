"""Action distributions on numpy arrays: what the CPU path acts with, without torch.

Each is a small record of settings; the numbers come in as `inputs` of shape (B, size).
Actions leave as a policy hands them out: int32 and float32. The torch twins with gradients
live in `torch_single.py`; a test holds both equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from .array_formulas import (
    HALF_LOG_TWO_PI,
    LOG_STD_RANGE,
    SMALL,
    Array,
    categorical_logp,
    dirichlet_logp,
    draw_categories,
    halves,
    most_probable,
    normal_logp,
    softmax,
)


class ArrayDistribution(Protocol):
    """What every distribution offers; `inputs` has shape (B, size)."""

    @property
    def size(self) -> int:
        """How many inputs one action needs."""

    def deterministic(self, inputs: Array) -> Any:
        """The action taken without exploration."""

    def sample(self, inputs: Array, rng: np.random.Generator) -> Any:
        """One random action a row."""

    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        """One random action a row and its log-probability, shape (B,)."""

    def logp(self, inputs: Array, actions: Any) -> Array:
        """Log-probability of given actions, shape (B,)."""


class _Sampled:
    """Base: the log-probability of a sample, from the sample."""

    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        """One random action a row and its log-probability, shape (B,)."""
        actions = self.sample(inputs, rng)
        return actions, self.logp(inputs, actions)

    def sample(self, inputs: Array, rng: np.random.Generator) -> Array:
        """One random action a row."""
        raise NotImplementedError(f"{type(self).__name__} does not define sample().")

    def logp(self, inputs: Array, actions: Any) -> Array:
        """Log-probability of given actions, shape (B,)."""
        raise NotImplementedError(f"{type(self).__name__} does not define logp().")


@dataclass(frozen=True)
class Categorical:
    """One of `size` choices; inputs are logits.

    Example:
        >>> Categorical(3).deterministic(np.array([[0.0, 2.0, 1.0]], np.float32))
        array([1], dtype=int32)
    """

    size: int
    temperature: float = 1.0

    def _logits(self, inputs: Array) -> Array:
        return inputs if self.temperature == 1.0 else inputs / inputs.dtype.type(self.temperature)

    def deterministic(self, inputs: Array) -> Array:
        """The most probable choice."""
        return most_probable(inputs if self.temperature == 1.0 else self._logits(inputs))

    def sample(self, inputs: Array, rng: np.random.Generator) -> Array:
        """A choice drawn by its probability."""
        return draw_categories(self._logits(inputs), rng)[0]

    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """A choice drawn by its probability, and the logarithm of that."""
        return draw_categories(self._logits(inputs), rng)

    def logp(self, inputs: Array, actions: Array) -> Array:
        """Log-probability of the choices."""
        return categorical_logp(self._logits(inputs), actions)


@dataclass(frozen=True)
class MultiCategorical:
    """Several choices at once, the i-th among `lens[i]`; `shape` is an integer Box's own."""

    lens: tuple[int, ...]
    shape: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        """The logits of all choices together."""
        return sum(self.lens)

    def _parts(self, inputs: Array) -> list[Array]:
        return np.split(inputs, np.cumsum(self.lens)[:-1], axis=-1)

    def _join(self, chosen: list[Array]) -> Array:
        joined = np.stack(chosen, axis=-1)
        return joined if self.shape is None else joined.reshape(-1, *self.shape)

    def deterministic(self, inputs: Array) -> Array:
        """The most probable choice of each."""
        return self._join([most_probable(part) for part in self._parts(inputs)])

    def sample(self, inputs: Array, rng: np.random.Generator) -> Array:
        """Independent draws."""
        return self.sample_with_logp(inputs, rng)[0]

    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Independent draws and their summed log-probabilities."""
        drawn = [draw_categories(part, rng) for part in self._parts(inputs)]
        return self._join([one for one, _ in drawn]), np.sum([logp for _, logp in drawn], axis=0)

    def logp(self, inputs: Array, actions: Array) -> Array:
        """Summed log-probabilities of the choices."""
        columns = np.asarray(actions).reshape(-1, len(self.lens)).T
        parts = self._parts(inputs)
        terms = [categorical_logp(p, column) for p, column in zip(parts, columns, strict=True)]
        result: Array = np.sum(terms, axis=0)
        return result


@dataclass(frozen=True)
class DiagGaussian:
    """Independent Gaussians; inputs are means, then log standard deviations.

    Args:
        size: Twice the number of components.
        scalar: The action space has shape (): samples lose their last axis (the deterministic
            action keeps it, as in Ray).
    """

    size: int
    scalar: bool = False

    def deterministic(self, inputs: Array) -> Array:
        """The means."""
        return inputs[..., : inputs.shape[-1] // 2]

    def sample(self, inputs: Array, rng: np.random.Generator) -> Array:
        """Means plus scaled noise."""
        return self.sample_with_logp(inputs, rng)[0]

    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Means plus scaled noise, and the summed log-densities of that noise."""
        mean, log_std = halves(inputs)
        noise = rng.standard_normal(mean.shape, np.float32)
        drawn: Array = mean + np.exp(log_std) * noise
        logp = -(noise * noise) * np.float32(0.5) - log_std - np.float32(HALF_LOG_TWO_PI)
        return drawn[..., 0] if self.scalar else drawn, np.add.reduce(logp, axis=-1)

    def logp(self, inputs: Array, actions: Array) -> Array:
        """Summed log-densities."""
        mean, log_std = halves(inputs)
        values = np.asarray(actions)
        values = values[..., None] if self.scalar and values.ndim < mean.ndim else values
        result: Array = normal_logp(mean, np.exp(log_std), values).sum(axis=-1)
        return result


@dataclass(frozen=True)
class SquashedGaussian(_Sampled):
    """A Gaussian bent into [low, high] by tanh; inputs as for `DiagGaussian`."""

    size: int
    low: float = -1.0
    high: float = 1.0

    def _squash(self, values: Array) -> Array:
        bent = (np.tanh(values) + 1) / 2 * (self.high - self.low) + self.low
        bounded: Array = np.minimum(np.maximum(bent, self.low), self.high)
        return bounded

    @staticmethod
    def _moments(inputs: Array) -> tuple[Array, Array]:
        mean, log_std = halves(inputs)
        return mean, np.exp(np.minimum(np.maximum(log_std, LOG_STD_RANGE[0]), LOG_STD_RANGE[1]))

    def deterministic(self, inputs: Array) -> Array:
        """The squashed means."""
        return self._squash(inputs[..., : inputs.shape[-1] // 2])

    def sample(self, inputs: Array, rng: np.random.Generator) -> Array:
        """Squashed Gaussian draws."""
        mean, std = self._moments(inputs)
        return self._squash(mean + std * rng.standard_normal(mean.shape, np.float32))

    def logp(self, inputs: Array, actions: Array) -> Array:
        """Log-density of squashed actions."""
        mean, std = self._moments(inputs)
        normed = (np.asarray(actions) - self.low) / (self.high - self.low) * 2 - 1
        # The bound has the actions' precision, so that its atanh stays the one torch takes.
        edge = normed.dtype.type(1 - SMALL)
        raw = np.arctanh(np.minimum(np.maximum(normed, -edge), edge))
        gauss = np.minimum(np.maximum(normal_logp(mean, std, raw), -100), 100).sum(axis=-1)
        bend = np.log(1 - np.tanh(raw) ** 2 + normed.dtype.type(SMALL)).sum(axis=-1)
        result: Array = gauss - bend
        return result


@dataclass(frozen=True)
class Beta(_Sampled):
    """A Beta distribution stretched to [low, high]; inputs are pre-alphas, then pre-betas."""

    size: int
    low: float = 0.0
    high: float = 1.0

    @staticmethod
    def _shapes(inputs: Array) -> tuple[Array, Array]:
        edge = -np.log(SMALL).astype(inputs.dtype)
        positive = np.log(np.exp(np.clip(inputs, -edge, edge)) + 1) + 1
        alpha, beta = halves(positive)
        return alpha, beta

    def deterministic(self, inputs: Array) -> Array:
        """The stretched mean."""
        alpha, beta = self._shapes(inputs)
        result: Array = alpha / (alpha + beta) * (self.high - self.low) + self.low
        return result

    def sample(self, inputs: Array, rng: np.random.Generator) -> Array:
        """Stretched Beta draws."""
        alpha, beta = self._shapes(inputs)
        drawn = rng.beta(alpha, beta) * (self.high - self.low) + self.low
        return np.asarray(drawn, inputs.dtype)

    def logp(self, inputs: Array, actions: Array) -> Array:
        """Summed log-densities of the unstretched actions."""
        alpha, beta = self._shapes(inputs)
        share = (np.asarray(actions) - self.low) / (self.high - self.low)
        both = np.stack([share, 1 - share], axis=-1)
        total: Array = dirichlet_logp(np.stack([alpha, beta], axis=-1), both).sum(axis=-1)
        return total.astype(inputs.dtype)


@dataclass(frozen=True)
class Deterministic(_Sampled):
    """The inputs are the action."""

    size: int

    def deterministic(self, inputs: Array) -> Array:
        """The inputs."""
        return inputs

    def sample(self, inputs: Array, rng: np.random.Generator) -> Array:
        """The inputs."""
        return inputs

    def logp(self, inputs: Array, actions: Array) -> Array:
        """Zeros: there is one possible action."""
        return np.zeros(len(inputs), np.float32)


@dataclass(frozen=True)
class Dirichlet(_Sampled):
    """Shares that sum to one; inputs are log concentrations."""

    size: int
    _FLOOR: ClassVar = 1e-7

    def _concentration(self, inputs: Array) -> Array:
        result: Array = np.exp(inputs) + inputs.dtype.type(self._FLOOR)
        return result

    def deterministic(self, inputs: Array) -> Array:
        """The softmax of the concentrations (what Ray takes, it is not the mean)."""
        return softmax(self._concentration(inputs))

    def sample(self, inputs: Array, rng: np.random.Generator) -> Array:
        """Normalised gamma draws."""
        drawn = rng.standard_gamma(self._concentration(inputs).astype(np.float64))
        shares: Array = drawn / drawn.sum(axis=-1, keepdims=True)
        return shares.astype(inputs.dtype)

    def logp(self, inputs: Array, actions: Array) -> Array:
        """Log-density, with shares kept above 1e-7 and made to sum to one."""
        shares = np.maximum(np.asarray(actions), np.float32(self._FLOOR))
        shares = shares / shares.sum(axis=-1, keepdims=True)
        return dirichlet_logp(self._concentration(inputs), shares).astype(inputs.dtype)
