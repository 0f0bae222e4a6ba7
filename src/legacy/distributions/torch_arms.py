"""Thompson sampling in torch: draw what each arm may be worth, take the best."""

from __future__ import annotations

import torch

from .torch_base import TorchDistributionWrapper


class TorchGaussianArms(TorchDistributionWrapper):
    """One of n choices; inputs are the expected worth of each, then the deviations.

    It has no log-probabilities: `sampled_action_logp` gives zeros, `logp` is refused.

    Example:
        >>> TorchGaussianArms(torch.tensor([[0.5, 1.0, 9.0, 0.1]])).deterministic_sample()
        tensor([1])
    """

    def deterministic_sample(self) -> torch.Tensor:
        """The arm expected to be best, (B,) int64."""
        worth, _ = self.inputs.chunk(2, dim=-1)
        chosen: torch.Tensor = worth.argmax(dim=-1)
        self.last_sample = chosen
        return chosen

    def _draw(self, generator: torch.Generator | None) -> torch.Tensor:
        worth, deviation = self.inputs.chunk(2, dim=-1)
        noise = torch.randn(worth.shape, generator=generator, device=worth.device)
        chosen: torch.Tensor = (worth + deviation * noise).argmax(dim=-1)
        return chosen

    def sampled_action_logp(self) -> torch.Tensor:
        """Zeros, (B,)."""
        return torch.zeros(self.inputs.shape[:-1], device=self.inputs.device)
