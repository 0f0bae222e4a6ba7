"""Actions from the inputs of their distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from typing_extensions import override

from ....core import array_namespace as xp
from ....core import nest
from ....core.columns import Columns
from ....core.step.part import moves_numbers
from ..columnar import ColumnarPiece, Work
from ..common.tensor_to_numpy import TensorToNumpy
from ..piece_plan import Call


class GetActions(ColumnarPiece):
    """Draw actions from `action_dist_inputs`, unless the module gave actions itself.

    Exploring they are sampled, else the best ones are taken. `action_logp` is added where it is
    missing.
    """

    part = moves_numbers

    @override
    def columns(self, batch: dict[str, Any], call: Call) -> dict[str, Any]:
        return self._with_actions(batch, call)

    @override
    def planned(self, following: Sequence[type]) -> Work:
        is_turned = following and following[0] is TensorToNumpy
        return self._with_arrays if is_turned else self.columns

    def _with_arrays(self, batch: dict[str, Any], call: Call) -> dict[str, Any]:
        if call.is_multi:
            return self._with_actions(batch, call, True)
        add_actions(batch, call.rl_module, None, call, True)
        return batch

    def _with_actions(
        self, batch: dict[str, Any], call: Call, may_be_arrays: bool = False
    ) -> dict[str, Any]:
        if not call.is_multi:
            add_actions(batch, call.rl_module, None, call, may_be_arrays)
            return batch
        for module_id, outputs in batch.items():
            if module_id in call.rl_module:
                module = call.rl_module[module_id]
                add_actions(outputs, module, module_id, call, may_be_arrays)
        return batch


def add_actions(
    outputs: dict[str, Any], rl_module: Any, module_id: Any, call: Call, may_be_arrays: bool
) -> None:
    """Add actions to the outputs of one module, in place.

    Args:
        outputs: The module's.
        rl_module: The module.
        module_id: Its id; None for that of a single agent.
        call: Whether to draw actions, or to take the best ones.
        may_be_arrays: Whether tensors become arrays next, so that these may be some already.
    """
    if Columns.ACTIONS in outputs or Columns.ACTION_DIST_INPUTS not in outputs:
        return
    inputs = outputs[Columns.ACTION_DIST_INPUTS]
    kinds = call.kinds
    kind = None if kinds is None else kinds.get(module_id)
    if kind is None:
        kind = (
            rl_module.get_exploration_action_dist_cls()
            if call.explore
            else rl_module.get_inference_action_dist_cls()
        )
        if kinds is not None:
            kinds[module_id] = kind
    if call.explore:
        kind_of_inputs: Any = type(inputs)
        draw = _draw(kind_of_inputs)
        usual = None if draw is None else draw(kind, inputs, may_be_arrays)
        if usual is not None:
            outputs[Columns.ACTIONS], logp = usual
            outputs.setdefault(Columns.ACTION_LOGP, logp)
            return
        distribution = kind.from_logits(inputs)
    else:
        distribution = kind.from_logits(inputs).to_deterministic()
    actions = distribution.sample()
    outputs[Columns.ACTIONS] = actions
    if Columns.ACTION_LOGP not in outputs:
        if call.explore or xp.is_tensor(actions):
            logp = distribution.logp(actions)
        else:
            # The best of several parts at once is certain: one zero for each row, whole like them.
            parts = [*filter(xp.is_tensor, nest.flatten(actions))] or [inputs]
            logp = sum(part.new_zeros(inputs.shape[:-1]) for part in parts)
        outputs[Columns.ACTION_LOGP] = logp


@cache
def _draw(kind: Any) -> Callable[[Any, Any, bool], tuple[Any, Any] | None] | None:
    """What draws from tensors without more ado; pipelines without torch do without it."""
    if kind.__module__ != "torch":
        return None
    from .drawing import drawn

    return drawn
