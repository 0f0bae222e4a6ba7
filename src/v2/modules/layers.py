"""Stacks of dense and convolutional layers with RLlib's parameter names, and heads of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn

from ...core.errors import ConfigError
from ...core.formulas.initializers import get_initializer_fn
from .convolution_shapes import Convolution
from .network_configs import FreeLogStdMLPHeadConfig, MLPHeadConfig, _MLPConfig
from .torch_model import TorchModel

Initializer = str | Callable[..., Any] | None

LAYER_NORM_EPSILON = 1e-3
_ACTIVATIONS: Mapping[str, type[nn.Module] | None] = {
    "linear": None,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "elu": nn.ELU,
    "silu": nn.SiLU,
    "swish": nn.SiLU,
}


def get_activation_fn(name: Any = None, framework: str = "torch") -> type[nn.Module] | Any:
    """The class of an activation; None where there is none.

    Args:
        name: "relu", "tanh", "elu", "silu", "swish", "linear", None, the name of a `torch.nn`
            class, or a class itself.
        framework: Only "torch".

    Example:
        >>> get_activation_fn("swish")
        <class 'torch.nn.modules.activation.SiLU'>
    """
    if name is None or not isinstance(name, str):
        return name
    if name.lower() in _ACTIVATIONS:
        return _ACTIVATIONS[name.lower()]
    activation = getattr(nn, name, None)
    if inspect.isclass(activation) and issubclass(activation, nn.Module):
        return activation
    raise ConfigError(
        f"unknown activation {name!r}",
        expected=f"one of {', '.join(_ACTIVATIONS)} or the name of a torch.nn class",
    )


def initialized(
    layer: nn.Module,
    weights: Initializer = None,
    weights_config: Mapping[str, Any] | None = None,
    bias: Initializer = None,
    bias_config: Mapping[str, Any] | None = None,
) -> nn.Module:
    """The layer itself, its weights and biases filled as asked."""
    for part, initializer, config in (
        ("weight", weights, weights_config),
        ("bias", bias, bias_config),
    ):
        fill = get_initializer_fn(initializer)
        if fill is None:
            continue
        for name, parameter in layer.named_parameters():
            if name.startswith(part):
                fill(parameter, **(config or {}))
    return layer


class TorchMLP(nn.Module):
    """Dense layers under the name `mlp`: each linear, perhaps normalised, then activated.

    Args:
        input_dim: Width of the input.
        hidden_layer_dims: Sizes of the layers before the output.
        output_dim: Size of the output layer; None leaves it out.

    The other settings are as in `MLPHeadConfig`.
    """

    def __init__(
        self,
        *,
        input_dim: int,
        hidden_layer_dims: Sequence[int],
        hidden_layer_activation: Any = "relu",
        hidden_layer_use_bias: bool = True,
        hidden_layer_use_layernorm: bool = False,
        hidden_layer_weights_initializer: Initializer = None,
        hidden_layer_weights_initializer_config: Mapping[str, Any] | None = None,
        hidden_layer_bias_initializer: Initializer = None,
        hidden_layer_bias_initializer_config: Mapping[str, Any] | None = None,
        output_dim: int | None = None,
        output_use_bias: bool = True,
        output_use_layernorm: bool = False,
        output_activation: Any = "linear",
        output_weights_initializer: Initializer = None,
        output_weights_initializer_config: Mapping[str, Any] | None = None,
        output_bias_initializer: Initializer = None,
        output_bias_initializer_config: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.input_dim = int(input_dim)
        layers: list[nn.Module] = []
        width = self.input_dim

        def add(size: int, bias: bool, norm: bool, activation: Any, *initializers: Any) -> None:
            nonlocal width
            layers.append(initialized(nn.Linear(width, size, bias=bias), *initializers))
            if norm:
                layers.append(nn.LayerNorm(size, eps=LAYER_NORM_EPSILON))
            kind = get_activation_fn(activation)
            if kind is not None:
                layers.append(kind())
            width = size

        hidden_fill = (
            hidden_layer_weights_initializer,
            hidden_layer_weights_initializer_config,
            hidden_layer_bias_initializer,
            hidden_layer_bias_initializer_config,
        )
        for size in hidden_layer_dims:
            norm, act = hidden_layer_use_layernorm, hidden_layer_activation
            add(int(size), hidden_layer_use_bias, norm, act, *hidden_fill)
        if output_dim is not None:
            output_fill = (
                output_weights_initializer,
                output_weights_initializer_config,
                output_bias_initializer,
                output_bias_initializer_config,
            )
            norm, act = output_use_layernorm, output_activation
            add(int(output_dim), output_use_bias, norm, act, *output_fill)
        self.output_dim = width
        self.mlp = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Map `(..., input_dim)` to `(..., output_dim)`."""
        out: Tensor = self.mlp(x)
        return out


