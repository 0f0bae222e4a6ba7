"""A policy of the old stack and its connectors, translated piece by piece into a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np
from gymnasium.spaces import Space

from ...core import array_namespace as xp
from ...core import nest
from ...core.errors import ConfigError
from ...core.formulas.actions import ActionPlan
from ...core.formulas.filters import FrozenFilter
from ...core.step.part import Part, action_part, filter_part
from ...core.step.plan import ActPlan, narrowed
from ...core.step.recall import Column, Look
from ...legacy.batches.step_rows import zero_of
from ...legacy.connectors.action.adapt_actions import AdaptActionsConnector
from ...legacy.connectors.action.clip import ClipActionsConnector
from ...legacy.connectors.action.immutable import ImmutableActionsConnector
from ...legacy.connectors.action.normalize import NormalizeActionsConnector
from ...legacy.connectors.action.to_numpy import ConvertToNumpyConnector
from ...legacy.connectors.adapted import acted_space, seen_space
from ...legacy.connectors.agent.adapt_observations import AdaptObservationsAgentConnector
from ...legacy.connectors.agent.clip_reward import ClipRewardAgentConnector
from ...legacy.connectors.agent.env_sampling import EnvSamplingAgentConnector
from ...legacy.connectors.agent.flatten import FlattenDataAgentConnector
from ...legacy.connectors.agent.mean_std_filter import (
    ConcurrentMeanStdObservationFilterAgentConnector,
    MeanStdObservationFilterAgentConnector,
)
from ...legacy.connectors.agent.obs_preproc import ObsPreprocessorConnector
from ...legacy.connectors.agent.state_buffer import StateBufferConnector
from ...legacy.connectors.agent.view_requirement import ViewRequirementAgentConnector
from ...legacy.observations.preprocessors import PlannedPreprocessor
from ...legacy.policy.policy import Policy
from ...legacy.views.views import View, ViewPlan
from .legacy_brain import LegacyBrain

_STRUCTURE: Final = (
    EnvSamplingAgentConnector,
    StateBufferConnector,
    ViewRequirementAgentConnector,
    ConvertToNumpyConnector,
    ImmutableActionsConnector,
)
"""Connectors whose work the plan's columns do, or that change no number."""
_READ: Final = frozenset({"obs", "actions", "rewards"})


class Tracer(Protocol):
    """What makes formulas of connectors of a user's own; see `traced.plan`."""

    space: Space[Any]

    def observation(
        self, connector: Any, parts: Sequence[Part], beside: Sequence[str]
    ) -> Part | str:
        """An agent connector as a part, or why it is none."""

    def action(self, connector: Any, parts: Sequence[Part]) -> Part | str:
        """An action connector as a part, or why it is none."""

    def misfits(self, parts: Sequence[Part], columns: Sequence[str]) -> list[str]:
        """What stands against a plan of these parts."""

    def acted(self, parts: Sequence[Part]) -> Space[Any]:
        """What the environment takes."""


def legacy_plan(policy: Policy, tracer: Tracer | None = None) -> ActPlan:
    """The plan of a policy; connectors without a batched form are named in `missing`.

    Args:
        policy: The policy.
        tracer: For connectors of a user's own; without one they have no batched form.

    Raises:
        ConfigError: The policy has no connectors.
    """
    agent, action = policy.agent_connectors, policy.action_connectors
    if agent is None or action is None:
        raise ConfigError(
            f"policy {policy.name!r} has no connectors",
            hint="give it the defaults: create_connectors_for_policy(policy, policy.config).",
        )
    found = _Found(policy, tracer)
    for connector in agent.connectors:
        found.take_agent_side(connector)
    for connector in action.connectors:
        found.take_action_side(connector)
    columns, looks = _memory(policy, found)
    if tracer is not None:
        found.missing += tracer.misfits(found.obs, [each.name for each in columns])
    return ActPlan(
        policy.name,
        seen_space(policy) if tracer is None else tracer.space,
        acted_space(policy) if tracer is None else tracer.acted(found.action),
        LegacyBrain(policy),
        tuple(found.obs),
        tuple(found.action),
        tuple(found.reward) if any(each.name == "rewards" for each in columns) else (),
        columns,
        looks,
        nest.map_structure(lambda leaf: narrowed(np.asarray(leaf)), _seen_zeros(policy)),
        not policy.config.get("_disable_action_flattening"),
        found.agents,
        tuple(found.missing),
        origin_of(policy),
    )


def origin_of(policy: Policy) -> dict[str, Any]:
    """Where a policy came from, as plain data."""
    record = policy.record
    connectors = [
        each
        for pipeline in (policy.agent_connectors, policy.action_connectors)
        for each in (pipeline.connectors if pipeline is not None else ())
    ]
    return {
        "stack": "old",
        "policy": policy.name,
        "algorithm": policy.algorithm,
        "ray_version": "" if record is None else record.ray_version,
        "connectors": [type(each).__name__ for each in connectors],
        "adapters": [each.chain.to_data() for each in connectors if hasattr(each, "chain")],
    }


