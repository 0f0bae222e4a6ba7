"""Let a policy act in an environment that has changed since it was trained."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import gymnasium as gym
from gymnasium.spaces import Space

from ...core.adapters import AdapterChain, Step
from ...core.errors import PieceError, SpaceError
from ...legacy.connectors.action.adapt_actions import AdaptActionsConnector
from ...legacy.connectors.action.immutable import ImmutableActionsConnector
from ...legacy.connectors.agent.adapt_observations import (
    AdaptObservationsAgentConnector,
    expect_known,
)
from ...legacy.connectors.context import ConnectorContext
from ...legacy.policy.default_connectors import create_connectors_for_policy
from ...legacy.policy.policy import Policy
from ..environments import close, live_env, spaces_of_one
from ..loading.natives import HasNatives, Source, natives_of, policy_spaces
from ..triple import V2Triple, is_triple
from .changes import SpaceDiff
from .space_diff import diff_spaces

if TYPE_CHECKING:
    from ..front.loaded_policy import LoadedPolicy

Steps = Sequence[Step] | Step


@dataclass(frozen=True)
class Suggestion:
    """A proposed adapter: what is sure, and what needs a person's word.

    Args:
        chain: The steps, the doubtful ones too.
        observations: What changed in what the policy sees.
        actions: What changed in what it does.

    Example:
        >>> print(Suggestion(AdapterChain(), *[diff_spaces(gym.spaces.Discrete(2),
        ...                                               gym.spaces.Discrete(2))] * 2))
        observations: no difference
        actions: no difference
    """

    chain: AdapterChain
    observations: SpaceDiff
    actions: SpaceDiff

    @property
    def is_sure(self) -> bool:
        """Whether the spaces alone prove every step right."""
        return self.observations.is_sure and self.actions.is_sure

    @property
    def questions(self) -> tuple[str, ...]:
        """What a person has to confirm or say."""
        return (*self.observations.questions, *self.actions.questions)

    def __str__(self) -> str:
        return f"observations: {self.observations}\nactions: {self.actions}"


def suggest_adapter(
    source: Source | gym.Env[Any, Any],
    env: Any = None,
    *,
    policy: str | None = None,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
    old_names: Sequence[str] | None = None,
    new_names: Sequence[str] | None = None,
    **options: Any,
) -> Suggestion:
    """Propose the steps between a policy and an environment.

    Args:
        source: What knows the old environment: a path, what `rlconnect.load` gave, a policy of
            either stack, or anything with an observation and an action space.
        env: The new environment: a live one, an id, or a function that makes one.
        policy: Which of several policies.
        observation_space: The new one's, in place of `env`.
        action_space: The new one's, in place of `env`.
        old_names: Names of the features of the policy's observation, if it is a vector.
        new_names: Names of the new one's.
        **options: As for `rlconnect.load`, of a path.
    """
    policy_obs, gives = policy_spaces(native_of(source, policy, options))
    sees, takes = env_spaces(env, observation_space, action_space)
    observations = diff_spaces(policy_obs, sees, old_names=old_names, new_names=new_names)
    actions = diff_spaces(gives, gives if takes is None else takes, kind="action")
    chain = AdapterChain(obs=observations.steps, action=actions.steps)
    return Suggestion(chain, observations, actions)


@overload
def adapt(
    source: Policy,
    *,
    env: Any = ...,
    policy: str | None = ...,
    obs: Steps | None = ...,
    action: Steps | None = ...,
    reward: Steps = ...,
    agents: Mapping[Any, Any] | None = ...,
    observation_space: Space[Any] | None = ...,
    action_space: Space[Any] | None = ...,
    **options: Any,
) -> Policy: ...
@overload
def adapt(
    source: str | os.PathLike[str] | HasNatives | Mapping[str, Any],
    *,
    env: Any = ...,
    policy: str | None = ...,
    obs: Steps | None = ...,
    action: Steps | None = ...,
    reward: Steps = ...,
    agents: Mapping[Any, Any] | None = ...,
    observation_space: Space[Any] | None = ...,
    action_space: Space[Any] | None = ...,
    **options: Any,
) -> LoadedPolicy: ...
@overload
def adapt(
    source: V2Triple | Sequence[Any],
    *,
    env: Any = ...,
    policy: str | None = ...,
    obs: Steps | None = ...,
    action: Steps | None = ...,
    reward: Steps = ...,
    agents: Mapping[Any, Any] | None = ...,
    observation_space: Space[Any] | None = ...,
    action_space: Space[Any] | None = ...,
    **options: Any,
) -> V2Triple: ...
def adapt(
    source: Source,
    *,
    env: Any = None,
    policy: str | None = None,
    obs: Steps | None = None,
    action: Steps | None = None,
    reward: Steps = (),
    agents: Mapping[Any, Any] | None = None,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
    **options: Any,
) -> Any:
    """Return a copy of a policy for a changed environment.

    The steps become connectors of the copy: they run with it, and are saved and loaded with it.

    Args:
        source: A path, what `rlconnect.load` gave, or a policy of either stack; it stays as it is.
        env: The new environment: a live one, an id, or a function that makes one.
        policy: Which of several policies.
        obs: Steps from the new observation to the policy's; those that the spaces prove if None.
        action: Steps from the policy's action to the new environment's; likewise.
        reward: `Scale` and `Clip` for the reward the policy is told.
        agents: The policy's name for each renamed agent.
        observation_space: The new one's, in place of `env`.
        action_space: The new one's, in place of `env`.
        **options: As for `rlconnect.load`, of a path.

    Returns:
        A `Policy` for a `Policy`, a `V2Triple` for a triple, a `LoadedPolicy` for anything else.

    Raises:
        PieceError: What changed leaves questions open, and no steps answer them.
        SpaceError: The steps do not lead from one environment to the other.

    Example:
        >>> from rlconnect.core.adapters import DropFeatures, MapActions
        >>> adapted = adapt(
        ...     policy, env=MyCartPole(), obs=DropFeatures([4, 5]), action=ExtendAction([0])
        ... )  # doctest: +SKIP
    """
    native = native_of(source, policy, options)
    sees, takes = env_spaces(env, observation_space, action_space)
    chain = chain_between(native, sees, takes, obs=obs, action=action, reward=reward, agents=agents)
    adapted = _adapted(native, chain, sees)
    if isinstance(source, Policy) or is_triple(source):
        return adapted
    from ..front.load import as_policies

    return as_policies(adapted).only


def chain_between(
    native: Any,
    sees: Space[Any],
    takes: Space[Any] | None,
    *,
    obs: Steps | None = None,
    action: Steps | None = None,
    reward: Steps = (),
    agents: Mapping[Any, Any] | None = None,
) -> AdapterChain:
    """The adapter that leads from an environment to a policy and back.

    Steps that are None are those that the spaces prove; `takes` is what the policy gives if it is
    None. Where what changed leaves questions open, and no steps answer them, that is an error.
    """
    policy_obs, gives = policy_spaces(native)
    takes = gives if takes is None else takes
    chain = AdapterChain(
        obs=_settled("observation", diff_spaces(policy_obs, sees)) if obs is None else _listed(obs),
        action=(
            _settled("action", diff_spaces(gives, takes, kind="action"))
            if action is None
            else _listed(action)
        ),
        reward=_listed(reward),
        agents=agents or {},
    )
    bound = chain.bind(sees, gives)
    expect_known(policy_obs, bound.observation_space)
    if not _fits(bound.action_space, takes):
        raise SpaceError(
            "the adapted action does not fit the environment",
            expected=str(takes),
            found=str(bound.action_space),
            hint="suggest_adapter(policy, env) proposes steps.",
        )
    return chain


def native_of(source: Any, policy: str | None, options: Mapping[str, Any]) -> Any:
    """What is to be adapted, as its stack has it."""
    if isinstance(source, (str, os.PathLike, Mapping)) or not hasattr(source, "action_space"):
        native = natives_of(source, policy, **options).only
    else:
        native = getattr(source, "native", source)
    if hasattr(native, "manifest"):
        raise PieceError(
            "an exported program cannot be adapted",
            found=f"exported {native.manifest['kind']}",
            hint="adapt the checkpoint that it was exported from, and export that.",
        )
    return native


def _adapted(native: Any, chain: AdapterChain, sees: Space[Any]) -> Any:
    """A copy of a policy of either stack with a chain around it."""
    if not isinstance(native, Policy):
        from .adapt_triple import adapted_triple

        return adapted_triple(V2Triple.of(native), chain, sees)
    adapted = copy.deepcopy(native)
    if adapted.agent_connectors is None or adapted.action_connectors is None:
        create_connectors_for_policy(adapted, adapted.config)
    _insert(adapted, chain, sees)
    return adapted


def env_spaces(
    env: Any, observation_space: Space[Any] | None = None, action_space: Space[Any] | None = None
) -> tuple[Space[Any], Space[Any] | None]:
    """What one agent of an environment sees and does.

    It is live, an id of gymnasium's, or a function that makes one; spaces that are given count in
    its place.
    """
    if observation_space is not None or env is None:
        if observation_space is None:
            raise PieceError(
                "nobody says what the new environment is",
                expected="env=, or observation_space= and action_space=",
            )
        return observation_space, action_space
    env, is_ours = live_env(env)
    try:
        sees, takes = spaces_of_one(env)
    finally:
        if is_ours:
            close(env)
    return sees, action_space or takes


def _insert(policy: Policy, chain: AdapterChain, sees: Space[Any]) -> None:
    """Put the chain around the connectors of a policy, outside of those put there before."""
    agent, action = policy.agent_connectors, policy.action_connectors
    assert agent is not None, "created above"
    assert action is not None, "created above"
    policy_obs, gives = policy_spaces(policy)
    ctx = ConnectorContext.from_policy(policy)
    if chain.obs or chain.reward or chain.agents:
        context = ConnectorContext(ctx.config, observation_space=policy_obs, action_space=gives)
        agent.prepend(AdaptObservationsAgentConnector(context, chain=chain, observation_space=sees))
    if chain.action:
        context = ConnectorContext(ctx.config, observation_space=policy_obs, action_space=gives)
        connector = AdaptActionsConnector(context, chain=chain)
        is_locked = action.connectors and isinstance(
            action.connectors[-1], ImmutableActionsConnector
        )
        action.connectors.insert(len(action) - 1 if is_locked else len(action), connector)


def _listed(steps: Steps) -> tuple[Step, ...]:
    return (steps,) if isinstance(steps, Step) else tuple(steps)


def _settled(what: str, diff: SpaceDiff) -> tuple[Step, ...]:
    """The steps of a diff that leaves no question open."""
    if diff.is_sure:
        return diff.steps
    name = "obs" if what == "observation" else "action"
    raise PieceError(
        f"the {what} changed in a way that leaves questions open",
        expected=f"steps, given as {name}=",
        found=" / ".join(question.rstrip(".") for question in diff.questions),
        hint=f"proposed: {name}={list(diff.steps)}" if diff.steps else "",
        questions=list(diff.questions),
    )


def _fits(inner: Space[Any], outer: Space[Any]) -> bool:
    if isinstance(inner, gym.spaces.Discrete) and isinstance(outer, gym.spaces.Discrete):
        return bool(inner.start >= outer.start and inner.start + inner.n <= outer.start + outer.n)
    if isinstance(inner, gym.spaces.MultiDiscrete) and isinstance(outer, gym.spaces.MultiDiscrete):
        return inner.shape == outer.shape and bool((inner.nvec <= outer.nvec).all())
    return type(inner) is type(outer) and inner.shape == outer.shape
