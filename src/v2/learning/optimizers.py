"""The optimisers of a learner by module and name, with the parameters and the schedule of each."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim import optimizer as hooks

from ...core import array_namespace as xp
from ...core.data.checked import amount, mapping, number, shaped
from ...core.data.damage import at
from ...core.errors import ConfigError, UnknownNameError
from ..modules.schedules import Scheduler


class AdamStep:
    """Takes the steps of an optimiser, those of a plain fused Adam by the kernel.

    Args:
        optimizer: The optimiser. What it remembers, and its settings, stay its own: they may be
            exchanged at any time.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._state: Any = None
        self._lists: tuple[Any, ...] | None = None

    def __call__(self, gradients: Sequence[Any]) -> None:
        """Take a step.

        Args:
            gradients: Of all its parameters in order, as they lie there; None for those without.
        """
        optimizer = self._optimizer
        if self._lists is None or not self._goes_on() or any(g is None for g in gradients):
            _step(optimizer)
            self._state, self._lists = optimizer.state, _lists_of(optimizer)
            return
        params, moments, squares, steps, count = self._lists
        kernel: Any = torch._fused_adam_
        group = optimizer.param_groups[0]
        beta1, beta2 = group["betas"]
        with torch.no_grad():
            count.add_(1)
            kernel(
                params,
                gradients,
                moments,
                squares,
                [],
                steps,
                lr=group["lr"],
                beta1=beta1,
                beta2=beta2,
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                amsgrad=False,
                maximize=False,
            )

    def _goes_on(self) -> bool:
        """Whether it remembers what it did after the last step, and nobody watches steps."""
        optimizer: Any = self._optimizer
        return (
            optimizer.state is self._state
            and len(optimizer.state) == len(self._lists[0])  # type: ignore[index]  # there are some
            and _is_plain(optimizer)
        )


class Adam(torch.optim.Adam):
    """Torch's, but its methods do not import torch's compiler, for seconds, to keep it off."""

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    state_dict = inspect.unwrap(torch.optim.Adam.state_dict)
    load_state_dict = inspect.unwrap(torch.optim.Adam.load_state_dict)


def _step(optimizer: Any) -> None:
    """Take a step in torch's own way."""
    if _is_plain(optimizer):
        with torch.no_grad():
            inspect.unwrap(torch.optim.Adam.step)(optimizer)
    else:
        optimizer.step()


def _is_plain(optimizer: Any) -> bool:
    """Whether an optimiser is torch's fused Adam, with settings of numbers and no hooks."""
    if (
        type(optimizer) not in (torch.optim.Adam, Adam)
        or len(optimizer.param_groups) != 1
        or "step" in vars(optimizer)
    ):
        return False
    group = optimizer.param_groups[0]
    is_odd = any(group.get(name) for name in _ODD) or not group.get("fused")
    return not (
        is_odd
        or isinstance(group["lr"], torch.Tensor)
        or optimizer._optimizer_step_pre_hooks
        or optimizer._optimizer_step_post_hooks
        or hooks._global_optimizer_pre_hooks
        or hooks._global_optimizer_post_hooks
        or getattr(optimizer, "grad_scale", None) is not None
        or getattr(optimizer, "found_inf", None) is not None
    )


_ODD = ("amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay")


