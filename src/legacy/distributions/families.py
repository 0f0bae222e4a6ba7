"""The families of action distributions, each once for arrays and for tensors.

Each is a small record of settings; the numbers come in as `inputs` of shape (B, size). Arrays leave
as a policy hands actions out, int32 and float32, and are drawn with numpy's generator; tensors with
torch's, or None for its global one. RLlib's classes over the same formulas are in `torch_base.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from typing_extensions import override

from ...core import array_namespace as xp
from ...core.formulas.categorical import (
    categorical_logp,
    draw_categories,
    most_probable,
    softmax,
)
from ...core.formulas.distributions import (
    HALF_LOG_TWO_PI,
    LOG_STD_RANGE,
    SMALL,
    bounded,
    dirichlet_logp,
    draw_beta,
    draw_dirichlet,
    draw_noise,
    draw_normal,
    halves,
    normal_logp,
    squash,
    unsquash,
)
from ...core.types import Array


class Family:
    """Base class of families: formulas on parameters, and parameters from inputs (B, size)."""

    size: int
    """Number of inputs per action."""

    def parameters(self, inputs: Any) -> tuple[Any, ...]:
        """Return the arguments of the formulas: logits, or means and deviations, for example."""
        return (inputs,)

    def mode(self, *parameters: Any) -> Any:
        """The action taken without exploration."""
        raise NotImplementedError(f"{type(self).__name__} does not define mode().")

    def draw(self, rng: Any, *parameters: Any) -> Any:
        """One random action a row."""
        raise NotImplementedError(f"{type(self).__name__} does not define draw().")

    def density(self, actions: Any, *parameters: Any) -> Any:
        """Log-probability of given actions, shape (B,)."""
        raise NotImplementedError(f"{type(self).__name__} does not define density().")

    def deterministic(self, inputs: Any) -> Any:
        """The action taken without exploration."""
        return self.mode(*self.parameters(inputs))

    def sample(self, inputs: Any, rng: Any) -> Any:
        """One random action a row."""
        return self.draw(rng, *self.parameters(inputs))

    def sample_with_logp(self, inputs: Any, rng: Any) -> tuple[Any, Any]:
        """One random action a row and its log-probability, shape (B,)."""
        parameters = self.parameters(inputs)
        actions = self.draw(rng, *parameters)
        return actions, self.density(actions, *parameters)

    def logp(self, inputs: Any, actions: Any) -> Any:
        """Log-probability of given actions, shape (B,)."""
        return self.density(xp.as_array(actions), *self.parameters(inputs))


@dataclass
class Categorical(Family):
    """One of `size` choices; inputs are logits.

    Example:
        >>> Categorical(3).deterministic(np.array([[0.0, 2.0, 1.0]], np.float32))
        array([1], dtype=int32)
    """

    size: int
    temperature: float = 1.0

    @override
    def parameters(self, inputs: Any) -> tuple[Any]:
        is_plain = self.temperature == 1.0
        return (inputs if is_plain else inputs / inputs.dtype.type(self.temperature),)

    @override
    def mode(self, logits: Any) -> Any:
        return most_probable(logits)

    @override
    def draw(self, rng: Any, logits: Any) -> Any:
        return draw_categories(logits, rng)[0]

    @override
    def density(self, actions: Any, logits: Any) -> Any:
        return categorical_logp(logits, actions)

    @override
    def deterministic(self, inputs: Any) -> Any:
        return most_probable(inputs if self.temperature == 1.0 else self.parameters(inputs)[0])

    @override
    def sample(self, inputs: Any, rng: Any) -> Any:
        return self.sample_with_logp(inputs, rng)[0]

    @override
    def sample_with_logp(self, inputs: Any, rng: Any) -> tuple[Any, Any]:
        is_plain = self.temperature == 1.0
        return draw_categories(inputs if is_plain else self.parameters(inputs)[0], rng)


@dataclass
class MultiCategorical(Family):
    """Several choices at once, the i-th among `lens[i]`; `shape` is an integer Box's own."""

    lens: tuple[int, ...]
    shape: tuple[int, ...] | None = None

    @property
    def size(self) -> int:  # type: ignore[override]  # that of all choices together
        """The logits of all choices together."""
        return sum(self.lens)

    @override
    def parameters(self, inputs: Any) -> tuple[Any, ...]:
        return tuple(np.split(inputs, np.cumsum(self.lens)[:-1], axis=-1))

    @override
    def mode(self, *logits: Any) -> Any:
        return self._join(map(most_probable, logits))

    @override
    def draw(self, rng: Any, *logits: Any) -> Any:
        return self._join(draw_categories(part, rng)[0] for part in logits)

    @override
    def density(self, actions: Any, *logits: Any) -> Any:
        columns = actions.reshape(-1, len(logits)).T
        terms = [*map(categorical_logp, logits, columns)]
        return xp.namespace(terms[0]).stack(terms).sum(0)

    @override
    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        drawn = [draw_categories(part, rng) for part in self.parameters(inputs)]
        return self._join(one for one, _ in drawn), np.sum([logp for _, logp in drawn], axis=0)

    def _join(self, chosen: Iterable[Any]) -> Any:
        columns = [*chosen]
        joined = xp.namespace(columns[0]).stack(columns, -1)
        return joined if self.shape is None else joined.reshape(-1, *self.shape)


