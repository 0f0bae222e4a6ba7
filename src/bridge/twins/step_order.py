"""The steps of a migration in the order in which they can be applied."""

from __future__ import annotations

from typing import Any, Final

from ...legacy.policy.policy import Policy
from .action_twins import action_twin
from .agent_twins import agent_twin
from .snippets import network_snippet
from .step import MigrationStep, Side
from .twin import Refusal, Twin

_FIRST: Final = ("ViewRequirementAgentConnector", "FlattenDataAgentConnector")
"""They need what StateBufferConnector gives, so they go before it does."""


def steps_of(policy: Policy, module: Any) -> list[MigrationStep]:
    """A step for each connector and the network."""
    agent: Any = policy.agent_connectors
    action: Any = policy.action_connectors
    before = [
        _step("agent", place, connector, agent_twin(policy, connector))
        for place, connector in enumerate(agent.connectors)
    ]
    # A piece goes before those whose output it needs; sorting keeps the others' order.
    behind = [step for step in before if step.name == "StateBufferConnector"]
    others = [step for step in before if step.name != "StateBufferConnector"]
    steps = [
        *(step for step in others if step.name not in _FIRST),
        *(step for step in reversed(others) if step.name in _FIRST),
        *behind,
        _network_step(policy, module),
        *(
            _step(
                "action",
                place,
                connector,
                action_twin(policy, connector, action.connectors[:place]),
            )
            for place, connector in enumerate(action.connectors)
        ),
    ]
    _number(steps)
    return steps


def _step(side: Side, place: int, connector: Any, twin: Twin) -> MigrationStep:
    return MigrationStep(type(connector).__name__, side, place, twin, twin.kind != "code")


def _network_step(policy: Policy, module: Any) -> MigrationStep:
    if not isinstance(module, Refusal):
        text = f"{type(module).__name__}"
        twin = Twin("native", "its weights fit V2's default network", text)
        return MigrationStep("network", "network", 0, twin)
    model = policy.networks.torch().head.model
    is_own = "of its author" in module.reason
    twin = Twin(
        "code" if is_own else "wrapped",
        module.reason,
        "the old network, wrapped",
        snippet=network_snippet(type(model).__name__) if is_own else "",
    )
    return MigrationStep("network", "network", 0, twin, is_builtin=not is_own)


def _number(steps: list[MigrationStep]) -> None:
    """Make names unique: the second one of a class is `Class_2`."""
    counts: dict[str, int] = {}
    for step in sorted(steps, key=lambda step: (step.side, step.place)):
        counts[step.name] = count = counts.get(step.name, 0) + 1
        if count > 1:
            step.name = f"{step.name}_{count}"
