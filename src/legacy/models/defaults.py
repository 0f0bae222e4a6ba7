"""The model settings of the old stack: defaults, and what the names of weights tell of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...core.errors import ConfigError
from ...core.formulas.convolutions import CONV_DEFAULTS

# -1 marks settings that Ray gave up; they are kept because saved configs hold them.
MODEL_DEFAULTS: Final[dict[str, Any]] = {
    "_disable_action_flattening": False,
    "_disable_preprocessor_api": False,
    "_time_major": False,
    "_use_default_native_models": -1,
    "always_check_shapes": False,
    "attention_dim": 64,
    "attention_head_dim": 32,
    "attention_init_gru_gate_bias": 2.0,
    "attention_memory_inference": 50,
    "attention_memory_training": 50,
    "attention_num_heads": 1,
    "attention_num_transformer_units": 1,
    "attention_position_wise_mlp_dim": 32,
    "attention_use_n_prev_actions": 0,
    "attention_use_n_prev_rewards": 0,
    "conv_activation": "relu",
    "conv_filters": None,
    "custom_action_dist": None,
    "custom_model": None,
    "custom_model_config": {},
    "custom_preprocessor": None,
    "dim": 84,
    "encoder_latent_dim": None,
    "fcnet_activation": "tanh",
    "fcnet_hiddens": [256, 256],
    "framestack": True,
    "free_log_std": False,
    "grayscale": False,
    "log_std_clip_param": 20.0,
    "lstm_cell_size": 256,
    "lstm_use_prev_action": False,
    "lstm_use_prev_action_reward": -1,
    "lstm_use_prev_reward": False,
    "max_seq_len": 20,
    "no_final_linear": False,
    "post_fcnet_activation": "relu",
    "post_fcnet_hiddens": [],
    "use_attention": False,
    "use_lstm": False,
    "vf_share_layers": True,
    "zero_mean": True,
}


def with_defaults(model_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the settings with every unset one at its default; unknown keys are kept."""
    config = {**MODEL_DEFAULTS, **model_config}
    # One switch for both, before Ray 1.3; -1 says it is not used.
    if config["lstm_use_prev_action_reward"] not in (-1, False, None):
        config["lstm_use_prev_action"] = config["lstm_use_prev_reward"] = True
    return config


def get_filter_config(shape: Sequence[int]) -> list[list[Any]]:
    """Return the convolutions the old stack uses for an image when none are set.

    Args:
        shape: `(H, W)`, `(H, W, C)` or `(C, H, W)`.

    Raises:
        ConfigError: There is no default for that size.
    """
    for size in (tuple(shape[:2]), tuple(shape[1:])):
        if len(shape) in (2, 3) and size in CONV_DEFAULTS:
            return CONV_DEFAULTS[size]
    sizes = ", ".join(f"{height}x{width}" for height, width in CONV_DEFAULTS)
    raise ConfigError(
        "there are no default convolutions for this image size",
        expected=f"one of {sizes}",
        found=f"shape {tuple(shape)}",
        hint='set model_config["conv_filters"] = [[channels, kernel, stride], ...].',
    )


KERAS_LAYERS: Final = "_keras_layers"
"""Model setting of networks that TensorFlow saved, which differ from torch networks.

Attention: the dense layers of a unit have a bias, and layer norms use another epsilon. Images: all
layers of `post_fcnet_hiddens` have an activation, and a shared value uses the last of them. Dueling
Q branches without hidden layers have an output layer for the value. The names of the weights
identify such networks, and are kept when a policy is exported.
"""
NORM_EPSILON: Final = 1e-3
"""The number that Keras adds to a variance."""
_BIASED: Final = "._layer.1._model.0.bias"
_POST: Final = "_post_fcnet."
_VALUE: Final = "value_module.V._model.0.weight"


def has_keras_layers(names: Iterable[str]) -> bool:
    """Whether weights of these names are those of a network that differs."""
    all_names = set(names)
    if _VALUE in all_names and not any(name.startswith("advantage_module.") for name in all_names):
        return True
    return any(name.endswith(_BIASED) or name.startswith(_POST) for name in all_names)


def with_keras_layers(config: Mapping[str, Any]) -> dict[str, Any]:
    """A trainer config whose networks are built as TensorFlow does.

    Example:
        >>> with_keras_layers({"model": {"use_attention": True}})
        {'model': {'use_attention': True, '_keras_layers': True}}
    """
    return {**config, "model": {**(config.get("model") or {}), KERAS_LAYERS: True}}


LEARNED_SWISH: Final = "learned_swish"
"""The swish activation of Ray 2.2 and older, whose slope is a weight `_beta`."""
_PLAIN_NAMES: Final = frozenset({"swish", "silu"})


def has_learned_swish(names: Iterable[str]) -> bool:
    """Whether weights of these names hold slopes of swish."""
    return any(name.endswith("._beta") for name in names)


def with_learned_swish(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings whose swish activations, at any depth, are those with a weight.

    Example:
        >>> with_learned_swish({"model": {"fcnet_activation": "Swish", "fcnet_hiddens": [8]}})
        {'model': {'fcnet_activation': 'learned_swish', 'fcnet_hiddens': [8]}}
    """

    def replaced(key: Any, value: Any) -> Any:
        if isinstance(value, Mapping):
            return with_learned_swish(value)
        named = isinstance(value, str) and str(key).endswith("activation")
        return LEARNED_SWISH if named and value.lower() in _PLAIN_NAMES else value

    return {key: replaced(key, value) for key, value in config.items()}