@dataclass
class DiagGaussian(Family):
    """Independent Gaussians; inputs are means, then log standard deviations.

    Args:
        size: Twice the number of components.
        scalar: The action space has shape (): samples lose their last axis (the deterministic
            action keeps it, as in Ray).
    """

    size: int
    scalar: bool = False

    @override
    def parameters(self, inputs: Any) -> tuple[Any, Any]:
        mean, log_std = halves(inputs)
        return mean, np.exp(log_std)

    @override
    def mode(self, mean: Any, std: Any) -> Any:
        return mean

    @override
    def draw(self, rng: Any, mean: Any, std: Any) -> Any:
        drawn = draw_normal(mean, std, rng)
        return drawn[..., 0] if self.scalar else drawn

    @override
    def density(self, actions: Any, mean: Any, std: Any) -> Any:
        is_flat = self.scalar and actions.ndim < mean.ndim
        return normal_logp(mean, std, actions[..., None] if is_flat else actions).sum(-1)

    @override
    def deterministic(self, inputs: Any) -> Any:
        return inputs[..., : inputs.shape[-1] // 2]

    @override
    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """By the noise itself: it costs a few operations less."""
        mean, log_std = halves(inputs)
        noise = rng.standard_normal(mean.shape, np.float32)
        drawn: Array = mean + np.exp(log_std) * noise
        logp = -(noise * noise) * np.float32(0.5) - log_std - np.float32(HALF_LOG_TWO_PI)
        return drawn[..., 0] if self.scalar else drawn, np.add.reduce(logp, axis=-1)


@dataclass
class SquashedGaussian(Family):
    """A Gaussian bent into [low, high] by tanh; inputs as for `DiagGaussian`."""

    size: int
    low: float = -1.0
    high: float = 1.0

    @override
    def parameters(self, inputs: Any) -> tuple[Any, Any]:
        mean, log_std = halves(inputs)
        return mean, xp.namespace(inputs).exp(bounded(log_std, *LOG_STD_RANGE))

    @override
    def deterministic(self, inputs: Any) -> Any:
        return squash(inputs[..., : inputs.shape[-1] // 2], self.low, self.high)

    @override
    def mode(self, mean: Any, std: Any) -> Any:
        return squash(mean, self.low, self.high)

    @override
    def draw(self, rng: Any, mean: Any, std: Any) -> Any:
        return squash(mean + draw_noise(mean, rng) * std, self.low, self.high)

    @override
    def density(self, actions: Any, mean: Any, std: Any) -> Any:
        raw = unsquash(actions, self.low, self.high)
        functions = xp.namespace(raw)
        bent = functions.tanh(raw)
        bend = functions.log(1 - bent * bent + SMALL)
        return bounded(normal_logp(mean, std, raw), -100, 100).sum(-1) - bend.sum(-1)


@dataclass
class Beta(Family):
    """A Beta distribution stretched to [low, high].

    Inputs are pre-alphas, then pre-betas; each becomes log(exp(x) + 1) + 1.
    """

    size: int
    low: float = 0.0
    high: float = 1.0

    @override
    def parameters(self, inputs: Any) -> tuple[Any, Any]:
        return halves(self.shapes(inputs))

    @staticmethod
    def shapes(inputs: Any) -> Any:
        """Alphas and betas, still side by side."""
        functions, edge = xp.namespace(inputs), -math.log(SMALL)
        return functions.log(functions.exp(bounded(inputs, -edge, edge)) + 1.0) + 1.0

    @override
    def mode(self, alpha: Any, beta: Any) -> Any:
        return self._stretched(alpha / (alpha + beta))

    @override
    def draw(self, rng: Any, alpha: Any, beta: Any) -> Any:
        return xp.cast_like(self._stretched(draw_beta(alpha, beta, rng)), alpha)

    @override
    def density(self, actions: Any, alpha: Any, beta: Any) -> Any:
        share, stack = (actions - self.low) / (self.high - self.low), xp.namespace(alpha).stack
        logp = dirichlet_logp(stack([alpha, beta], -1), stack([share, 1 - share], -1))
        return xp.cast_like(logp.sum(-1), alpha)

    def _stretched(self, share: Any) -> Any:
        return share * (self.high - self.low) + self.low


@dataclass
class Deterministic(Family):
    """The inputs are the action, and its log-probability is 0."""

    size: int

    @override
    def mode(self, actions: Any) -> Any:
        return actions

    @override
    def draw(self, rng: Any, actions: Any) -> Any:
        return actions

    @override
    def density(self, actions: Any, certain: Any) -> Any:
        return np.zeros(len(certain), np.float32)


@dataclass
class Dirichlet(Family):
    """Shares that sum to one; inputs are log concentrations."""

    FLOOR: ClassVar[float] = float(np.float32(1e-7))
    """Added to concentrations; also the smallest share."""
    size: int

    @override
    def parameters(self, inputs: Any) -> tuple[Any]:
        return (xp.namespace(inputs).exp(inputs) + self.FLOOR,)

    @override
    def mode(self, concentration: Any) -> Any:
        """The softmax of the concentrations (what Ray takes, it is not the mean)."""
        return softmax(concentration)

    @override
    def draw(self, rng: Any, concentration: Any) -> Any:
        return xp.cast_like(draw_dirichlet(concentration, rng), concentration)

    @override
    def density(self, actions: Any, concentration: Any) -> Any:
        """Log-density, with shares kept above 1e-7 and made to sum to one."""
        shares = actions.clip(min=self.FLOOR)
        logp = dirichlet_logp(concentration, shares / shares.sum(-1)[..., None])
        return xp.cast_like(logp, concentration)


@dataclass
class GaussianArms(Family):
    """Thompson sampling: draw what each arm may be worth, take the best.

    Inputs are the expected worth of each arm, then the deviations. Which arm is drawn best has no
    probability in closed form.

    Example:
        >>> GaussianArms(4).deterministic(np.array([[0.5, 1.0, 9.0, 0.1]], np.float32))
        array([1], dtype=int32)
    """

    size: int

    @override
    def parameters(self, inputs: Any) -> tuple[Any, Any]:
        return halves(inputs)

    @override
    def mode(self, worth: Any, deviation: Any) -> Any:
        return worth.argmax(-1) if xp.is_tensor(worth) else most_probable(worth)

    @override
    def draw(self, rng: Any, worth: Any, deviation: Any) -> Any:
        if xp.is_tensor(worth):
            randn = xp.namespace(worth).randn
            noise = randn(worth.shape, generator=rng, device=worth.device)
            return (worth + deviation * noise).argmax(-1)
        noise = rng.standard_normal(worth.shape).astype(worth.dtype)
        return most_probable(worth + deviation * noise)

    @override
    def density(self, actions: Any, worth: Any, deviation: Any) -> Any:
        raise NotImplementedError("Thompson sampling gives its arms no log-probabilities.")

    @override
    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        return self.sample(inputs, rng), np.zeros(len(inputs), np.float32)


FAMILIES: Final[dict[str, Any]] = {
    "categorical": Categorical,
    "multi_categorical": MultiCategorical,
    "diag_gaussian": DiagGaussian,
    "squashed_gaussian": SquashedGaussian,
    "beta": Beta,
    "deterministic": Deterministic,
    "dirichlet": Dirichlet,
    "gaussian_arms": GaussianArms,
}
