"""RLlib's front to networks, distributions and preprocessors; the work is done elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gymnasium.spaces import Space

from ...core.importing.torch_needed import torch_needed
from ..distributions.choice import distribution_for
from ..distributions.registered import register_custom_action_dist, register_custom_model
from ..observations.preprocessors import (
    Preprocessor,
    get_preprocessor_for_space,
    register_custom_preprocessor,
)


class ModelCatalog:
    """Models and distributions for the model settings of a config; all methods are static.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> dist_class, size = ModelCatalog.get_action_dist(Discrete(3), {})
        >>> dist_class.__name__, size
        ('TorchCategorical', 3)
    """

    @staticmethod
    def get_action_dist(
        action_space: Space[Any],
        config: Mapping[str, Any] | None,
        dist_type: str | type | None = None,
        framework: str = "torch",
        **kwargs: Any,
    ) -> tuple[Any, int]:
        """Return the torch distribution class of an action space, and its number of inputs.

        Args:
            action_space: Where the actions go.
            config: The model settings; its `custom_action_dist` is a class or a registered name.
            dist_type: "deterministic", a class, or a registered name, instead of the default.
            framework: Only "torch" is supported.
            **kwargs: Accepted for compatibility with Ray.

        Returns:
            A class or factory called with `(inputs, model)`, and the number of inputs.
        """
        settings = dict(config or {})
        fixed = dist_type == "deterministic"
        if dist_type is not None and not fixed:
            settings["custom_action_dist"] = dist_type
        choice = distribution_for(action_space, settings, deterministic=fixed)
        return choice.torch_class(), choice.size

    @staticmethod
    def get_model_v2(
        obs_space: Space[Any],
        action_space: Space[Any],
        num_outputs: int | None,
        model_config: Mapping[str, Any],
        framework: str = "torch",
        name: str = "default_model",
        model_interface: type | None = None,
        default_model: type | None = None,
        **model_kwargs: Any,
    ) -> Any:
        """The network for spaces and model settings, with fresh weights.

        Args:
            obs_space: What the network sees.
            action_space: Where actions come from.
            num_outputs: Width of the outputs; None leaves it to the network.
            model_config: The model settings; its `custom_model` is a class or a registered name.
            framework: Only "torch" is supported.
            name: A name for messages.
            model_interface: A class to mix in front of the network.
            default_model: The network to take instead of the one chosen by space.
            **model_kwargs: Further arguments of the network.
        """
        with torch_needed("a model"):
            from .catalog import build_model

        return build_model(
            obs_space,
            action_space,
            num_outputs,
            model_config,
            interface=model_interface,
            default_model=default_model,
            name=name,
            **model_kwargs,
        )

    @staticmethod
    def get_preprocessor(
        env: Any, options: Mapping[str, Any] | None = None, include_multi_binary: bool = False
    ) -> Preprocessor:
        """The preprocessor of an environment's observations."""
        return get_preprocessor_for_space(env.observation_space, options, include_multi_binary)

    @staticmethod
    def get_preprocessor_for_space(
        observation_space: Space[Any],
        options: Mapping[str, Any] | None = None,
        include_multi_binary: bool = False,
    ) -> Preprocessor:
        """The preprocessor of a space, built."""
        return get_preprocessor_for_space(observation_space, options, include_multi_binary)

    @staticmethod
    def register_custom_model(model_name: str, model_class: Callable[..., Any]) -> None:
        """Register a custom model class for the setting "custom_model"."""
        register_custom_model(model_name, model_class)

    @staticmethod
    def register_custom_action_dist(action_dist_name: str, action_dist_class: Any) -> None:
        """Register a custom distribution for the setting "custom_action_dist"."""
        register_custom_action_dist(action_dist_name, action_dist_class)

    @staticmethod
    def register_custom_preprocessor(
        preprocessor_name: str, preprocessor_class: type[Preprocessor]
    ) -> None:
        """Register a custom preprocessor for the setting "custom_preprocessor"."""
        register_custom_preprocessor(preprocessor_name, preprocessor_class)
