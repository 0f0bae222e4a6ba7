"""Configs of networks: small dataclasses with a `build` method, without importing torch."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...core.errors import ConfigError
from ...core.importing.torch_needed import torch_needed
from .convolution_shapes import output_shape

if TYPE_CHECKING:
    from .torch_model import TorchModel

Initializer = str | Callable[..., Any] | None
Dims = Sequence[int] | None


@dataclass
class ModelConfig(abc.ABC):
    """Base of all of them.

    Args:
        input_dims: Shape of one input.
        always_check_shapes: Kept for RLlib's sake; torch checks them itself.
    """

    input_dims: Dims = None
    always_check_shapes: bool = False

    @abc.abstractmethod
    def build(self, framework: str = "torch") -> TorchModel:
        """Make the network."""

    @property
    def output_dims(self) -> tuple[int, ...] | None:
        """Shape of one output, where it is known."""
        return None


@dataclass
class _DenseConfig(ModelConfig):
    """Dense layers.

    Args:
        hidden_layer_dims: Sizes of the layers before the output.
        hidden_layer_use_bias: Whether they add a bias.
        hidden_layer_activation: After each of them.
        hidden_layer_weights_initializer: Of their weights, as in `DefaultModelConfig`; its further
            arguments follow, and the same for biases.
        output_layer_dim: Size of the output layer; None leaves it out. The settings that follow are
            for it what those above are for hidden layers.
    """

    hidden_layer_dims: Sequence[int] = (256, 256)
    hidden_layer_use_bias: bool = True
    hidden_layer_activation: Any = "relu"
    hidden_layer_weights_initializer: Initializer = None
    hidden_layer_weights_initializer_config: Mapping[str, Any] | None = None
    hidden_layer_bias_initializer: Initializer = None
    hidden_layer_bias_initializer_config: Mapping[str, Any] | None = None
    output_layer_dim: int | None = None
    output_layer_use_bias: bool = True
    output_layer_activation: Any = "linear"
    output_layer_weights_initializer: Initializer = None
    output_layer_weights_initializer_config: Mapping[str, Any] | None = None
    output_layer_bias_initializer: Initializer = None
    output_layer_bias_initializer_config: Mapping[str, Any] | None = None


@dataclass
class _MLPConfig(_DenseConfig):
    """Dense layers one after the other.

    Args:
        hidden_layer_use_layernorm: Whether to normalise before a hidden layer's activation.
        output_layer_use_layernorm: Whether to normalise before the output's.
        clip_log_std: Whether the second half of the outputs are logarithms of deviations, to be
            held within `log_std_clip_param`.
        log_std_clip_param: That bound.
    """

    hidden_layer_use_layernorm: bool = False
    output_layer_use_layernorm: bool = False
    clip_log_std: bool = False
    log_std_clip_param: float = 20.0

    @property
    def output_dims(self) -> tuple[int, ...]:
        """Shape of one output."""
        if self.output_layer_dim is None and not self.hidden_layer_dims:
            raise ConfigError("a dense network needs hidden_layer_dims or an output_layer_dim")
        last = self.output_layer_dim
        return (int(self.hidden_layer_dims[-1] if last is None else last),)


@dataclass
class MLPHeadConfig(_MLPConfig):
    """Dense layers from features to outputs."""

    def build(self, framework: str = "torch") -> TorchModel:
        """Make the head."""
        with _torch(framework):
            from .layers import TorchMLPHead
        return TorchMLPHead(self)


@dataclass
class FreeLogStdMLPHeadConfig(_MLPConfig):
    """Dense layers for the means of actions; the standard deviations are free parameters."""

    def build(self, framework: str = "torch") -> TorchModel:
        """Make the head."""
        with _torch(framework):
            from .layers import TorchFreeLogStdMLPHead
        if self.output_dims[0] % 2:
            raise ConfigError(
                "a head with free log-deviations has means and deviations",
                expected="an even output_layer_dim",
                found=str(self.output_dims[0]),
            )
        return TorchFreeLogStdMLPHead(self)


@dataclass
class MLPEncoderConfig(_MLPConfig):
    """Dense layers from the `obs` column to features."""

    def build(self, framework: str = "torch") -> TorchModel:
        """Make the encoder."""
        with _torch(framework):
            from .encoders import TorchMLPEncoder
        return TorchMLPEncoder(self)


@dataclass
class CNNEncoderConfig(ModelConfig):
    """Convolutions from images `(height, width, channels)` to features.

    Args:
        cnn_filter_specifiers: One entry per layer: `[channels, kernel, stride]`, perhaps with
            "same" (the default) or "valid".
        cnn_use_bias: Whether they add a bias.
        cnn_activation: After each of them.
        cnn_use_layernorm: Whether to normalise over channels before it.
        cnn_kernel_initializer: Of their kernels; its further arguments follow, and the same for
            biases.
        flatten_at_end: Whether features are a flat vector.
    """

    cnn_filter_specifiers: Sequence[Any] = field(
        default_factory=lambda: [[16, [4, 4], 2], [32, [4, 4], 2], [64, [8, 8], 2]]
    )
    cnn_use_bias: bool = True
    cnn_activation: Any = "relu"
    cnn_use_layernorm: bool = False
    cnn_kernel_initializer: Initializer = None
    cnn_kernel_initializer_config: Mapping[str, Any] | None = None
    cnn_bias_initializer: Initializer = None
    cnn_bias_initializer_config: Mapping[str, Any] | None = None
    flatten_at_end: bool = True

    @property
    def output_dims(self) -> tuple[int, ...]:
        """Shape of one output."""
        height, width, channels = output_shape(self.input_dims or (), self.cnn_filter_specifiers)
        return (height * width * channels,) if self.flatten_at_end else (height, width, channels)

    def build(self, framework: str = "torch") -> TorchModel:
        """Make the encoder."""
        with _torch(framework):
            from .encoders import TorchCNNEncoder
        return TorchCNNEncoder(self)


@dataclass
class RecurrentEncoderConfig(ModelConfig):
    """A recurrent layer over the features of another encoder.

    Args:
        recurrent_layer_type: "lstm" or "gru".
        hidden_dim: Its cells.
        num_layers: Layers on top of each other.
        batch_major: Whether the batch axis comes before the time axis.
        hidden_weights_initializer: Initializer of its weights, followed by its arguments.
        use_bias: Whether it has biases, followed by their initializer.
        tokenizer_config: The encoder before it; with None, observations are its input.
        is_residual: Whether to add its output to the features of the tokenizer, through a gate that
            is initially closed. RLlib has no equivalent.
    """

    recurrent_layer_type: str = "lstm"
    hidden_dim: int = 256
    num_layers: int = 1
    batch_major: bool = True
    hidden_weights_initializer: Initializer = None
    hidden_weights_initializer_config: Mapping[str, Any] | None = None
    use_bias: bool = True
    hidden_bias_initializer: Initializer = None
    hidden_bias_initializer_config: Mapping[str, Any] | None = None
    tokenizer_config: ModelConfig | None = None
    is_residual: bool = False

    @property
    def output_dims(self) -> tuple[int, ...] | None:
        """Shape of one output."""
        if self.is_residual and self.tokenizer_config is not None:
            return self.tokenizer_config.output_dims
        return (int(self.hidden_dim),)

    def build(self, framework: str = "torch") -> TorchModel:
        """Make the encoder."""
        with _torch(framework):
            from .encoders import TorchGRUEncoder, TorchLSTMEncoder
        if self.recurrent_layer_type not in ("lstm", "gru"):
            raise ConfigError(
                "recurrent_layer_type", expected="'lstm' or 'gru'", found=self.recurrent_layer_type
            )
        return (TorchLSTMEncoder if self.recurrent_layer_type == "lstm" else TorchGRUEncoder)(self)


@dataclass
class ActorCriticEncoderConfig(ModelConfig):
    """One encoder for actor and critic, or one each.

    Args:
        base_encoder_config: What each of them is.
        shared: Whether there is one.
        inference_only: Whether the critic's own one is left out.
    """

    base_encoder_config: ModelConfig | None = None
    shared: bool = True
    inference_only: bool = False

    def build(self, framework: str = "torch") -> TorchModel:
        """Make the encoder."""
        with _torch(framework):
            from .encoders import TorchActorCriticEncoder, TorchStatefulActorCriticEncoder
        if isinstance(self.base_encoder_config, RecurrentEncoderConfig):
            return TorchStatefulActorCriticEncoder(self)
        return TorchActorCriticEncoder(self)


@dataclass
class MultiStreamEncoderConfig(_DenseConfig):
    """One encoder per column, joined by dense layers that each see the joined features again.

    Args:
        base_encoder_configs: Column name to encoder.
    """

    base_encoder_configs: Mapping[str, ModelConfig] = field(default_factory=dict)
    hidden_layer_dims: Sequence[int] = (256, 256, 256)

    @property
    def joined_dim(self) -> int:
        """Width of all features side by side."""
        return sum((config.output_dims or (0,))[0] for config in self.base_encoder_configs.values())

    @property
    def output_dims(self) -> tuple[int, ...]:
        """Shape of one output."""
        if self.output_layer_dim is not None:
            return (int(self.output_layer_dim),)
        last = self.hidden_layer_dims[-1] if self.hidden_layer_dims else 0
        return (int(last) + self.joined_dim,)

    def build(self, framework: str = "torch") -> TorchModel:
        """Make the encoder."""
        with _torch(framework):
            from .encoders import TorchMultiStreamEncoder
        return TorchMultiStreamEncoder(self)


def _torch(framework: str) -> AbstractContextManager[None]:
    """Context in which the networks of a framework are imported."""
    if framework != "torch":
        raise ConfigError("the framework of a network", expected="'torch'", found=repr(framework))
    return torch_needed("a network")
