"""Legacy policies by id as one module of the new stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import Self

from ...core.trust import trust
from ...legacy.policy.policy import Policy
from ...v2.modules.multi_rl_module import MultiRLModule
from ...v2.modules.multi_spec import MultiRLModuleSpec
from .policy_module import LegacyPolicyModule


@trust
class LegacyMultiPolicyModule(MultiRLModule):
    """Several legacy policies, each a `LegacyPolicyModule` by its id; native modules may join.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> policies = {name: Policy(Box(-1, 1, (4,)), Discrete(2)) for name in ("a", "b")}
        >>> sorted(LegacyMultiPolicyModule.of(policies).keys())
        ['a', 'b']
    """

    @classmethod
    def of(cls, policies: Mapping[str, Policy], *, custom: Mapping[str, Any] | None = None) -> Self:
        """The modules of policies, which stay as they are.

        Args:
            policies: By id.
            custom: The user's own classes they were loaded with: `{"custom_models": {...}}`.
        """
        modules = cls()
        for name, policy in policies.items():
            modules.add_module(name, LegacyPolicyModule.of(policy, custom=custom))
        return modules

    @classmethod
    def spec_of(
        cls, policies: Mapping[str, Policy], *, custom: Mapping[str, Any] | None = None
    ) -> MultiRLModuleSpec:
        """What the module is built from, for a config; arguments as for `of`."""
        specs = {
            name: LegacyPolicyModule.spec_of(policy, custom=custom)
            for name, policy in policies.items()
        }
        return MultiRLModuleSpec(multi_rl_module_class=cls, rl_module_specs=specs)