class _Found:
    """What the connectors of a policy amount to."""

    def __init__(self, policy: Policy, tracer: Tracer | None) -> None:
        self.policy, self.tracer = policy, tracer
        self.obs: list[Part] = []
        self.reward: list[Part] = []
        self.action: list[Part] = []
        self.agents: dict[Any, Any] = {}
        self.missing: list[str] = []
        self.beside: list[str] = []
        self.has_views = False
        self.carries_actions = True

    def take_agent_side(self, connector: Any) -> None:
        kind = type(connector)
        name = kind.__name__
        if kind is AdaptObservationsAgentConnector:
            bound = connector._bound
            self.obs += [Part.of(name, each) for each in bound.obs]
            self.reward += [Part.of(name, each) for each in bound.rewards]
            if self.agents:
                self.missing.append(f"{name} (a second renaming of agents)")
            self.agents = dict(connector.chain.agents)
        elif kind is ClipRewardAgentConnector:
            if connector.sign or connector.limit:
                self.reward.append(Part(name, _clipped_to(connector.sign, connector.limit)))
        elif kind is ObsPreprocessorConnector:
            self._take_preprocessor(connector, name)
        elif kind in (
            MeanStdObservationFilterAgentConnector,
            ConcurrentMeanStdObservationFilterAgentConnector,
        ):
            part = filter_part(name, _frozen(connector.filter))
            self.obs += [] if part is None else [part]
        elif kind is FlattenDataAgentConnector:
            if not nest.is_leaf(_seen_zeros(self.policy)):
                self.missing.append(name)
        elif kind not in _STRUCTURE:
            if self.tracer is None:
                self.missing.append(name)
            elif self.has_views:
                self.missing.append(f"{name} (stands behind ViewRequirementAgentConnector)")
            else:
                found = self.tracer.observation(connector, self.obs, self.beside)
                self._take(name, self.obs, found)
        self.has_views |= kind is ViewRequirementAgentConnector
        if kind is StateBufferConnector:
            self.carries_actions = connector.carries_actions
            states = range(len(self.policy.get_initial_state()))
            self.beside = ["actions", *(f"state_out_{number}" for number in states)]

    def take_action_side(self, connector: Any) -> None:
        kind = type(connector)
        name = kind.__name__
        if kind in (NormalizeActionsConnector, ClipActionsConnector):
            plan: ActionPlan = connector.plan
            is_stretch = kind is NormalizeActionsConnector
            if plan.unsquashes if is_stretch else plan.clips:
                self.action.append(action_part(name, plan, "unsquash" if is_stretch else "clip"))
        elif kind is AdaptActionsConnector:
            self.action += [Part.of(name, each) for each in connector._fitted.actions]
        elif kind not in _STRUCTURE:
            if self.tracer is None:
                self.missing.append(name)
            else:
                self._take(name, self.action, self.tracer.action(connector, self.action))

    def _take(self, name: str, parts: list[Part], found: Part | str) -> None:
        """A connector of a user's own: a part, or why it is none."""
        if isinstance(found, Part):
            parts.append(found)
        else:
            self.missing.append(f"{name} ({found})")

    def _take_preprocessor(self, connector: Any, name: str) -> None:
        if connector.is_identity():
            return
        preprocessor = connector._preprocessor
        if (
            not isinstance(preprocessor, PlannedPreprocessor)
            or preprocessor.plan.kind == "repeated"
        ):
            self.missing.append(f"{name} ({type(preprocessor).__name__})")
        else:
            self.obs.append(Part(name, preprocessor.plan.transform_batch))


def _clipped_to(sign: bool, limit: float | None) -> Any:
    if sign:
        return lambda reward: xp.namespace(reward).sign(reward)
    return lambda reward: xp.clip(reward, -float(limit or 0), float(limit or 0))


def _seen_zeros(policy: Policy) -> Any:
    return zero_of(policy.observation_space)


def _frozen(filters: Any) -> Any:
    settings = {"demean": filters.demean, "destd": filters.destd, "clip": filters.clip}
    stats = filters.running_stats
    if not filters.no_preprocessor:
        return FrozenFilter.of(stats, **settings)
    return nest.map_structure(
        lambda stat: None if stat is None else FrozenFilter.of(stat, **settings), stats
    )


def _memory(policy: Policy, found: _Found) -> tuple[tuple[Column, ...], tuple[Look, ...]]:
    """The columns a policy remembers, and how its network looks at them."""
    if not found.has_views or any(key.startswith("encoder.") for key in _names(policy)):
        return (), ()  # RLModule policies list every column and read the observation
    flattens = not policy.config.get("_disable_action_flattening")
    views = ViewPlan.for_inference(
        policy.view_requirements, policy.get_initial_state(), flatten_actions=flattens
    )
    wanted = [view for view in views.views if view.name != "obs" or not view.is_current]
    depths: dict[str, int] = {}
    starts: dict[str, Any] = {}
    looks: list[Look] = []
    for view in wanted:
        if not (view.column in _READ or view.column.startswith("state_out_")):
            found.missing.append(f"the view {view.name!r} of {view.column!r}")
            continue
        missing = nest.taken(view.missing, 0)
        if view.is_unknown:
            looks.append(Look(view.name, "", missing=missing))
            continue
        offsets, zeros = _offsets(view)
        looks.append(Look(view.name, view.column, offsets, zeros))
        depths[view.column] = max(depths.get(view.column, 1), 1 - min(offsets))
        is_repeated = view.column == "obs"
        starts[view.column] = None if is_repeated else nest.taken(view.initial, 0)
    if "actions" in depths and not found.carries_actions:
        found.missing.append("StateBufferConnector (which forgets actions, as Ray 2.3 to 2.5 do)")
    columns = tuple(Column(name, depth, starts[name]) for name, depth in depths.items())
    return columns, tuple(looks)


def _offsets(view: View) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if view.known_now:
        return view.shifts, ()
    offsets = tuple(min(shift + 1, 0) for shift in view.shifts)
    return offsets, tuple(at for at, shift in enumerate(view.shifts) if shift == 0)


def _names(policy: Policy) -> Mapping[str, Any]:
    return policy.networks._weights or {}
