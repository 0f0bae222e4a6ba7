"""Where TensorFlow's networks differ from torch's of the same settings; no torch here.

Attention: the dense layers of a unit have a bias, and layer norms another epsilon. Images: the
layers of `post_fcnet_hiddens` all have their activation, and a shared value is read from the last.
Dueling Q branches without hidden layers: the value one has an output layer all the same.

The weights' names tell, as they stay when a policy is exported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

KERAS_LAYERS: Final = "_keras_layers"
"""The model setting under which networks learn of it."""
NORM_EPSILON: Final = 1e-3
"""What Keras adds to a variance."""
_BIASED: Final = "._layer.1._model.0.bias"
_POST: Final = "_post_fcnet."
_VALUE: Final = "value_module.V._model.0.weight"


def has_keras_layers(names: Iterable[str]) -> bool:
    """Whether weights of these names are those of a network that differs."""
    all_names = set(names)
    if _VALUE in all_names and not any(name.startswith("advantage_module.") for name in all_names):
        return True
    return any(name.endswith(_BIASED) or name.startswith(_POST) for name in all_names)


def with_keras_layers(config: Mapping[str, Any]) -> dict[str, Any]:
    """A trainer config whose networks are built as TensorFlow does.

    Example:
        >>> with_keras_layers({"model": {"use_attention": True}})
        {'model': {'use_attention': True, '_keras_layers': True}}
    """
    return {**config, "model": {**(config.get("model") or {}), KERAS_LAYERS: True}}