class TorchCNN(nn.Module):
    """Convolutions under the name `cnn`; images in and out are `(B, height, width, channels)`.

    Args:
        input_dims: Height, width and channels of an image.
        cnn_filter_specifiers: One `[channels, kernel, stride]` per layer, perhaps with "valid".

    The other settings are as in `CNNEncoderConfig`.
    """

    def __init__(
        self,
        *,
        input_dims: Sequence[int],
        cnn_filter_specifiers: Sequence[Any],
        cnn_use_bias: bool = True,
        cnn_use_layernorm: bool = False,
        cnn_activation: Any = "relu",
        cnn_kernel_initializer: Initializer = None,
        cnn_kernel_initializer_config: Mapping[str, Any] | None = None,
        cnn_bias_initializer: Initializer = None,
        cnn_bias_initializer_config: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        height, width, channels = (int(side) for side in input_dims)
        size = (height, width)
        kind = get_activation_fn(cnn_activation)
        layers: list[nn.Module] = []
        for described in cnn_filter_specifiers:
            layer = Convolution.read(described)
            if layer.is_padded:
                layers.append(nn.ZeroPad2d(layer.padding(size)))
            convolution = nn.Conv2d(
                channels, layer.channels, layer.kernel, layer.stride, bias=cnn_use_bias
            )
            layers.append(
                initialized(
                    convolution,
                    cnn_kernel_initializer,
                    cnn_kernel_initializer_config,
                    cnn_bias_initializer,
                    cnn_bias_initializer_config,
                )
            )
            if cnn_use_layernorm:
                layers.append(LayerNorm1D(layer.channels, eps=LAYER_NORM_EPSILON))
            if kind is not None:
                layers.append(kind())
            size, channels = layer.output_size(size), layer.channels
        self.output_height, self.output_width = size
        self.output_depth = channels
        self.cnn = nn.Sequential(*layers)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map `(B, height, width, channels)` to the same with other sizes."""
        out: Tensor = self.cnn(inputs.permute(0, 3, 1, 2))
        return out.permute(0, 2, 3, 1)


class LayerNorm1D(nn.Module):
    """Normalises the channels of images `(B, channels, height, width)`, place by place."""

    def __init__(self, num_features: int, **kwargs: Any) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(num_features, **kwargs)

    def forward(self, x: Tensor) -> Tensor:
        """Keep the shape."""
        return torch.movedim(self.layer_norm(torch.movedim(x, 1, -1)), -1, 1)


def mlp_from(config: _MLPConfig, output_dim: int | None = None) -> TorchMLP:
    """The dense layers a config describes, perhaps with another output width."""
    names = {field.name for field in fields(_MLPConfig)}
    settings: dict[str, Any] = {
        name.replace("output_layer_", "output_"): value
        for name, value in vars(config).items()
        if name in names and name.startswith(("hidden_layer_", "output_layer_"))
    }
    if output_dim is not None:
        settings["output_dim"] = output_dim
    return TorchMLP(input_dim=int((config.input_dims or (0,))[0]), **settings)


class _Head(TorchModel):
    """Dense layers whose logarithms of deviations can be held in bounds.

    Its parameters' names are those of RLlib's files.
    """

    log_std_clip_param_const: Tensor

    def __init__(self, config: _MLPConfig, output_dim: int | None = None) -> None:
        super().__init__(config)
        self.net = mlp_from(config, output_dim)
        self.clip_log_std = config.clip_log_std
        bound = torch.tensor([float(config.log_std_clip_param)])
        self.register_buffer("log_std_clip_param_const", bound)

    def _bounded(self, log_stds: Tensor) -> Tensor:
        return log_stds.clamp(-self.log_std_clip_param_const, self.log_std_clip_param_const)


class TorchMLPHead(_Head):
    """Dense layers; with `clip_log_std`, the second half of the outputs is clipped."""

    def __init__(self, config: MLPHeadConfig) -> None:
        super().__init__(config)

    def _forward(self, inputs: Tensor, **kwargs: Any) -> Tensor:
        out: Tensor = self.net(inputs)
        if not self.clip_log_std:
            return out
        means, log_stds = out.chunk(2, dim=-1)
        return torch.cat((means, self._bounded(log_stds)), dim=-1)


class TorchFreeLogStdMLPHead(_Head):
    """Dense layers for means, and a parameter per action for the logarithm of its deviation."""

    def __init__(self, config: FreeLogStdMLPHeadConfig) -> None:
        half = config.output_dims[0] // 2
        super().__init__(config, None if config.output_layer_dim is None else half)
        self.log_std = nn.Parameter(torch.zeros(half))

    def _forward(self, inputs: Tensor, **kwargs: Any) -> Tensor:
        means: Tensor = self.net(inputs)
        log_stds: Tensor = self.log_std
        if self.clip_log_std:
            log_stds = self._bounded(log_stds)
        return torch.cat((means, log_stds.expand_as(means)), dim=-1)
