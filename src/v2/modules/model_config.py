"""The settings of the default networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Final

Initializer = str | Callable[..., Any] | None

LSTM_RESIDUAL: Final = "lstm_residual"
"""A setting of ours that RLlib lacks, so it is written down only where it is used: an LSTM's output
is added to the features in front of it through a gate that starts closed."""


@dataclass
class DefaultModelConfig:
    """Settings of default networks; they can also be passed as a dict.

    Each `*_kernel_initializer` and `*_bias_initializer` is the name of a `torch.nn.init` function
    that works in place, such as "xavier_uniform_", or such a function, or None for torch's
    default; the `*_kwargs` behind it are its further arguments.

    Args:
        fcnet_hiddens: Sizes of the dense encoder's layers; the last one is its output.
        fcnet_activation: "relu", "tanh", "elu", "silu", "swish", "linear" or the name of a
            `torch.nn` class, after each layer.
        fcnet_use_layernorm: Whether to normalise between each layer and its activation.
        conv_filters: For images, one entry per layer: `[channels, kernel, stride]` and perhaps
            "same" or "valid"; None takes the default for 10, 42, 64, 84 or 96 pixels a side.
        conv_activation: After each convolution.
        head_fcnet_hiddens: Sizes of the layers between the encoder and each head's output.
        head_fcnet_activation: Activation after each of them, except after the output.
        head_fcnet_use_layernorm: Whether to normalize between each layer and its activation.
        free_log_std: Whether the standard deviations of continuous actions are parameters instead
            of network outputs.
        log_std_clip_param: Bound on the magnitude of their logarithms.
        vf_share_layers: Whether actor and critic share one encoder.
        use_lstm: Whether an LSTM follows the encoder.
        max_seq_len: Steps a training sequence is cut into.
        lstm_cell_size: Cells of the LSTM.
        lstm_use_prev_action: Kept for RLlib's sake, as the next one; use `PrevActionsPrevRewards`.
        fusionnet_hiddens: Sizes of the layers that join observation and action (SAC).
        fusionnet_activation: After each of them.

    Example:
        >>> DefaultModelConfig(fcnet_hiddens=[64]).fcnet_hiddens
        [64]
    """

    fcnet_hiddens: Sequence[int] = field(default_factory=lambda: [256, 256])
    fcnet_activation: str = "tanh"
    fcnet_kernel_initializer: Initializer = None
    fcnet_kernel_initializer_kwargs: dict[str, Any] | None = None
    fcnet_bias_initializer: Initializer = None
    fcnet_bias_initializer_kwargs: dict[str, Any] | None = None
    fcnet_use_layernorm: bool = False

    conv_filters: Sequence[Any] | None = None
    conv_activation: str = "relu"
    conv_kernel_initializer: Initializer = None
    conv_kernel_initializer_kwargs: dict[str, Any] | None = None
    conv_bias_initializer: Initializer = None
    conv_bias_initializer_kwargs: dict[str, Any] | None = None

    head_fcnet_hiddens: Sequence[int] = field(default_factory=list)
    head_fcnet_activation: str = "relu"
    head_fcnet_kernel_initializer: Initializer = None
    head_fcnet_kernel_initializer_kwargs: dict[str, Any] | None = None
    head_fcnet_bias_initializer: Initializer = None
    head_fcnet_bias_initializer_kwargs: dict[str, Any] | None = None
    head_fcnet_use_layernorm: bool = False

    free_log_std: bool = False
    log_std_clip_param: float = 20.0
    vf_share_layers: bool = True

    use_lstm: bool = False
    max_seq_len: int = 20
    lstm_cell_size: int = 256
    lstm_use_prev_action: bool = False
    lstm_use_prev_reward: bool = False
    lstm_kernel_initializer: Initializer = None
    lstm_kernel_initializer_kwargs: dict[str, Any] | None = None
    lstm_bias_initializer: Initializer = None
    lstm_bias_initializer_kwargs: dict[str, Any] | None = None

    fusionnet_hiddens: Sequence[int] = field(default_factory=lambda: [256, 256])
    fusionnet_activation: str = "tanh"
    fusionnet_kernel_initializer: Initializer = None
    fusionnet_kernel_initializer_kwargs: dict[str, Any] | None = None
    fusionnet_bias_initializer: Initializer = None
    fusionnet_bias_initializer_kwargs: dict[str, Any] | None = None


def initializers(settings: Mapping[str, Any], prefix: str, *layers: str) -> dict[str, Any]:
    """Return the initializers of weights and biases, under the names of network configs.

    Args:
        settings: All settings.
        prefix: Prefix of the settings: `fcnet`, `conv`.
        layers: Prefixes of the names in a network config: `hidden_layer_weights`.

    Example:
        >>> initializers({**vars(DefaultModelConfig()), "conv_bias_initializer": "zeros_"},
        ...              "conv", "cnn_bias")
        {'cnn_bias_initializer': 'zeros_', 'cnn_bias_initializer_config': None}
    """
    initializers = {}
    for layer in layers:
        part = f"{prefix}_{'bias' if layer.endswith('bias') else 'kernel'}_initializer"
        initializers[f"{layer}_initializer"] = settings[part]
        initializers[f"{layer}_initializer_config"] = settings[f"{part}_kwargs"]
    return initializers


DENSE_LAYERS: Final = (
    "hidden_layer_weights",
    "hidden_layer_bias",
    "output_layer_weights",
    "output_layer_bias",
)


def as_settings(model_config: Any) -> dict[str, Any]:
    """Return a copy of the settings as a dict, from a dict, a dataclass or None."""
    if model_config is None:
        return {}
    if is_dataclass(model_config) and not isinstance(model_config, type):
        return asdict(model_config)
    return dict(model_config)


def with_defaults(model_config: Mapping[str, Any] | DefaultModelConfig | None) -> dict[str, Any]:
    """Settings as a dict, with a default for each that is not given."""
    return {**asdict(DefaultModelConfig()), **as_settings(model_config)}
