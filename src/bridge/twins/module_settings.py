"""Settings of a native module, complete, so that what a release changes changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def with_rest(stack: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
    """The settings of a module's layers with plain heads."""
    return {
        **stack,
        "head_fcnet_hiddens": [],
        "head_fcnet_activation": "relu",
        "fcnet_use_layernorm": False,
        **settings,
    }
