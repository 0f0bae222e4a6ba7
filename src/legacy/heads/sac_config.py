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


_OLDEST: Final = {"hidden_layer_sizes": "fcnet_hiddens", "hidden_activation": "fcnet_activation"}
"""What two settings were called up to Ray 0.8."""


def net_config(config: Mapping[str, Any], spelling: str, older: str) -> Mapping[str, Any]:
    """The model settings of one network; what they leave out is as in the shared ones.

    A dict of the user's takes the place of SAC's own as a whole, so that it may leave out the
    activation, which is tanh then. Under the older spelling it was laid over SAC's own.

    Args:
        config: The trainer config; later versions keep the older spelling with a -1 in it.
        spelling: The key to look under first.
        older: What it was called up to Ray 1.13.
    """
    shared = config.get("model") or {}
    if isinstance(config.get(spelling), Mapping):
        return {**shared, **config[spelling]}
    own = config.get(older)
    held = own if isinstance(own, Mapping) else {}
    return {**shared, **_NET, **{_OLDEST.get(key, key): value for key, value in held.items()}}
