"""Arrays into torch tensors."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from ....core import array_namespace as xp
from ....core import nest
from ....core.columns import Columns
from ....core.errors import PieceError
from ....core.importing.torch_needed import torch_needed
from ....core.step.part import moves_numbers
from ....core.types import Nest
from ..columnar import ColumnarPiece
from ..piece_plan import Call

if TYPE_CHECKING:
    import torch

    from ....core.trust import Names

_NO_NUMBERS: Final = "OSUV"
_INFOS: Final = Columns.INFOS
_SHARED: Final = frozenset(map(np.dtype, ("f4", "i8", "i4", "u1", "?")))


class NumpyToTensor(ColumnarPiece):
    """Convert arrays to tensors: floats to float32, integers unchanged in width.

    Infos, strings and objects are unchanged. Without a module, or with one that has no torch
    network, nothing is converted.

    Args:
        pin_memory: Whether to copy through pinned memory, without waiting; for CUDA devices.
        device: Where the tensors go.
        as_learner_connector: Whether the batch is a train batch; makes no difference.
        check_finite: Whether to look for numbers that are not finite, before a module sees them.
    """

    part = moves_numbers

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        pin_memory: bool = False,
        device: str | torch.device | None = None,
        as_learner_connector: bool = False,
        check_finite: bool = False,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.pin_memory = pin_memory
        self.device = device
        self.as_learner_connector = as_learner_connector
        self.check_finite = check_finite

    @classmethod
    @override
    def _live_arguments(
        cls, args: tuple[Any, ...], kwargs: Mapping[str, Any], names: Names
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # The spelling of Ray from November 2024 to January 2025.
        renamed = {"pin_memory" if k == "pin_mempory" else k: v for k, v in kwargs.items()}
        return super()._live_arguments(args, renamed, names)

    @override
    def columns(self, batch: dict[str, Any], call: Call) -> dict[str, Any]:
        """Turn all columns.

        Raises:
            PieceError: With `check_finite`, a column has a number that is not finite.
        """
        rl_module, is_by_module = call.rl_module, call.is_multi
        if rl_module is None:
            return batch
        if self.check_finite:
            self._check_all(batch, call)
        device, pin_memory = self.device, self.pin_memory
        for column, data in batch.items():
            if is_by_module and column in rl_module:
                batch[column] = {
                    name: tensors_of(name, own, device, pin_memory) for name, own in data.items()
                }
            else:
                batch[column] = tensors_of(column, data, device, pin_memory)
        return batch

    def _check_all(self, batch: Mapping[str, Any], call: Call) -> None:
        owners = call.shared_data.get("memorized_map_structure")
        by_module = owners if isinstance(owners, Mapping) else None
        for column, data in batch.items():
            if by_module is not None and call.is_multi and column in call.rl_module:
                self._check(data, by_module.get(column), f"module {column!r}, ")
            else:
                self._check({column: data}, None if by_module is not None else owners)

    def _check(self, columns: Mapping[str, Nest], owners: Any, where: str = "") -> None:
        for column, data in columns.items():
            for path, leaf in nest.flatten_with_path(data) if column != Columns.INFOS else ():
                array = xp.to_numpy(leaf) if xp.is_tensor(leaf) else np.asarray(leaf)
                if array.dtype.kind != "f" or np.isfinite(array).all():
                    continue
                row = int(np.argwhere(~np.isfinite(array))[0][0]) if array.ndim else 0
                is_owned = owners is not None and len(owners) == len(array)
                part = f" at {'/'.join(map(str, path))}" if path else ""
                raise PieceError(
                    f"{type(self).__name__}: {where}column {column!r}{part} is not finite in "
                    f"row {row}" + (f", of episode {owners[row]!r}" if is_owned else ""),
                    expected="finite numbers",
                    found=str(array[row] if array.ndim else array),
                    hint="look for it in the environment, or in the pieces that made the column.",
                )


def tensors_of(column: str, data: Nest, device: Any = None, pin_memory: bool = False) -> Nest:
    """A column of arrays as tensors.

    Args:
        column: Its name; infos are left alone.
        data: A nest of arrays; texts and objects are left alone.
        device: Where the tensors go.
        pin_memory: Whether to copy through pinned memory, without waiting.
    """
    if column == _INFOS:
        return data
    if type(data) is np.ndarray:
        if device is None and data.dtype in _SHARED and data.flags.carray:
            torch: Any = sys.modules.get("torch")
            if torch is not None:
                return torch.from_numpy(data)
        return _tensor(data, device, pin_memory)
    if type(data) is dict:
        return {key: tensors_of("", part, device, pin_memory) for key, part in data.items()}
    return nest.map_structure(lambda leaf: _tensor(leaf, device, pin_memory), data)


def _is_cpu(device: Any) -> bool:
    return device == "cpu" or getattr(device, "type", None) == "cpu"


def _tensor(leaf: Any, device: Any, pin_memory: bool) -> Any:
    is_here = device is None or (not pin_memory and _is_cpu(device))
    if is_here and type(leaf) is np.ndarray:  # The usual cases first.
        torch: Any = sys.modules.get("torch")
        if torch is not None and leaf.dtype in _SHARED and leaf.flags.carray:
            return torch.from_numpy(leaf)
        if torch is not None and leaf.dtype == np.float64:
            return torch.from_numpy(leaf.astype(np.float32, order="C"))
    with torch_needed("NumpyToTensor"):  # Pipelines without a module do without it.
        from ....core.arrays.tensors import as_tensors

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
