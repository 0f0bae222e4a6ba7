"""A legacy policy as the three things that act in the new stack."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from gymnasium.spaces import Space
from typing_extensions import Self

from ...core.errors import PieceError
from ...core.trust import trust
from ...legacy.connectors.adapted import acted_space, seen_space
from ...legacy.connectors.context import ConnectorContext
from ...legacy.policy.policy import Policy
from ...v2.connectors.common.add_observations import AddObservationsFromEpisodesToBatch
from ...v2.connectors.common.agent_to_module_mapping import AgentMapping
from ...v2.connectors.connector import ConnectorV2
from ...v2.connectors.env_to_module.env_to_module_pipeline import (
    EnvToModulePipeline,
    env_to_module_pipeline,
)
from ...v2.connectors.module_to_env.module_to_env_pipeline import (
    ModuleToEnvPipeline,
    module_to_env_pipeline,
)
from ...v2.modules.multi_rl_module import MultiRLModule
from ...v2.modules.multi_spec import MultiRLModuleSpec
from ..triple import V2Triple
from .action_connector import LegacyActionConnectorV2
from .agent_connector import LegacyAgentConnectorV2
from .legacy_columns import LegacyColumnsV2, columns_beside, is_observation_stacked
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
        """Wrap policies as modules, without changing them.

        Args:
            policies: The policies by id.
            custom: Custom classes they were loaded with: `{"custom_models": {...}}`.
        """
        modules = cls()
        for name, policy in policies.items():
            modules.add_module(name, LegacyPolicyModule.of(policy, custom=custom))
        return modules

    @classmethod
    def spec_of(
        cls, policies: Mapping[str, Policy], *, custom: Mapping[str, Any] | None = None
    ) -> MultiRLModuleSpec:
        """Return the spec of the module, for a config; arguments as for `of`."""
        specs = {
            name: LegacyPolicyModule.spec_of(policy, custom=custom)
            for name, policy in policies.items()
        }
        return MultiRLModuleSpec(multi_rl_module_class=cls, rl_module_specs=specs)


def policy_to_v2(
    policy: Policy | Mapping[str, Policy],
    *,
    custom: Mapping[str, Any] | None = None,
    agent_to_module_mapping_fn: Callable[..., str] | None = None,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
) -> V2Triple:
    """Wrap a policy for the new stack; its outputs are bit-identical.

    Args:
        policy: A policy with connectors, or several by id. It is not changed: connectors, weights
            and random states are copied.
        custom: Custom classes it was loaded with: `{"custom_models": {...}}`.
        agent_to_module_mapping_fn: For several policies: which of them an agent of an episode has.
            The agent's own name by default.
        observation_space: For several policies: that of the environment, a Dict by agent.
        action_space: For several policies: that of the environment, a Dict by agent.

    Returns:
        The pipeline to the module, the module, and the pipeline from it to the environment.

    Raises:
        PieceError: A policy has no connectors.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> from rlconnect.legacy import create_connectors_for_policy
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> policy = Policy(Box(-1, 1, (4,)), Discrete(2), {"seed": 0})
        >>> create_connectors_for_policy(policy, policy.config)
        >>> env_to_module, module, module_to_env = policy_to_v2(policy)
        >>> episode = SingleAgentEpisode()
        >>> episode.add_env_reset(observation=policy.observation_space.sample())
        >>> shared = {}
        >>> batch = env_to_module(rl_module=module, episodes=[episode], shared_data=shared)
        >>> outputs = module.forward_inference(batch)
        >>> for_env = module_to_env(
        ...     rl_module=module, batch=outputs, episodes=[episode], explore=False,
        ...     shared_data=shared)
        >>> int(for_env["actions_for_env"][0]) in (0, 1)
        True
    """
    if isinstance(policy, Policy):
        to_module, to_env = wrapped_pipelines(policy)
        return V2Triple(to_module, LegacyPolicyModule.of(policy, custom=custom), to_env)
    module = LegacyMultiPolicyModule.of(policy, custom=custom)
    mapping = agent_to_module_mapping_fn or _own_name
    agents = AgentMapping(LegacyMultiPolicyModule.spec_of(policy).rl_module_specs, mapping)
    return V2Triple(
        env_to_module_pipeline(
            observation_space,
            action_space,
            custom=wrapped_agent_sides(policy),
            agents=agents,
        ),
        module,
        module_to_env_pipeline(
            observation_space,
            action_space,
            custom=wrapped_action_sides(policy),
            is_multi_agent=True,
            normalize_actions=False,
        ),
    )


def wrapped_pipelines(policy: Policy) -> tuple[EnvToModulePipeline, ModuleToEnvPipeline]:
    """The pipelines on both sides of a policy's module, its own connectors in them."""
    spaces = seen_space(policy), acted_space(policy)
    after = [wrapped_action_side(policy)]
    return (
        env_to_module_pipeline(*spaces, custom=[wrapped_agent_side(policy)]),
        module_to_env_pipeline(*spaces, custom=after, normalize_actions=False),
    )


