"""What SAC reads from its trainer config about its networks; no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_NET: Final[Mapping[str, Any]] = {"fcnet_hiddens": [256, 256], "fcnet_activation": "relu"}
_IMAGES: Final = ("conv_filters", "conv_activation")
"""What SAC's networks take from the shared model settings unless their own say otherwise."""


def net_config(config: Mapping[str, Any], *spellings: str) -> Mapping[str, Any]:
    """The model settings of one network, under the first spelling that holds some.

    Args:
        config: The trainer config; later versions keep the older spelling with a -1 in it.
        *spellings: Keys to look under, the newest first.
    """
    own: Mapping[str, Any] = next(
        (config[key] for key in spellings if isinstance(config.get(key), Mapping)), {}
    )
    shared = config.get("model") or {}
    images = {key: shared[key] for key in _IMAGES if shared.get(key) is not None}
    return {**_NET, **images, **own}
