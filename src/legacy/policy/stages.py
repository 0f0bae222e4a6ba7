"""A policy of the old stack, taken step by step: what each stage of it gives."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core import nest
from ...core.arrays.batching import batch as batch_items
from ...core.errors import PieceError
from ...core.types import Nest
from ..batches.step_rows import joined_batches
from ..connectors.adapted import acted_space, seen_space
from ..connectors.drawing import pieces_of
from ..connectors.rows import answers_of
from ..connectors.types import AgentConnectorDataType, AgentConnectorsOutput
from .policy import Policy


class LegacyStages:
    """The stages of a copy of an old-stack policy.

    Observations may be outside the policy's space, because an adapter may lead there. The space of
    the environment defaults to that of the policy.
    """

    def __init__(self, policy: Policy, name: str = "", observation_space: Any = None) -> None:
        self.policy = copy.deepcopy(policy)
        self.observation_space = observation_space or seen_space(self.policy)
        self.name = name or f"{policy.algorithm} {policy.name}"
        if policy.agent_connectors is None or policy.action_connectors is None:
            raise PieceError(
                f"policy {policy.name!r} has no connectors",
                hint="create the defaults: create_connectors_for_policy(policy, policy.config).",
            )
        agent: Any = self.policy.agent_connectors
        for connector in agent.connectors:
            connector.stop_checking()

    @property
    def action_space(self) -> Any:
        """Action space of the environment."""
        return acted_space(self.policy)

    def pieces(self) -> list[tuple[str, str]]:
        """Connectors, with the network between them."""
        return pieces_of(self.policy, self.observation_space)

    def reset(self, slots: Sequence[Hashable]) -> None:
        """Forget the history of each slot."""
        for slot in slots:
            self.policy.reset_connectors(slot)

    def step(
        self, slots: Sequence[Hashable], observations: Sequence[Nest], rewards: Sequence[Any] | None
    ) -> dict[str, Nest]:
        """Run observations through connectors and network, keeping what each stage gave."""
        agent: Any = self.policy.agent_connectors
        action: Any = self.policy.action_connectors
        agent.in_eval()
        action.in_eval()
        records = []
        for place, (slot, obs) in enumerate(zip(slots, observations, strict=True)):
            data = {"new_obs": obs}
            if rewards is not None and rewards[place] is not None:
                data["rewards"] = rewards[place]
            records.append(AgentConnectorDataType(slot, "agent", data))
        ready = agent(records)
        for record in ready:
            if not isinstance(record.data, AgentConnectorsOutput):
                raise PieceError(
                    f"the connectors of policy {self.policy.name!r} end before there is a batch",
                    expected="ViewRequirementAgentConnector as the last of them",
                    found=f"{type(agent.connectors[-1]).__name__}" if agent.connectors else "none",
                )
        batches = [record.data.sample_batch for record in ready]
        columns = joined_batches(batches)
        actions, states, fetches = self.policy.compute_actions_from_input_dict(
            columns, explore=False
        )
        actions_sent = []
        asked = [record.data.raw_dict for record in ready]
        slots_of = [(record.env_id, record.agent_id) for record in ready]
        for answer in answers_of(slots_of, asked, (actions, states, fetches)):
            agent.on_policy_output(answer)
            actions_sent.append(action(answer).output[0])
        plain_actions = [nest.map_structure(np.asarray, action) for action in actions_sent]
        return stages_of(columns["obs"], fetches, states, batch_items(plain_actions))


def stages_of(
    observation: Nest, outputs: Mapping[str, Any], states: Sequence[Any], action: Nest
) -> dict[str, Nest]:
    """Return the results of a policy by stage, without the stages that it does not have."""
    stages: dict[str, Nest] = {"observation": observation}
    for name, column in (("outputs", "action_dist_inputs"), ("value", "vf_preds")):
        if column in outputs:
            stages[name] = outputs[column]
    if "q_values" in outputs and "outputs" not in stages:
        stages["outputs"] = outputs["q_values"]
    if len(states):
        stages["state"] = tuple(states)
    stages["action"] = action
    return stages
