"""Actions from the inputs of their distribution."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from typing_extensions import override

from ....core import array_namespace as xp
from ....core import nest
from ....core.columns import Columns
from ....core.importing.torch_needed import torch_needed
from ..common.stateful_modules import is_multi
from ..connector import ConnectorV2


class GetActions(ConnectorV2):
    """Draw actions from `action_dist_inputs`, unless the module gave actions itself.

    Exploring they are sampled, else the best ones are taken. `action_logp` is added where it is
    missing.
    """

    @override
    def __call__(
        self, *, rl_module: Any, batch: dict[str, Any], explore: bool | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        if not is_multi(rl_module):
            add_actions(batch, rl_module, explore)
            return batch
        for module_id, outputs in batch.items():
            if module_id in rl_module:
                add_actions(outputs, rl_module[module_id], explore)
        return batch


def add_actions(
    outputs: dict[str, Any],
    rl_module: Any,
    explore: bool | None,
    kind: Any = None,
    *,
    may_be_arrays: bool = False,
) -> Any:
    """Add actions to the outputs of one module, in place.

    Args:
        outputs: The module's.
        rl_module: The module.
        explore: Whether to draw actions, not to take the best ones.
        kind: The class of its distribution, where the module was asked for it already.
        may_be_arrays: Whether tensors become arrays next, so that these may be some already.

    Returns:
        The class of its distribution, if somebody asked the module for it.
    """
    if Columns.ACTIONS in outputs or Columns.ACTION_DIST_INPUTS not in outputs:
        return kind
    inputs = outputs[Columns.ACTION_DIST_INPUTS]
    kind = kind or action_dist_cls(rl_module, explore)
    if explore:
        usual = _draw()(kind, inputs, may_be_arrays) if xp.is_tensor(inputs) else None
        if usual is not None:
            outputs[Columns.ACTIONS], logp = usual
            outputs.setdefault(Columns.ACTION_LOGP, logp)
            return kind
        distribution = kind.from_logits(inputs)
    else:
        distribution = kind.from_logits(inputs).to_deterministic()
    actions = distribution.sample()
    outputs[Columns.ACTIONS] = actions
    if Columns.ACTION_LOGP not in outputs:
        if explore or xp.is_tensor(actions):
            logp = distribution.logp(actions)
        else:
            # The best of several parts at once is certain: one zero for each row, whole like them.
            parts = [*filter(xp.is_tensor, nest.flatten(actions))] or [inputs]
            logp = sum(part.new_zeros(inputs.shape[:-1]) for part in parts)
        outputs[Columns.ACTION_LOGP] = logp
    return kind


def action_dist_cls(rl_module: Any, explore: bool | None) -> Any:
    """The class of distributions that a module acts by."""
    if explore:
        return rl_module.get_exploration_action_dist_cls()
    return rl_module.get_inference_action_dist_cls()


@cache
def _draw() -> Callable[[Any, Any, bool], tuple[Any, Any] | None]:
    with torch_needed("drawing from a distribution"):  # Pipelines without torch do without it.
        from .drawing import drawn

    return drawn
