"""Specification of one policy in a config: class, spaces and settings, each optional."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class PolicySpec:
    """One entry of a config's `policies`.

    Args:
        policy_class: The policy's class; the algorithm's own where None.
        observation_space: The environment's where None.
        action_space: The environment's where None.
        config: Settings that differ from the algorithm's.

    Example:
        >>> PolicySpec(config={"gamma": 0.9}).config
        {'gamma': 0.9}
    """

    policy_class: Any = None
    observation_space: Any = None
    action_space: Any = None
    config: Mapping[str, Any] | None = None

    def serialize(self) -> dict[str, Any]:
        """The spec as plain data; the class by its name."""
        from ...core.spaces.ray_layouts import space_to_dict

        name = getattr(self.policy_class, "__name__", self.policy_class)
        return {
            "policy_class": name,
            "observation_space": space_to_dict(self.observation_space),
            "action_space": space_to_dict(self.action_space),
            "config": self.config,
        }

    @classmethod
    def deserialize(cls, spec: Mapping[str, Any]) -> PolicySpec:
        """The spec that `serialize` described; the class stays a name, no code is looked up."""
        from ...core.spaces.ray_layouts import space_from_dict

        return cls(
            spec.get("policy_class"),
            space_from_dict(spec.get("observation_space")),
            space_from_dict(spec.get("action_space")),
            spec.get("config"),
        )
