"""What SAC reads from its trainer config about its networks; no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_NET: Final[Mapping[str, Any]] = {"fcnet_hiddens": [256, 256], "fcnet_activation": "relu"}


def net_config(config: Mapping[str, Any], *spellings: str) -> Mapping[str, Any]:
    """The model settings of one network, under the first spelling that holds some.

    Args:
        config: The trainer config; later versions keep the older spelling with a -1 in it.
        *spellings: Keys to look under, the newest first.
    """
    found = [config[key] for key in spellings if isinstance(config.get(key), Mapping)]
    return {**_NET, **found[0]} if found else _NET
