"""Network and distribution of a policy of the old stack, for arrays and for tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...core.types import Nest
from ...legacy.exploration import Exploration
from ...legacy.heads.acting import choose_actions
from ...legacy.policy import Policy


class LegacyBrain:
    """What a policy computes with: numpy up to 1,024 rows where its network has a numpy twin.

    The rule is `legacy.networks`' own. The policy's rows, timesteps and random numbers are its
    own too, so that an actor explores as the policy would.

    Args:
        policy: The policy.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._prepares = type(policy.exploration).prepare is not Exploration.prepare

    @property
    def quick(self) -> Callable[[Any], Any] | None:
        """The numpy network without its value estimate, if it sees nothing but observations."""
        network = self.policy.networks.numpy
        return getattr(network.head, "direct", None) if network is not None else None

    def run(self, columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
        """Distribution inputs and next states."""
        found = self.policy._forward(columns, states)
        return found.dist_inputs, found.state_out

    def greedy(self, inputs: Any) -> Nest:
        """The most probable actions."""
        if self._prepares:
            inputs = self.policy.exploration.prepare(inputs)
        chooser = self.policy.networks.for_rows(len(inputs)).chooser(self.policy.rng)
        return (
            chooser(inputs).deterministic() if callable(chooser) else chooser.deterministic(inputs)
        )

    def explored(self, inputs: Any, rng: np.random.Generator) -> Nest:
        """Actions as the policy's exploration picks them; counts its timesteps."""
        policy = self.policy
        network = policy.networks.for_rows(len(inputs))
        actions, _ = choose_actions(
            network.chooser(rng),
            inputs,
            {},
            policy.exploration,
            explore=True,
            timestep=policy.global_timestep,
            rng=rng,
        )
        policy.global_timestep += len(inputs)
        return actions

    def tensor_module(self) -> Any:
        """The torch network as a module over columns and states."""
        from .legacy_tensors import LegacyTensors

        return LegacyTensors(self.policy)
