"""The optimisers of a learner by module and name, with the parameters and the schedule of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim import Adam, Optimizer

from ...core import nest, xp
from ...core.errors import ConfigError, UnknownNameError
from ..schedules import Scheduler


class UnknownOptimizerError(UnknownNameError, KeyError):
    """There is no optimiser of that name, or it was never registered."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One optimiser.

    Attributes:
        module_id: Whose it is.
        name: Its name among those of the module.
        optimizer: The optimiser.
        params: What it changes.
        schedule: Its learning rate by steps sampled; None where it is not known.
    """

    module_id: str
    name: str
    optimizer: Optimizer
    params: tuple[nn.Parameter, ...]
    schedule: Scheduler | None

    @property
    def full_name(self) -> str:
        """Its name among all, as checkpoints have it."""
        return f"{self.module_id}_{self.name}"


class Optimizers:
    """All optimisers of a learner, in the order they were registered."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def register(
        self,
        module_id: str,
        name: str,
        optimizer: Optimizer,
        params: Sequence[nn.Parameter],
        lr: Any,
    ) -> None:
        """Add an optimiser, and set its learning rate.

        Args:
            module_id: Whose it is.
            name: Its name.
            optimizer: The optimiser.
            params: What it changes.
            lr: A number, or points of a schedule; None leaves its own.

        Raises:
            ConfigError: It is no torch optimiser, or does not hold just these parameters.
        """
        place = f"optimizer {name!r} of module {module_id!r}"
        if not isinstance(optimizer, Optimizer):
            raise ConfigError(
                place, expected="a torch.optim.Optimizer", found=type(optimizer).__name__
            )
        held = {id(param) for group in optimizer.param_groups for param in group["params"]}
        if held != {id(param) for param in params}:
            raise ConfigError(
                f"{place} holds other parameters than `params`",
                expected=f"the same {len(held)} parameters",
                found=f"{len(params)} in `params`",
            )
        schedule = None
        if lr is not None:
            Scheduler.validate(fixed_value_or_schedule=lr, setting_name=f"lr of {place}")
            schedule = Scheduler(lr)
            set_lr(optimizer, schedule.get_current_value())
        entry = Entry(module_id, name, optimizer, tuple(params), schedule)
        self._entries[entry.full_name] = entry

    def remove_module(self, module_id: str) -> None:
        """Forget the optimisers of a module."""
        self._entries = {
            key: entry for key, entry in self._entries.items() if entry.module_id != module_id
        }

    def of_module(self, module_id: str) -> list[Entry]:
        """Give the optimisers of a module."""
        return [entry for entry in self._entries.values() if entry.module_id == module_id]

    def get(self, module_id: str, name: str) -> Entry:
        """Give an optimiser by name.

        Raises:
            UnknownOptimizerError: There is none.
        """
        try:
            return self._entries[f"{module_id}_{name}"]
        except KeyError:
            known = ", ".join(f"{e.name!r} of {e.module_id!r}" for e in self) or "none at all"
            raise UnknownOptimizerError(
                f"Optimizer not found: {name!r} of module {module_id!r}",
                expected=known,
                hint="register_optimizer() in configure_optimizers_for_module() adds one.",
            ) from None

    def of(self, optimizer: Any) -> Entry:
        """Give the entry of an optimiser.

        Raises:
            UnknownOptimizerError: It was never registered.
        """
        for entry in self._entries.values():
            if entry.optimizer is optimizer:
                return entry
        raise UnknownOptimizerError(
            f"this {type(optimizer).__name__} is not registered",
            hint="call register_optimizer() for it in configure_optimizers_for_module().",
        )

    def __iter__(self) -> Any:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def get_state(self) -> dict[str, Any]:
        """Give the state of all as arrays and numbers, by full name."""
        return {
            entry.full_name: {
                "module_id": entry.module_id,
                "state": _as_arrays(entry.optimizer.state_dict()),
            }
            for entry in self
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave; optimisers that are not here are passed over.

        Raises:
            ConfigError: An optimiser has other parameters than the state.
        """
        for name, held in state.items():
            if name not in self._entries:
                continue
            optimizer = self._entries[name].optimizer
            own = optimizer.state_dict()["param_groups"]
            given = dict(held["state"])
            counts = [
                [len(group["params"]) for group in groups]
                for groups in (own, given["param_groups"])
            ]
            if counts[0] != counts[1]:
                raise ConfigError(
                    f"the state of optimizer {name!r} is of another network",
                    expected=f"{sum(counts[0])} parameters",
                    found=f"{sum(counts[1])}",
                )
            # How the arithmetic is carried out is this machine's choice, not the checkpoint's.
            given["param_groups"] = [
                {**theirs, **{key: mine[key] for key in ("fused", "foreach") if key in mine}}
                for mine, theirs in zip(own, given["param_groups"], strict=True)
            ]
            given["state"] = nest.map_structure(_as_tensor, dict(given["state"]))
            optimizer.load_state_dict(given)


def adam(params: Iterable[nn.Parameter], lr: float) -> Adam:
    """Make Adam in the fastest form there is: fused where torch can, else in bulk."""
    given = list(params)
    try:
        return Adam(given, lr=lr, fused=True)
    except RuntimeError:  # this torch has no fused form for that device
        return Adam(given, lr=lr, foreach=True)


def get_lr(optimizer: Optimizer) -> float:
    """The learning rate of the first group."""
    return float(optimizer.param_groups[0]["lr"])


def set_lr(optimizer: Optimizer, lr: float) -> None:
    """Set the learning rate of all groups."""
    for group in optimizer.param_groups:
        group["lr"] = lr


def _sizes(groups: Iterable[Mapping[str, Any]]) -> list[int]:
    return [len(group["params"]) for group in groups]


def _as_arrays(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return xp.to_numpy(value.detach()).copy()
    if isinstance(value, Mapping):
        return {key: _as_arrays(part) for key, part in value.items()}
    return [_as_arrays(part) for part in value] if isinstance(value, list) else value


def _as_tensor(leaf: Any) -> Any:
    return torch.tensor(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf
