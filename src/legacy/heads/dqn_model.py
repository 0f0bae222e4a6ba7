"""The Q network of DQN: any trunk of the catalog with an advantage and a value branch on top."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from gymnasium.spaces import Space
from torch import Tensor, nn

from ...core.errors import ConfigError
from ...core.nets.layer_formulas import dueling_logits, dueling_q, expected_return, support
from ..distributions.choice import DistributionChoice
from ..models.base import LegacyModel
from ..models.defaults import KERAS_LAYERS
from ..models.layers import SlimFC, activation
from .head import PolicyHead, PolicyOutputs

NOISE_KINDS = ("mean", "ray")


class NoisyLayer(nn.Module):
    """A dense layer with learnt noise on weights and bias.

    Weights are stored (in, out) under the names `w`, `b`, `sigma_w`, `sigma_b`.

    Args:
        in_size: Features in.
        out_size: Features out.
        sigma0: What the bias noise starts from.
        activation: Name or factory of the activation; None for none.

    `noise` controls the forward pass: "mean" (default) omits the noise; "ray" samples it in every
    pass, with or without exploration, as Ray does, from torch's global generator.
    """

    def __init__(
        self,
        in_size: int,
        out_size: int,
        sigma0: float,
        activation: str | Callable[[], nn.Module] | None = "relu",
    ) -> None:
        super().__init__()
        self.in_size, self.out_size, self.sigma0 = in_size, out_size, sigma0
        self.noise = "mean"
        bound = 1.0 / math.sqrt(in_size)
        start = 6.0 / math.sqrt(in_size + out_size)
        self.sigma_w = nn.Parameter(torch.empty(in_size, out_size).uniform_(-bound, bound))
        self.sigma_b = nn.Parameter(torch.full((out_size,), sigma0 * bound))
        self.w = nn.Parameter(torch.full((in_size, out_size), start))
        self.b = nn.Parameter(torch.zeros(out_size))
        self.activation = _made(activation)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map `(B, in_size)` to `(B, out_size)`."""
        weight: Tensor = self.w
        bias: Tensor = self.b
        if self.noise == "ray":
            rows, columns = _factor(self.in_size, inputs), _factor(self.out_size, inputs)
            weight = weight + self.sigma_w * (rows[:, None] * columns)
            bias = bias + self.sigma_b * columns
        out = inputs @ weight + bias
        return out if self.activation is None else self.activation(out)


def set_noise(model: nn.Module, noise: str) -> None:
    """Decide for every noisy layer of a network what its noise does; see `NoisyLayer`."""
    if noise not in NOISE_KINDS:
        raise ConfigError(
            "unknown way to treat noisy layers",
            expected=" or ".join(map(repr, NOISE_KINDS)),
            found=repr(noise),
        )
    for layer in model.modules():
        if isinstance(layer, NoisyLayer):
            layer.noise = noise


def _made(name: str | Callable[[], nn.Module] | None) -> nn.Module | None:
    make = activation(name)
    return None if make is None else make()


def _factor(size: int, like: Tensor) -> Tensor:
    # Drawn on the CPU whatever the device, and input side first: the order Ray draws in.
    drawn = torch.normal(torch.zeros(size), torch.ones(size)).to(like.device)
    return drawn.sign() * drawn.abs().sqrt()


Layer = Callable[[int, int, str | None], nn.Module]


