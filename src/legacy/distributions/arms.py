"""Thompson sampling on numpy arrays: draw what each arm may be worth, take the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .array_formulas import Array, most_probable


@dataclass(frozen=True)
class GaussianArms:
    """One of `arms` choices; inputs are the expected worth of each, then the deviations.

    Example:
        >>> GaussianArms(2).deterministic(np.array([[0.5, 1.0, 9.0, 0.1]], np.float32))
        array([1], dtype=int32)
    """

    arms: int

    @property
    def size(self) -> int:
        """Two inputs an arm."""
        return 2 * self.arms

    def deterministic(self, inputs: Array) -> Array:
        """The arm expected to be best."""
        return most_probable(inputs[..., : self.arms])

    def sample(self, inputs: Array, rng: np.random.Generator) -> Array:
        """The best arm of one draw."""
        worth, deviation = np.split(inputs, 2, axis=-1)
        noise = rng.standard_normal(worth.shape).astype(worth.dtype)
        return most_probable(worth + deviation * noise)

    def sample_with_logp(self, inputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """The best arm of one draw, and zeros: its probability has no formula."""
        return self.sample(inputs, rng), np.zeros(len(inputs), np.float32)

    def logp(self, inputs: Array, actions: Array) -> Array:
        """Refused: which arm is drawn best has no probability in closed form."""
        raise NotImplementedError("Thompson sampling gives its arms no log-probabilities.")
