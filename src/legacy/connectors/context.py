"""Context of a legacy connector: the properties of its policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.spaces import Space

from ...core.trust import NOTHING, Trust


class ConnectorContext:
    """The facts of one policy that its connectors are built from.

    Args:
        config: The old trainer config as a dict, or an object with `to_dict()`.
        initial_states: Recurrent states before the first step; empty for stateless policies.
        observation_space: What the policy takes. An `original_space` attribute on it names the
            space before preprocessing.
        action_space: What the policy answers with.
        view_requirements: Which columns the policy looks at, by the name it sees them under.
        is_policy_recurrent: Whether the policy carries states from step to step.
        trust: Classes of the user's that a saved connector may name.

    Example:
        >>> ConnectorContext().config, ConnectorContext().initial_states
        ({}, [])
    """

    def __init__(
        self,
        config: Mapping[str, Any] | Any | None = None,
        initial_states: Sequence[Any] | None = None,
        observation_space: Space[Any] | None = None,
        action_space: Space[Any] | None = None,
        view_requirements: Mapping[str, Any] | None = None,
        is_policy_recurrent: bool = False,
        trust: Trust = NOTHING,
    ) -> None:
        self.config = config or {}
        self.initial_states = [] if initial_states is None else list(initial_states)
        self.observation_space = observation_space
        self.action_space = action_space
        self.view_requirements = view_requirements
        self.is_policy_recurrent = is_policy_recurrent
        self.trust = trust

    @staticmethod
    def from_policy(policy: Any) -> ConnectorContext:
        """The context of `policy`: its config, spaces, views and initial states."""
        return ConnectorContext(
            config=policy.config,
            initial_states=policy.get_initial_state(),
            observation_space=policy.observation_space,
            action_space=policy.action_space,
            view_requirements=policy.view_requirements,
            is_policy_recurrent=policy.is_recurrent(),
            trust=getattr(policy, "trust", NOTHING),
        )

    @property
    def raw_observation_space(self) -> Space[Any] | None:
        """The space before preprocessing, where the policy's space remembers one."""
        space = self.observation_space
        original: Space[Any] | None = getattr(space, "original_space", None)
        return space if original is None else original

    def setting(self, name: str, default: Any = None) -> Any:
        """One setting of the config, whichever form the config has."""
        get = getattr(self.config, "get", None)
        return get(name, default) if get is not None else getattr(self.config, name, default)
