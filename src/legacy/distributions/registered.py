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
    """Let a model config's "custom_model" name a class of your own.

    Args:
        model_name: The name, as it is in configs and checkpoints. The last class registered under
            it counts, so that a notebook's cell can run again.
        model_class: A `TorchModelV2`, any torch module, or a factory of one.
    """
    CUSTOM_MODELS[model_name] = model_class


def register_custom_action_dist(action_dist_name: str, action_dist_class: Any) -> None:
    """Let a model config's "custom_action_dist" name a class of your own.

    Args:
        action_dist_name: The name, as it is in configs and checkpoints.
        action_dist_class: Made from `(inputs, model)`, with `required_model_output_shape`.
    """
    CUSTOM_DISTRIBUTIONS[action_dist_name] = action_dist_class
