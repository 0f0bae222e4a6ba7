"""Which networks fit which spaces and settings: the base catalog.

A catalog is made per module. A subclass changes one network by overriding one method:
`_get_encoder_config` for the encoder, `build_pi_head` and its kin (see `catalogs`) for the heads.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from gymnasium.spaces import Space

from ...core.errors import ConfigError
from .action_distributions import UnsupportedSpaceException, distribution_class
from .convolution_shapes import default_filters
from .model_config import DENSE_LAYERS, LSTM_RESIDUAL, as_settings, initializers, with_defaults
from .network_configs import (
    CNNEncoderConfig,
    FreeLogStdMLPHeadConfig,
    MLPEncoderConfig,
    MLPHeadConfig,
    ModelConfig,
    RecurrentEncoderConfig,
)


class Catalog:
    """Builds an encoder for observations and names a distribution for actions.

    Args:
        observation_space: What the module takes.
        action_space: What it gives.
        model_config_dict: Settings, see `DefaultModelConfig`; others are kept for subclasses.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> Catalog(Box(-1, 1, (3,)), Discrete(2), {"fcnet_hiddens": [8, 4]}).latent_dims
        (4,)
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        model_config_dict: Mapping[str, Any],
    ) -> None:
        self.observation_space = observation_space
        self.action_space = action_space
        self._model_config_dict = with_defaults(model_config_dict)
        self._latent_dims: tuple[int, ...] | None = None
        self._determine_components_hook()
        self._describe_heads()

    def _describe_heads(self) -> None:
        """Say which heads there are, once the encoder is known; none here."""

    def _determine_components_hook(self) -> None:
        """Decide on the encoder and the distribution; a subclass may decide otherwise."""
        self._encoder_config: Any = self._get_encoder_config(
            observation_space=self.observation_space,
            action_space=self.action_space,
            model_config_dict=self._model_config_dict,
        )
        self._action_dist_class_fn = functools.partial(
            self._get_dist_cls_from_action_space, action_space=self.action_space
        )
        self._latent_dims = self._encoder_config.output_dims

    @property
    def encoder_config(self) -> Any:
        """The config from which the encoder is built."""
        return self._encoder_config

    @property
    def latent_dims(self) -> tuple[int, ...]:
        """Shape of the encoder's output."""
        return self._latent_dims or ()

    @latent_dims.setter
    def latent_dims(self, value: tuple[int, ...]) -> None:
        self._latent_dims = value

    def build_encoder(self, framework: str = "torch") -> Any:
        """Make the encoder."""
        return self._encoder_config.build(framework=framework)

    def get_action_dist_cls(self, framework: str = "torch") -> Any:
        """Return the distribution class of the action space."""
        return self._action_dist_class_fn(framework=framework)

    @classmethod
    def _get_encoder_config(
        cls,
        observation_space: Space[Any],
        model_config_dict: Mapping[str, Any],
        action_space: Space[Any] | None = None,
    ) -> ModelConfig:
        """Decide on the encoder: dense for flat Boxes, convolutions for images, an LSTM over it."""
        settings = with_defaults(model_config_dict)
        if settings["use_lstm"]:
            return RecurrentEncoderConfig(
                input_dims=observation_space.shape,
                recurrent_layer_type="lstm",
                hidden_dim=settings["lstm_cell_size"],
                num_layers=1,
                batch_major=not settings.get("_time_major", False),
                **initializers(settings, "lstm", "hidden_weights", "hidden_bias"),
                tokenizer_config=cls.get_tokenizer_config(observation_space, settings),
                is_residual=bool(settings.get(LSTM_RESIDUAL)),
            )
        shape = observation_space.shape if isinstance(observation_space, spaces.Box) else None
        if shape is not None and len(shape) == 1:
            return _dense_encoder(shape, settings)
        if shape is not None and len(shape) == 3:
            return _image_encoder(shape, settings)
        is_matrix = shape is not None and len(shape) == 2
        raise UnsupportedSpaceException(
            f"no default encoder for obs space {observation_space!r}",
            expected="a Box of one axis, or of three for images",
            hint="flatten it to one axis, or give it three."
            if is_matrix
            else "add FlattenObservations before the module, or write a custom module.",
        )

    @classmethod
    def get_tokenizer_config(
        cls, observation_space: Space[Any], model_config_dict: Mapping[str, Any]
    ) -> ModelConfig:
        """Decide on the encoder in front of a recurrent layer."""
        settings = {**as_settings(model_config_dict), "use_lstm": False}
        return cls._get_encoder_config(
            observation_space=observation_space, model_config_dict=settings, action_space=None
        )

    @classmethod
    def _get_dist_cls_from_action_space(
        cls, action_space: Space[Any], *, framework: str | None = None
    ) -> Any:
        """Name the distribution that fits an action space."""
        return distribution_class(action_space)

    def _head_config(
        self,
        output_layer_dim: int,
        *,
        is_free_log_std: bool = False,
        use_layernorm: bool = False,
        clip_log_std: bool = False,
        log_std_clip_param: float = 20.0,
    ) -> MLPHeadConfig | FreeLogStdMLPHeadConfig:
        """Describe a head with the `head_fcnet_*` settings."""
        settings = self._model_config_dict
        kind = FreeLogStdMLPHeadConfig if is_free_log_std else MLPHeadConfig
        return kind(
            input_dims=self.latent_dims,
            hidden_layer_dims=settings["head_fcnet_hiddens"],
            hidden_layer_activation=settings["head_fcnet_activation"],
            hidden_layer_use_layernorm=use_layernorm,
            output_layer_dim=output_layer_dim,
            output_layer_activation="linear",
            **initializers(settings, "head_fcnet", *DENSE_LAYERS),
            clip_log_std=clip_log_std,
            log_std_clip_param=log_std_clip_param,
        )

    def _policy_head_config(self, framework: str) -> MLPHeadConfig | FreeLogStdMLPHeadConfig:
        """Describe the head that gives the inputs of the action distribution."""
        action_dist_cls = self.get_action_dist_cls(framework=framework)
        is_free = bool(self._model_config_dict["free_log_std"])
        is_gaussian = _check_if_diag_gaussian(action_dist_cls, framework, no_error=not is_free)
        return self._head_config(
            # By name: a user's own class may have further arguments.
            int(action_dist_cls.required_input_dim(space=self.action_space)),
            is_free_log_std=is_free,
            use_layernorm=self._model_config_dict["head_fcnet_use_layernorm"],
            clip_log_std=is_gaussian,
            log_std_clip_param=self._model_config_dict["log_std_clip_param"],
        )


