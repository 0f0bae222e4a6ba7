"""The losses of an update: those that are no numbers are found, the last ones are told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ...core.errors import ConfigError, RlconnectError


class LossError(RlconnectError, ArithmeticError):
    """A loss is not a finite number.

    `module_id` and `terms` say whose and through what, `update` and `minibatch` when, from 1.
    """


class UpdateLosses:
    """Looks at every loss of an update, and keeps the last ones with their terms.

    It looks on a CPU at once, before a wrong one reaches the weights. On a GPU when the update is
    over: looking at each would make it wait for each.
    """

    def __init__(self) -> None:
        self._terms: dict[str, Mapping[str, Any]] = {}
        self._last: dict[str, Any] = {}
        self._last_terms: dict[str, tuple[Mapping[str, Any], Callable[[], Mapping[str, Any]]]] = {}
        self._waiting: list[tuple[str, Any, Mapping[str, Any], int]] = []
        self._update = self._minibatch = 0

    def begin(self, update: int) -> None:
        """Forget what an update before this one has left.

        Args:
            update: Which one this is, from 1.
        """
        self._terms.clear()
        self._waiting.clear()
        self._update, self._minibatch = update, 0

    def know_terms(
        self, module_id: str, terms: Mapping[str, Any], late: Callable[[], Mapping[str, Any]] = dict
    ) -> None:
        """Keep what the next loss of a module is made of; `late` gives what is only told."""
        self._terms[module_id] = terms
        self._last_terms[module_id] = (terms, late)

    def look_at(self, losses: Mapping[str, Any]) -> None:
        """Check losses, or keep them until `end`.

        Raises:
            LossError: One is not finite.
            ConfigError: One is no tensor.
        """
        self._minibatch += 1
        for module_id, loss in losses.items():
            if not isinstance(loss, torch.Tensor):
                raise ConfigError(
                    f"compute_loss_for_module() gave no loss for module {module_id!r}",
                    expected="a scalar tensor",
                    found=type(loss).__name__,
                )
            terms = self._terms.get(module_id, {})
            if loss.device.type != "cpu":
                self._waiting.append((module_id, loss.detach(), terms, self._minibatch))
            elif not math.isfinite(loss.item()):
                raise _error(module_id, loss.item(), terms, self._update, self._minibatch)

    def end(self, losses: Mapping[str, Any]) -> None:
        """Check what waits, and keep the losses of the last minibatch.

        Raises:
            LossError: One was not finite; the weights have seen it.
        """
        self._last = dict(losses)
        if self._waiting:
            are_finite = torch.stack([loss for _, loss, *_ in self._waiting]).isfinite().tolist()
            for is_finite, (module_id, loss, terms, minibatch) in zip(
                are_finite, self._waiting, strict=True
            ):
                if not is_finite:
                    raise _error(module_id, loss.item(), terms, self._update, minibatch)

    def last_values(self, total: str) -> dict[tuple[str, str], Any]:
        """Hand over the losses of the last update and their terms, by module and name.

        Args:
            total: The name of a loss as a whole.
        """
        losses, self._last = self._last, {}
        terms, self._last_terms = self._last_terms, {}
        values = {(module_id, total): loss for module_id, loss in losses.items()}
        for module_id, (scalars, late) in terms.items():
            for name, value in {**scalars, **late()}.items():
                values[module_id, name] = value
        return values


def _error(
    module_id: str, loss: float, terms: Mapping[str, Any], update: int, minibatch: int
) -> LossError:
    wrong = [name for name, term in terms.items() if not math.isfinite(float(term.detach()))]
    if wrong:
        where = f"from its terms {', '.join(map(repr, wrong))}"
    elif terms:
        where = f"though its terms {', '.join(map(repr, terms))} are finite"
    else:
        where = ""
    return LossError(
        f"the loss of module {module_id!r} is {loss} in minibatch {minibatch} of update {update}",
        expected="a finite number",
        found=f"{loss} {where}".strip(),
        hint="look for such values in observations, rewards and advantages; where it comes late in "
        "training, a smaller lr or grad_clip helps.",
        module_id=module_id,
        terms=wrong,
        update=update,
        minibatch=minibatch,
    )
