"""The steps of a migration in the order in which they can be applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ... import v2
from ...core.adapters import AdapterChain
from ...core.spaces.walk import leaf_spaces
from ...legacy.policy.policy import Policy
from .agent_twins import agent_twin
from .step import MigrationStep, Side
from .twin import Refusal, Twin, action_snippet, gone, native, network_snippet, twin_of_own, wrapped


def action_twin(policy: Policy, connector: Any, before: Sequence[Any]) -> Twin:
    """What becomes of one action connector of a policy."""
    make = _TWINS.get(type(connector).__name__)
    if make is None or not type(connector).__module__.startswith(__name__.split(".")[0] + "."):
        return twin_of_own(connector, action_snippet)
    return make(policy, before)


def _to_numpy(policy: Policy, before: Sequence[Any]) -> Twin:
    return gone("TensorToNumpy does it", "TensorToNumpy(), one of the defaults")


def _normalize(policy: Policy, before: Sequence[Any]) -> Twin:
    strange = [
        connector for connector in before if type(connector).__name__ != "ConvertToNumpyConnector"
    ]
    if strange:
        return wrapped(f"{type(strange[0]).__name__} changes actions before it")
    return native(
        "NormalizeAndClipActions(normalize_actions=True, clip_actions=False)",
        lambda: [v2.NormalizeAndClipActions(normalize_actions=True, clip_actions=False)],
        "the same formula",
    )


def _clip(policy: Policy, before: Sequence[Any]) -> Twin:
    names = [type(connector).__name__ for connector in before]
    strange = [
        name
        for name in names
        if name not in ("ConvertToNumpyConnector", "NormalizeActionsConnector")
    ]
    if strange:
        return wrapped(f"{strange[0]} changes actions before it")
    if "NormalizeActionsConnector" not in names:
        return native(
            "NormalizeAndClipActions(normalize_actions=False, clip_actions=True)",
            lambda: [v2.NormalizeAndClipActions(normalize_actions=False, clip_actions=True)],
            "the same formula",
        )
    boxes = [leaf for _, leaf in leaf_spaces(policy.action_space) if isinstance(leaf, spaces.Box)]
    if all(box.is_bounded() and np.dtype(box.dtype).kind == "f" for box in boxes):
        return gone("actions that were normalised are within their bounds")
    return wrapped("V2 either normalises or clips; this policy does both, for other spaces")


def _immutable(policy: Policy, before: Sequence[Any]) -> Twin:
    return gone("V2 hands the environment copies, so there is nothing to protect")


def _adapt(policy: Policy, before: Sequence[Any]) -> Twin:

    (connector,) = [
        connector
        for connector in policy.action_connectors.connectors  # type: ignore[union-attr]  # it has some
        if type(connector).__name__ == "AdaptActionsConnector" and connector not in before
    ][:1]
    chain = AdapterChain(action=connector.chain.action)
    return native("AdaptActions(chain)", lambda: [v2.AdaptActions(chain=chain)], "the same steps")


_TWINS: Final[dict[str, Callable[[Policy, Sequence[Any]], Twin]]] = {
    "AdaptActionsConnector": _adapt,
    "ClipActionsConnector": _clip,
    "ConvertToNumpyConnector": _to_numpy,
    "ImmutableActionsConnector": _immutable,
    "NormalizeActionsConnector": _normalize,
}
"""Class of the old stack -> what becomes of it."""


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