class DQNTorchModel(LegacyModel):
    """Q branches, to be mixed into the network that computes the features.

    Args:
        action_space: A Discrete space.
        num_outputs: Width of the features.
        q_hiddens: Hidden layers of each branch; none: the features are the Q values.
        dueling: Whether there is a value branch.
        dueling_activation: Activation of the hidden layers.
        num_atoms: Atoms of a distributional head; 1 for plain Q-values.
        use_noisy: Whether the branches consist of noisy layers.
        v_min: Return of the first atom.
        v_max: Return of the last atom.
        sigma0: Initial scale of the noise in noisy layers.
        add_layer_norm: Whether each hidden layer is followed by a layer norm.
    """

    def __init__(
        self,
        obs_space: Space[Any],
        action_space: Space[Any],
        num_outputs: int,
        model_config: Mapping[str, Any],
        name: str = "",
        *,
        q_hiddens: Sequence[int] = (256,),
        dueling: bool = False,
        dueling_activation: str = "relu",
        num_atoms: int = 1,
        use_noisy: bool = False,
        v_min: float = -10.0,
        v_max: float = 10.0,
        sigma0: float = 0.5,
        add_layer_norm: bool = False,
    ) -> None:
        super().__init__(obs_space, action_space, num_outputs, model_config, name)
        self.dueling, self.num_atoms, self.sigma0 = dueling, num_atoms, sigma0
        self.v_min, self.v_max = v_min, v_max
        layer = _noisy(sigma0) if use_noisy else _dense
        widths = [num_outputs, *q_hiddens]
        has_outputs = bool(use_noisy or q_hiddens)

        def branch(letter: str, outputs: int, has_outputs: bool) -> nn.Sequential:
            layers = nn.Sequential()
            for i, (width, units) in enumerate(pairwise(widths)):
                layers.add_module(f"dueling_{letter}_{i}", layer(width, units, dueling_activation))
                if add_layer_norm and not use_noisy:
                    layers.add_module(f"LayerNorm_{letter}_{i}", nn.LayerNorm(units))
            if has_outputs:
                layers.add_module(letter, layer(widths[-1], outputs, None))
            return layers

        # Nothing reads the trunk's value output, and TensorFlow policies save none that fits.
        self.unused_weights = (*super().unused_weights, "_value_branch")
        self.num_actions = int(action_space.n)  # type: ignore[attr-defined]  # Discrete
        self.advantage_module = branch("A", self.num_actions * num_atoms, has_outputs)
        if dueling:
            keras = bool(model_config.get(KERAS_LAYERS))
            self.value_module = branch("V", num_atoms, has_outputs or keras)

    def get_q_value_distributions(self, model_out: Tensor) -> tuple[Tensor, ...]:
        """Scores of the actions from features, before the value branch is added.

        Returns:
            (scores, logits, probabilities), the latter two ones where there are no atoms;
            (scores, atoms, logits, logits, probabilities) where there are.
        """
        scores: Tensor = self.advantage_module(model_out)
        if self.num_atoms == 1:
            ones = scores.new_ones(scores.shape).unsqueeze(-1)
            return scores, ones, ones
        atoms = support(self.num_atoms, self.v_min, self.v_max, like=scores)
        logits = scores.reshape(-1, self.num_actions, self.num_atoms)
        chances = logits.softmax(dim=-1)
        return (atoms * chances).sum(-1), atoms, logits, logits, chances

    def get_state_value(self, model_out: Tensor) -> Tensor:
        """The value branch's outputs from features."""
        value: Tensor = self.value_module(model_out)
        return value

    def q_values(self, model_out: Tensor) -> Tensor:
        """Q values of all actions from features, `(B, n)`."""
        scores, *rest = self.get_q_value_distributions(model_out)
        if not self.dueling:
            return scores
        value = self.get_state_value(model_out)
        if self.num_atoms == 1:
            values: Tensor = dueling_q(scores, value)
            return values
        atoms, logits = rest[:2]
        values = expected_return(dueling_logits(logits, value), atoms)
        return values


class DQNHead(PolicyHead):
    """Head whose Q-values are used as logits to choose the best action.

    Where the trunk is recurrent (R2D2) the state goes through it.

    Q values are divided by the temperature, in the fetches as well (as in Ray).
    """

    def __init__(
        self,
        algorithm: str,
        model: Any,
        distribution: DistributionChoice,
        temperature: float = 1.0,
    ) -> None:
        super().__init__(algorithm, model, distribution)
        self.temperature = float(temperature)

    def _outputs(
        self, input_dict: Mapping[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> PolicyOutputs:
        """Run trunk and branches on a batch."""
        features, state_out = self.model(input_dict, state, seq_lens)
        values = self.model.q_values(features)
        if self.temperature != 1.0:
            values = values / self.temperature
        return PolicyOutputs(values, self.dist_class, state_out, {"q_values": values})


def _dense(width: int, units: int, activation: str | None) -> nn.Module:
    return SlimFC(width, units, activation_fn=activation)


def _noisy(sigma0: float) -> Layer:
    return lambda width, units, activation: NoisyLayer(width, units, sigma0, activation)
