"""What SAC reads from its trainer config about its networks; no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_NET: Final[Mapping[str, Any]] = {
    "fcnet_hiddens": [256, 256],
    "fcnet_activation": "relu",
    "post_fcnet_hiddens": [],
    "post_fcnet_activation": None,
    "custom_model": None,
    "custom_model_config": {},
}
"""Each network's own settings, where nobody gave others."""


def net_config(config: Mapping[str, Any], *spellings: str) -> Mapping[str, Any]:
    """The model settings of one network: its own, under the first spelling that holds some.

    A dict of the user's takes the place of SAC's own as a whole; what it leaves out is as in the
    shared model settings, whose activation is tanh.

    Args:
        config: The trainer config; later versions keep the older spelling with a -1 in it.
        *spellings: Keys to look under, the newest first.
    """
    own: Mapping[str, Any] = next(
        (config[key] for key in spellings if isinstance(config.get(key), Mapping)), _NET
    )
    return {**(config.get("model") or {}), **own}
