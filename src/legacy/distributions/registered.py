"""Models and action distributions that users registered by name, for configs that name them.

They are looked up where a policy is built. What is given there (`custom_models=...`) wins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

CUSTOM_MODELS: Final[dict[str, Callable[..., Any]]] = {}
"""Model classes, or factories of torch modules, by the name in `custom_model`."""

CUSTOM_DISTRIBUTIONS: Final[dict[str, Any]] = {}
"""Action distribution classes by the name in `custom_action_dist`."""


def register_custom_model(model_name: str, model_class: Callable[..., Any]) -> None:
    """Register a custom model class for the setting "custom_model" of a model config.

    Args:
        model_name: The name in configs and checkpoints. Registering a name again replaces the
            class, so that a notebook cell can be run twice.
        model_class: A `TorchModelV2`, any torch module, or a factory of one.
    """
    CUSTOM_MODELS[model_name] = model_class


def register_custom_action_dist(action_dist_name: str, action_dist_class: Any) -> None:
    """Register a custom distribution for the setting "custom_action_dist" of a model config.

    Args:
        action_dist_name: The name in configs and checkpoints.
        action_dist_class: Made from `(inputs, model)`, with `required_model_output_shape`.
    """
    CUSTOM_DISTRIBUTIONS[action_dist_name] = action_dist_class