def _dense_encoder(shape: tuple[int, ...], settings: Mapping[str, Any]) -> MLPEncoderConfig:
    hiddens = list(settings["fcnet_hiddens"])
    if not hiddens:
        raise ConfigError(
            "fcnet_hiddens is empty, but a dense encoder needs a layer",
            expected="at least one size",
            found="[]",
        )
    return MLPEncoderConfig(
        input_dims=shape,
        hidden_layer_dims=hiddens[:-1],
        hidden_layer_activation=settings["fcnet_activation"],
        hidden_layer_use_layernorm=settings["fcnet_use_layernorm"],
        output_layer_dim=hiddens[-1],
        output_layer_activation=settings["fcnet_activation"],
        output_layer_use_layernorm=settings["fcnet_use_layernorm"],
        **initializers(settings, "fcnet", *DENSE_LAYERS),
    )


def _image_encoder(shape: tuple[int, ...], settings: Mapping[str, Any]) -> CNNEncoderConfig:
    return CNNEncoderConfig(
        input_dims=shape,
        cnn_filter_specifiers=settings["conv_filters"] or default_filters(shape),
        cnn_activation=settings["conv_activation"],
        **initializers(settings, "conv", "cnn_kernel", "cnn_bias"),
    )


def _check_if_diag_gaussian(
    action_distribution_cls: Any, framework: str = "torch", no_error: bool = False
) -> bool:
    """True if a distribution is the diagonal normal; all else is an error unless `no_error`."""
    from ..distributions.torch_continuous import TorchDiagGaussian

    is_gaussian = isinstance(action_distribution_cls, type) and issubclass(
        action_distribution_cls, TorchDiagGaussian
    )
    if not is_gaussian and not no_error:
        raise ConfigError(
            "free_log_std needs actions from a diagonal normal distribution",
            expected="TorchDiagGaussian",
            found=getattr(action_distribution_cls, "__name__", repr(action_distribution_cls)),
        )
    return is_gaussian
