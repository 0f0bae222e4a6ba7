"""The swish activation of Ray 2.2 and older, whose slope is a weight `_beta`; no torch here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

LEARNED_SWISH: Final = "learned_swish"
_PLAIN_NAMES: Final = frozenset({"swish", "silu"})


def has_learned_swish(names: Iterable[str]) -> bool:
    """Whether weights of these names hold slopes of swish."""
    return any(name.endswith("._beta") for name in names)


def with_learned_swish(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings whose swish activations, at any depth, are those with a weight.

    Example:
        >>> with_learned_swish({"model": {"fcnet_activation": "Swish", "fcnet_hiddens": [8]}})
        {'model': {'fcnet_activation': 'learned_swish', 'fcnet_hiddens': [8]}}
    """

    def replaced(key: Any, value: Any) -> Any:
        if isinstance(value, Mapping):
            return with_learned_swish(value)
        named = isinstance(value, str) and str(key).endswith("activation")
        return LEARNED_SWISH if named and value.lower() in _PLAIN_NAMES else value

    return {key: replaced(key, value) for key, value in config.items()}
