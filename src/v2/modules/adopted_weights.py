"""Modules whose weights are the arrays that were read: none is made first, and none copied.

A network that is built anew takes memory and draws random numbers for weights that a file replaces
at once. Here it is built without memory, on torch's device "meta", and then gets the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ...core.data.checked import real

_Module = TypeVar("_Module")


def tensor_over(array: Any) -> Tensor:
    """A tensor that shares an array's memory where it may write there, else has a copy.

    Example:
        >>> array = np.zeros(2, np.float32)
        >>> tensor_over(array)[0] = 1.0
        >>> array.tolist()
        [1.0, 0.0]
    """
    numbers = real(array)
    is_plain = numbers.flags.behaved and numbers.flags.c_contiguous
    return torch.from_numpy(numbers) if is_plain else torch.tensor(numbers)


def built_bare(build: Callable[[], _Module]) -> _Module:
    """What `build` makes, with weights that have shapes and no memory."""
    with torch.device("meta"):
        return build()


def adopt(module: nn.Module, weights: Mapping[str, Any]) -> bool:
    """Make arrays the weights of a module built bare; False if it needs more than they are.

    Nobody else may write to the arrays from then on. It needs more where a weight has two names,
    where one is missing, or where it keeps tensors that are no weights.
    """
    parts: dict[str, Any] = module.state_dict(keep_vars=True)
    saved = {id(part) for part in parts.values()}
    kept = {
        id(value)
        for each in module.modules()
        for place in (vars(each), each._parameters, each._buffers)
        for value in place.values()
        if isinstance(value, Tensor)
    }
    if len(saved) < len(parts) or kept - saved or parts.keys() - weights.keys():
        return False
    owners: set[int] = set()
    tensors = {}
    for name, part in parts.items():
        array = weights[name]
        owner = id(_owner(array))
        tensor = torch.tensor(real(array)) if owner in owners else tensor_over(array)
        owners.add(owner)
        tensors[name] = tensor.to(part.dtype)
    module.load_state_dict(tensors, assign=True)
    return True


def _owner(array: Any) -> Any:
    """What an array's memory belongs to."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array
