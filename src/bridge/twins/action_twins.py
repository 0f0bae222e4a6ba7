"""What becomes of the old stack's action connectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ... import v2
from ...core.adapters import AdapterChain
from ...core.spaces.walk import leaf_spaces
from ...legacy.policy.policy import Policy
from .authors_own import twin_of_own
from .snippets import action_snippet
from .twin import Twin, gone, native, wrapped


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
