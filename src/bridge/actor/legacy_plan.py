"""A policy of the old stack and its connectors as a plan: what each connector says it adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from gymnasium.spaces import Space

from ...core import nest
from ...core.errors import ConfigError
from ...core.step.part import Contribution, Part, contribution_of
from ...core.step.plan import ActPlan, narrowed
from ...core.step.recall import Column, Look
from ...legacy.batches.step_rows import zero_of
from ...legacy.connectors.adapted import acted_space, seen_space
from ...legacy.policy.policy import Policy
from .legacy_brain import LegacyBrain


class Tracer(Protocol):
    """Turns a user's connectors into formulas; see `compiled.traced_plan`."""

    space: Space[Any]

    def observation(
        self, connector: Any, parts: Sequence[Part], beside: Sequence[str]
    ) -> Part | str:
        """An agent connector as a part, or why it is none."""

    def action(self, connector: Any, parts: Sequence[Part]) -> Part | str:
        """An action connector as a part, or why it is none."""

    def misfits(self, parts: Sequence[Part], columns: Sequence[str]) -> list[str]:
        """Return the reasons against a plan of these parts."""

    def acted(self, parts: Sequence[Part]) -> Space[Any]:
        """Return the action space of the environment."""


def legacy_plan(policy: Policy, tracer: Tracer | None = None) -> ActPlan:
    """The plan of a policy; connectors without a batched form are named in `missing`.

    Without a tracer, connectors of a user's own have no batched form.
    """
    agent, action = policy.agent_connectors, policy.action_connectors
    if agent is None or action is None:
        raise ConfigError(
            f"policy {policy.name!r} has no connectors",
            hint="create the defaults: create_connectors_for_policy(policy, policy.config).",
        )
    draft = _Draft(policy, tracer)
    for connector in agent.connectors:
        draft.add_agent_side(connector)
    for connector in action.connectors:
        draft.add_action_side(connector)
    columns = tuple(draft.columns)
    if tracer is not None:
        draft.missing += tracer.misfits(draft.obs, [column.name for column in columns])
    return ActPlan(
        policy.name,
        seen_space(policy) if tracer is None else tracer.space,
        acted_space(policy) if tracer is None else tracer.acted(draft.action),
        LegacyBrain(policy),
        tuple(draft.obs),
        tuple(draft.action),
        tuple(draft.reward) if any(column.name == "rewards" for column in columns) else (),
        columns,
        tuple(draft.looks or ()),
        nest.map_structure(
            lambda leaf: narrowed(np.asarray(leaf)), zero_of(policy.observation_space)
        ),
        not policy.config.get("_disable_action_flattening"),
        draft.agents,
        tuple(draft.missing),
        origin_of(policy),
    )


def origin_of(policy: Policy) -> dict[str, Any]:
    """Return the origin of a policy, as plain data."""
    record = policy.record
    connectors = [
        connector
        for pipeline in (policy.agent_connectors, policy.action_connectors)
        for connector in (pipeline.connectors if pipeline is not None else ())
    ]
    return {
        "stack": "old",
        "policy": policy.name,
        "algorithm": policy.algorithm,
        "ray_version": "" if record is None else record.ray_version,
        "connectors": [type(connector).__name__ for connector in connectors],
        "adapters": [
            connector.chain.to_data() for connector in connectors if hasattr(connector, "chain")
        ],
    }


class _Draft:
    """Collects the contributions of a policy's connectors, in order."""

    def __init__(self, policy: Policy, tracer: Tracer | None) -> None:
        self.tracer = tracer
        self.obs: list[Part] = []
        self.reward: list[Part] = []
        self.action: list[Part] = []
        self.columns: Sequence[Column] = ()
        self.looks: Sequence[Look] | None = None
        self.agents: dict[Any, Any] = {}
        self.missing: list[str] = []
        self._beside: Sequence[str] = ()
        self._forgotten: dict[str, str] = {}
        self._is_module = policy.networks.is_module

    def add_agent_side(self, connector: Any) -> None:
        name = type(connector).__name__
        added = contribution_of(connector)
        if added is None:
            part = self._traced_agent_side(connector)
            added = Contribution(obs=(part,)) if isinstance(part, Part) else _none(name, part)
        elif self._is_module and added.looks is not None:
            added = Contribution(
                looks=()
            )  # RLModule policies list every column and read the observation
        if added.agents and self.agents:
            self.missing.append(f"{name} (a second renaming of agents)")
        self.obs += added.obs
        self.reward += added.reward
        self.missing += added.missing
        self.agents = dict(added.agents or self.agents)
        if added.beside:
            self._beside = added.beside
            self._forgotten = {
                column: f"{name} (which forgets {column}, as Ray 2.3 to 2.5 do)"
                for column in added.forgets
            }
        if added.looks is not None:
            self.columns, self.looks = added.columns, added.looks
            names = [column.name for column in added.columns]
            self.missing += [why for name, why in self._forgotten.items() if name in names]

    def add_action_side(self, connector: Any) -> None:
        added = contribution_of(connector)
        if added is None:
            part = "" if self.tracer is None else self.tracer.action(connector, self.action)
            named = type(connector).__name__
            added = Contribution(action=(part,)) if isinstance(part, Part) else _none(named, part)
        self.action += added.action
        self.missing += added.missing

    def _traced_agent_side(self, connector: Any) -> Part | str:
        """A user's connector as a part, if there is a tracer; else the reason why it is none."""
        if self.tracer is None:
            return ""
        if self.looks is not None:
            return "stands behind ViewRequirementAgentConnector"
        return self.tracer.observation(connector, self.obs, self._beside)


def _none(name: str, why: str) -> Contribution:
    return Contribution(missing=(f"{name} ({why})" if why else name,))
