"""What a module was built from, under the names that older releases gave to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Space


@dataclass
class RLModuleConfig:
    """The constructor arguments of a module in one object, which RLlib calls its `config`.

    Args:
        observation_space: What it takes.
        action_space: What it gives.
        inference_only: Whether parts that only learning needs are left out.
        learner_only: Whether it lives on learners only.
        model_config_dict: Its settings.
        catalog_class: Builds its networks.

    Example:
        >>> RLModuleConfig(model_config_dict={"hiddens": [8]}).model_config_dict
        {'hiddens': [8]}
    """

    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None
    inference_only: bool | None = False
    learner_only: bool | None = False
    model_config_dict: Any = None
    catalog_class: Any = None

    def get_catalog(self) -> Any:
        """Make a catalog for these spaces and settings; None where there is no class of one."""
        if self.catalog_class is None:
            return None
        return self.catalog_class(
            observation_space=self.observation_space,
            action_space=self.action_space,
            model_config_dict=self.model_config_dict,
        )


class ConfigOfModule:
    """`module.config`: made when it is asked for, and gone where a module has one of its own."""

    def __get__(self, module: Any, owner: type[Any]) -> Any:
        if module is None:
            return self
        return RLModuleConfig(
            observation_space=module.observation_space,
            action_space=module.action_space,
            inference_only=module.inference_only,
            learner_only=module.learner_only,
            model_config_dict=module.model_config,
            catalog_class=module._catalog_class,
        )
