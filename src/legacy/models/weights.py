"""Put saved weights into a network; every name and shape must fit, or nothing changes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from ...core.errors import WeightsError

_SHOWN = 12
# The networks of the components of nested observations, see `complex.py`.
_COMPONENT: Final = re.compile(r"(^|\.)(cnns?|flatten|one_hot)[._]\d+\.")


def load_weights(model: nn.Module, weights: Mapping[str, Any]) -> None:
    """Copy weights into a model by name, strictly; where anything does not fit it stays as it is.

    A name that is another name of a loaded tensor may be missing (`cnns.0` is also `cnn_0`), so
    may constant buffers and the names in the model's `unused_weights`.

    Raises:
        WeightsError: Names are missing or unexpected, or shapes differ; all of them are listed
            in the message and in `missing`, `unexpected` and `misshaped`.
    """
    parameters = model.state_dict(keep_vars=True)
    unexpected = [name for name in weights if name not in parameters]
    misshaped = [
        f"{name} (expected {tuple(parameters[name].shape)}, found {np.shape(value)})"
        for name, value in weights.items()
        if name in parameters and tuple(parameters[name].shape) != tuple(np.shape(value))
    ]
    missing = _missing(model, parameters, weights)
    if missing or unexpected or misshaped:
        raise _misfit(model, missing, unexpected, misshaped)
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(_tensor(value))


def _missing(
    model: nn.Module, parameters: Mapping[str, Tensor], weights: Mapping[str, Any]
) -> list[str]:
    filled = {id(parameters[name]) for name in weights if name in parameters}
    optional = tuple(getattr(model, "unused_weights", ()))
    buffers = {name for name, _ in model.named_buffers(remove_duplicate=False)}
    return [
        name
        for name, tensor in parameters.items()
        if name not in weights
        and id(tensor) not in filled
        and name not in buffers
        and not (optional and name.startswith(optional))
    ]


def _tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    return torch.from_numpy(np.array(value))  # a copy: saved arrays may be read-only


def _misfit(
    model: nn.Module, missing: list[str], unexpected: list[str], misshaped: list[str]
) -> WeightsError:
    parts = [
        f"{word}: {', '.join(names[:_SHOWN])}" + (f" and {more} more" if more > 0 else "")
        for word, names in (
            ("missing", missing),
            ("unexpected", unexpected),
            ("of another shape", misshaped),
        )
        if names
        for more in [len(names) - _SHOWN]
    ]
    is_loss = not unexpected and not misshaped and all(map(_COMPONENT.search, missing))
    return WeightsError(
        f"weights do not fit {type(model).__name__}; {'; '.join(parts)}",
        hint="Ray up to 2.0 did not save networks of an observation's components: they are lost."
        if is_loss
        else "model settings and spaces must be those the weights were saved with.",
        missing=missing,
        unexpected=unexpected,
        misshaped=misshaped,
    )
