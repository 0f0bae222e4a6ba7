"""One layer of a network: the arrays TensorFlow saves of it, and the torch arrays they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np

from ...core.types import Array


class Layer(NamedTuple):
    """One layer to find.

    Args:
        kind: A key of `PARTS`.
        saved: Its name in TensorFlow's scope, without the number of repeated names; {} marks the
            position of that number if it is not at the end.
        torch: The name of the equivalent torch layer; "" if there is none.
        width: Number of outputs; None or 0 if unknown.
    """

    kind: str
    saved: str
    torch: str
    width: int | None = None


class Part(NamedTuple):
    """One array of a layer.

    Args:
        saved: What follows the layer's name in TensorFlow, as a pattern.
        axes: How many axes the saved array has; None for any number.
        torch: What follows the layer's name in torch, and how to get there, for each twin.
    """

    saved: str
    axes: int | None
    torch: tuple[tuple[str, Callable[[Array], Array]], ...]


def _same(array: Array) -> Array:
    return array


def _outputs_first(kernel: Array) -> Array:
    # (in, out), or (1, 1, in, out) of a convolution that is a dense layer in torch.
    return np.ascontiguousarray(kernel.reshape(-1, kernel.shape[-1]).T)


def _channels_first(kernel: Array) -> Array:
    return np.ascontiguousarray(kernel.transpose(3, 2, 0, 1))


_WEIGHT: Final = ((".weight", _outputs_first),)
# Before TensorFlow 2.3 an LSTM's cell had no name.
_CELL: Final = r"(?:/lstm_cell(?:_\d+)?)?"
_BIAS: Final = Part("/bias", 1, ((".bias", _same),))

PARTS: Final[Mapping[str, tuple[Part, ...]]] = {
    "dense": (Part("/kernel", 2, _WEIGHT), _BIAS),
    "plain": (Part("/kernel", 2, _WEIGHT),),
    "cell": (Part("/kernel", 4, _WEIGHT), _BIAS),
    "conv": (Part("/kernel", 4, ((".weight", _channels_first),)), _BIAS),
    "norm": (
        Part("/gamma", 1, ((".weight", _same),)),
        Part("/beta", 1, ((".bias", _same),)),
    ),
    # Both order the gates input, forget, cell, output; torch adds two biases up.
    "lstm": (
        Part(f"{_CELL}/kernel", 2, (("weight_ih_l0", _outputs_first),)),
        Part(f"{_CELL}/recurrent_kernel", 2, (("weight_hh_l0", _outputs_first),)),
        Part(f"{_CELL}/bias", 1, (("bias_ih_l0", _same), ("bias_hh_l0", np.zeros_like))),
    ),
    "noisy": (
        Part("_sigma_w", 2, ((".sigma_w", _same),)),
        Part("_sigma_b", 1, ((".sigma_b", _same),)),
        Part("_fc_w", 2, ((".w", _same),)),
        Part("_fc_b", 1, ((".b", _same),)),
    ),
    "array": (Part("", None, (("", _same),)),),
    "unseen": (),
    "scalar": (Part("", 0, (("", lambda value: value.reshape(1)),)),),
}
"""Arrays saved by each kind of layer, in order. "cell" is a convolution over a single cell, which
is a dense layer in torch; "plain" is a dense layer without bias."""
