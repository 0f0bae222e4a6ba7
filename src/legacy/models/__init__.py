"""Networks of RLlib's old stack, with its class names, settings and parameter names.

Nothing is imported until it is asked for: `as_data` reads networks without torch. Start reading at
`catalog.py` (which settings give which network), then `base.py` (what every network can do).
"""

from __future__ import annotations

from ...core.importing.lazy_names import lazy_names

_HOME = {
    "AppendBiasLayer": ".layers",
    "AttentionWrapper": ".attention",
    "ComplexInputNetwork": ".complex",
    "FullyConnectedNetwork": ".fcnet",
    "GTrXLNet": ".attention",
    "LSTMWrapper": ".lstm",
    "LegacyModel": ".base",
    "MODEL_DEFAULTS": ".defaults",
    "ModelCatalog": ".model_catalog",
    "ModelV2": ".base",
    "RLModuleNet": ".rlmodule",
    "RecurrentNetwork": ".lstm",
    "RepeatedValues": ".repeated_values",
    "Reshape": ".layers",
    "SlimConv2d": ".layers",
    "SlimFC": ".layers",
    "TorchModelV2": ".base",
    "VisionNetwork": ".visionnet",
    "build_model": ".catalog",
    "default_class": ".catalog",
    "flatten": ".original_observations",
    "get_activation_fn": ".layers",
    "get_filter_config": ".defaults",
    "get_initializer_fn": ".layers",
    "is_rlmodule": ".rlmodule",
    "load_weights": ".weights",
    "normc_initializer": ".layers",
    "register_custom_action_dist": "..distributions.registered",
    "register_custom_model": "..distributions.registered",
    "restore_original_dimensions": ".original_observations",
    "same_padding": ".layers",
    "valid_padding": ".layers",
    "with_defaults": ".defaults",
}

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME)