def use_policy(
    config: Any,
    policy: Policy | Mapping[str, Policy],
    *,
    custom: Mapping[str, Any] | None = None,
) -> Any:
    """Configure the env runners to use a policy, and the learners to continue from its weights.

    Args:
        config: A new-stack `AlgorithmConfig`; modified and returned. For several policies, its
            `multi_agent(policies=..., policy_mapping_fn=...)` maps agents to them.
        policy: A policy with connectors, or several by module id.
        custom: Custom classes it was loaded with: `{"custom_models": {...}}`.
    """
    if isinstance(policy, Policy):
        copies: Policy | dict[str, Policy] = copy.deepcopy(policy)
        spec: Any = LegacyPolicyModule.spec_of(policy, custom=custom)
    else:
        copies = {name: copy.deepcopy(one) for name, one in policy.items()}
        spec = LegacyMultiPolicyModule.spec_of(policy, custom=custom)
    return (
        config.environment(normalize_actions=False, clip_actions=False)
        .env_runners(
            env_to_module_connector=lambda env, spaces, device: wrapped_agent_sides(copies),
            module_to_env_connector=lambda env, spaces: wrapped_action_sides(copies),
        )
        .rl_module(rl_module_spec=spec)
    )


def wrapped_agent_sides(policy: Policy | Mapping[str, Policy]) -> list[ConnectorV2]:
    """Return the wrapped agent connectors of a policy, or of several by module id."""
    if isinstance(policy, Policy):
        return [wrapped_agent_side(policy)]
    contexts = {name: ConnectorContext.from_policy(one) for name, one in policy.items()}
    return [
        *[wrapped_agent_side(one, name) for name, one in policy.items()],
        AddObservationsFromEpisodesToBatch(),
        LegacyColumnsV2(
            columns={name: columns_beside(ctx) for name, ctx in contexts.items()},
            stacked=[name for name, ctx in contexts.items() if is_observation_stacked(ctx)],
        ),
    ]


def wrapped_action_sides(policy: Policy | Mapping[str, Policy]) -> list[ConnectorV2]:
    """Return the wrapped action connectors of a policy, or of several by module id."""
    if isinstance(policy, Policy):
        return [wrapped_action_side(policy)]
    return [wrapped_action_side(one, name) for name, one in policy.items()]


def wrapped_agent_side(policy: Policy, module_id: str | None = None) -> LegacyAgentConnectorV2:
    """A copy of a policy's agent pipeline as one piece."""
    return LegacyAgentConnectorV2(
        connector=copy.deepcopy(_connectors(policy, "agent")),
        context=ConnectorContext.from_policy(policy),
        multi_agent=module_id is not None,
        module_id=module_id,
    )


def wrapped_action_side(policy: Policy, module_id: str | None = None) -> LegacyActionConnectorV2:
    """A copy of a policy's action pipeline as one piece; arguments as of `wrapped_agent_side`."""
    return LegacyActionConnectorV2(
        connector=copy.deepcopy(_connectors(policy, "action")),
        context=ConnectorContext.from_policy(policy),
        module_id=module_id,
    )


def _connectors(policy: Policy, side: str) -> Any:
    pipeline = getattr(policy, f"{side}_connectors")
    if pipeline is None:
        raise PieceError(
            f"policy {policy.name!r} has no connectors",
            hint="create the defaults: create_connectors_for_policy(policy, policy.config).",
        )
    return pipeline


def _own_name(agent_id: Any, episode: Any = None, **kwargs: Any) -> str:
    return str(agent_id)