def _lists_of(optimizer: Any) -> tuple[Any, ...] | None:
    """Parameters, both moments and steps, as the kernel takes them; None where it does not.

    The steps become parts of one tensor, which comes last: they are counted at once.
    """
    if not _is_plain(optimizer):
        return None
    params = optimizer.param_groups[0]["params"]
    states = [optimizer.state.get(param) for param in params]
    if not all(states) or len({(param.device, param.dtype) for param in params}) != 1:
        return None
    count = torch.stack([state["step"] for state in states])
    for state, step in zip(states, count.unbind(), strict=True):
        state["step"] = step
    moments, squares, steps = (
        [state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step")
    )
    return params, moments, squares, steps, count


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
        step: Takes a step, given the gradients that `params` have.
    """

    module_id: str
    name: str
    optimizer: Optimizer
    params: tuple[nn.Parameter, ...]
    schedule: Scheduler | None
    step: AdamStep

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
        param_ids = {id(param) for group in optimizer.param_groups for param in group["params"]}
        if param_ids != {id(param) for param in params}:
            raise ConfigError(
                f"{place} holds other parameters than `params`",
                expected=f"the same {len(param_ids)} parameters",
                found=f"{len(params)} in `params`",
            )
        schedule = None
        if lr is not None:
            Scheduler.validate(fixed_value_or_schedule=lr, setting_name=f"lr of {place}")
            schedule = Scheduler(lr)
            set_lr(optimizer, schedule.get_current_value())
        entry = Entry(module_id, name, optimizer, tuple(params), schedule, AdamStep(optimizer))
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
            names = ", ".join(f"{e.name!r} of {e.module_id!r}" for e in self) or "none at all"
            raise UnknownOptimizerError(
                f"Optimizer not found: {name!r} of module {module_id!r}",
                expected=names,
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
        for name, saved in state.items():
            if name not in self._entries:
                continue
            with at(name):
                _take(self._entries[name], saved["state"])


def _take(entry: Entry, state: Mapping[str, Any]) -> None:
    """Let an optimiser go on from a state; nothing of it has changed if it does not fit."""
    optimizer = entry.optimizer
    own_groups = optimizer.state_dict()["param_groups"]
    with at("param_groups"):
        groups = [dict(mapping(group)) for group in state["param_groups"]]
        counts = _sizes(own_groups), _sizes(groups)
    if counts[0] != counts[1]:
        raise ConfigError(
            f"the state of optimizer {entry.full_name!r} is of another network",
            expected=f"{sum(counts[0])} parameters",
            found=f"{sum(counts[1])}",
        )
    for place, (mine, theirs) in enumerate(zip(own_groups, groups, strict=True)):
        # How the arithmetic is carried out is this machine's choice, not the checkpoint's.
        theirs.update({key: mine[key] for key in ("fused", "foreach") if key in mine})
        with at("param_groups", place):
            _check_settings(mine, theirs)
    with at("state"):
        kept_state = _kept(mapping(state["state"]), optimizer, groups)
    optimizer.load_state_dict({"state": kept_state, "param_groups": groups})


def _check_settings(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Refuse settings that are missing or of another kind, which the next step would stumble on."""
    for name, value in mine.items():
        setting = theirs[name] if name in theirs or isinstance(value, float) else value
        with at(name):
            if isinstance(value, bool) and not isinstance(setting, bool):
                raise ValueError(f"True or False was expected, not a {type(setting).__name__}")
            if isinstance(value, float):
                number(setting)
            if isinstance(value, tuple):
                numbers = [number(each) for each in setting]
                if len(numbers) != len(value):
                    raise ValueError(f"{len(value)} numbers were expected, not {len(numbers)}")


def _kept(
    state: Mapping[Any, Any], optimizer: Optimizer, groups: Sequence[Mapping[str, Any]]
) -> dict[Any, Any]:
    """What is remembered of each parameter: arrays of its shape, and numbers."""
    shapes: dict[Any, tuple[int, ...]] = {}
    for mine, theirs in zip(optimizer.param_groups, groups, strict=True):
        pairs = zip(theirs["params"], mine["params"], strict=True)
        shapes.update({key: tuple(param.shape) for key, param in pairs})
    fitted = {}
    for key, param_state in state.items():
        with at(key):
            fitted[key] = {
                name: _fitting(name, value, shapes.get(key)) for name, value in param_state.items()
            }
    return fitted


def _fitting(name: str, value: Any, shape: tuple[int, ...] | None) -> Any:
    if not isinstance(value, (np.ndarray, np.generic, torch.Tensor, int, float)):
        if name not in _ADAMS and (value is None or isinstance(value, (list, dict))):
            return value  # of another kind of optimiser, which knows what it is
        raise ValueError(f"{name!r} is a {type(value).__name__}")
    with at(name):
        if name == "step":
            amount(xp.to_numpy(value))
        elif shape is not None and name in _ADAMS:
            shaped(xp.to_numpy(value), shape)
    return _as_tensor(value)


_ADAMS: Final = frozenset({"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"})


def adam(params: Iterable[nn.Parameter], lr: float, eps: float = 1e-8) -> torch.optim.Adam:
    """Make Adam in the fastest form there is: fused where torch can, else in bulk."""
    listed = list(params)
    try:
        return Adam(listed, lr=lr, eps=eps, fused=True)
    except RuntimeError:  # this torch has no fused form for that device
        return torch.optim.Adam(listed, lr=lr, eps=eps, foreach=True)


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
