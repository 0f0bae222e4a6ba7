"""Errors for settings of a module that contradict its weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...core.errors import WeightsError
from ...core.limits.misfits import Shapes, named, shape_misfit
from .model_config import with_defaults
from .torch_rl_module import WeightShapeError

_DECIDING: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("lstm", ("use_lstm",)),
    ("log_std", ("free_log_std",)),
    ("qf_twin", ("twin_q",)),
    ("fusion_layers", ("fusionnet_hiddens",)),
    ("cnn", ("conv_filters", "observation_space")),
    ("vf.net", ("dueling", "head_fcnet_hiddens")),
    ("coder", ("fcnet_hiddens", "fcnet_use_layernorm")),
    ("tokenizer", ("fcnet_hiddens", "fcnet_use_layernorm")),
    ("", ("head_fcnet_hiddens",)),
)
"""Parts of names of weights, and the settings that decide whether there are any."""


def module_misfit(
    expected_shapes: Shapes, saved_shapes: Shapes, module_id: str, arguments: Mapping[str, Any]
) -> WeightsError | None:
    """The error for the first weight that has another shape than the settings ask for."""
    return shape_misfit(
        expected_shapes, saved_shapes, f"module {module_id!r}", _flat(arguments), WeightShapeError
    )


def deciding(names: Iterable[str], settings: Mapping[str, Any]) -> str:
    """The settings that decide whether there are weights of these names, with their values."""
    matched = [next(keys for part, keys in _DECIDING if part in name) for name in names]
    keys_in_order = [key for _, keys in _DECIDING if keys in matched for key in keys]
    return named(dict.fromkeys(keys_in_order), _flat(settings))


def warn_of_encoders(record: Any, settings: Mapping[str, Any]) -> None:
    """Warn if the settings of encoders differ from what the weights imply."""
    setting, done = record.model_config.get("vf_share_layers"), settings.get("vf_share_layers")
    if setting is not None and done is not None and bool(setting) != bool(done):
        warnings.warn(
            f"the settings of module {record.id!r} say vf_share_layers={bool(setting)}, but its "
            f"weights are of {'one encoder' if done else 'two encoders'}: the weights decide.",
            UserWarning,
            stacklevel=2,
        )


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    config = with_defaults(settings.get("model_config"))
    spaces = {key: settings.get(key) for key in ("observation_space", "action_space")}
    return {**config, **{key: space for key, space in spaces.items() if space is not None}}
