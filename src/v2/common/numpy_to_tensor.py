"""Arrays into torch tensors."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from ...core import nest, xp
from ...core.columns import Columns
from ...core.types import Nest
from ..connector import ConnectorV2
from .stateful_modules import is_multi

_NO_NUMBERS: Final = "OSUV"
_SHARED: Final = frozenset(map(np.dtype, ("f4", "i8", "i4", "u1", "?")))


class NumpyToTensor(ConnectorV2):
    """Turn arrays into tensors: floats into float32, integers as wide as they are.

    Infos, texts and objects stay as they are. Without a module, or with one that has no network of
    torch, nothing is turned.

    Args:
        input_observation_space: Of what comes in.
        input_action_space: Of what comes in.
        pin_memory: Whether to copy through pinned memory, without waiting; for CUDA devices.
        device: Where the tensors go.
        as_learner_connector: Whether the batch is a train batch; makes no difference.
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        pin_memory: bool = False,
        device: Any = None,
        as_learner_connector: bool = False,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.pin_memory = pin_memory
        self.device = device
        self.as_learner_connector = as_learner_connector

    @override
    def __call__(self, *, rl_module: Any, batch: dict[str, Any], **kwargs: Any) -> Any:
        if rl_module is None:
            return batch
        is_by_module = is_multi(rl_module)
        for column, data in batch.items():
            if is_by_module and column in rl_module:
                batch[column] = {name: self._turned(name, own) for name, own in data.items()}
            else:
                batch[column] = self._turned(column, data)
        return batch

    def _turned(self, column: str, data: Nest) -> Nest:
        return tensors_of(column, data, self.device, self.pin_memory)


def tensors_of(column: str, data: Nest, device: Any = None, pin_memory: bool = False) -> Nest:
    """A column of arrays as tensors.

    Args:
        column: Its name; infos are left alone.
        data: A nest of arrays; texts and objects are left alone.
        device: Where the tensors go.
        pin_memory: Whether to copy through pinned memory, without waiting.
    """
    if column == Columns.INFOS:
        return data
    if type(data) is np.ndarray:
        return _tensor(data, device, pin_memory)
    if type(data) is dict:
        return {key: tensors_of("", own, device, pin_memory) for key, own in data.items()}
    return nest.map_structure(lambda leaf: _tensor(leaf, device, pin_memory), data)


def _tensor(leaf: Any, device: Any, pin_memory: bool) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and device is None and type(leaf) is np.ndarray:
        flags = leaf.flags
        if leaf.dtype in _SHARED and flags.c_contiguous and flags.writeable:
            return torch.from_numpy(leaf)  # The usual case of what follows.
    from ...core.tensors import as_tensors  # Pipelines without a module do without torch.

    if xp.is_tensor(leaf):
        return as_tensors(leaf.float() if leaf.is_floating_point() else leaf, device)
    array = np.asarray(leaf)
    if array.dtype.kind in _NO_NUMBERS:
        return leaf
    if array.dtype.kind == "f":
        array = array.astype(np.float32, copy=False)
    if not pin_memory or device is None:
        return as_tensors(array, device)
    return as_tensors(array).pin_memory().to(device, non_blocking=True)
