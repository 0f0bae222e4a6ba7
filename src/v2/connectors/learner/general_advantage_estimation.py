"""Advantages and value targets for the train batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from gymnasium.spaces import Space
from typing_extensions import override

from ....core import array_namespace as xp
from ....core.arrays.padding import PaddingPlan
from ....core.arrays.returns import compute_value_targets, normalize_advantages
from ....core.columns import Columns
from ....core.errors import PieceError
from ...modules.apis import ValueFunctionAPI
from ..batch_items import single_agent_episode_iterator
from ..common.numpy_to_tensor import NumpyToTensor, tensors_of
from ..connector import ConnectorV2
from ..stateful_modules import is_multi, max_seq_len
from .add_one_ts import AddOneTsToEpisodesAndTruncate
from .value_forward import predicted_values


class GeneralAdvantageEstimation(ConnectorV2):
    """Add `advantages` and `value_targets` for each module that estimates values.

    The episodes must have gone through `AddOneTsToEpisodesAndTruncate`: the value of the appended
    step is the one to bootstrap from. Advantages are normalised over all rows of a module.

    Args:
        gamma: Discount per step.
        lambda_: How far advantages reach; 0 looks one step ahead, 1 to the end.

    Attributes:
        VALUE_ROWS: Most rows of a module without a state whose values are predicted at once; None
            in a subclass for all.
    """

    VALUE_ROWS: ClassVar[int | None] = 2048

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        gamma: float,
        lambda_: float,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.gamma = gamma
        self.lambda_ = lambda_
        # Subclasses that compute advantages of their own turn them into tensors with this.
        self._numpy_to_tensor_connector = NumpyToTensor(as_learner_connector=True)

    @override
    def __call__(
        self, *, rl_module: Any, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        if not is_multi(rl_module):
            raise PieceError(
                f"{type(self).__name__} needs modules by id",
                expected="a MultiRLModule",
                found=type(rl_module).__name__,
                hint="pass rl_module.as_multi_rl_module().",
            )
        singles = list(single_agent_episode_iterator(episodes, agents_that_stepped_only=False))
        for module_id, columns in batch.items():
            module = rl_module.get(module_id, None)
            if not columns or not isinstance(module, ValueFunctionAPI):
                continue
            of_module = [single for single in singles if single.module_id in (None, module_id)]
            self._add(columns, module, of_module)
        device = self._numpy_to_tensor_connector.device
        for of_module in batch.values():
            if isinstance(of_module, dict):
                for name, column in of_module.items():
                    if not _is_ready(column, device):
                        of_module[name] = tensors_of(name, column, device)
        return batch

    def _add(self, columns: dict[str, Any], module: Any, episodes: Sequence[Any]) -> None:
        predicted = predicted_values(module, columns, self.VALUE_ROWS)
        self._numpy_to_tensor_connector.device = predicted.device
        plan = None
        if module.is_stateful():
            lens = [*map(len, episodes)]
            plan = PaddingPlan.of_episodes(lens, max_seq_len(module, self))

        def by_step(column: Any) -> Any:
            array = xp.to_numpy(column)
            return array if plan is None or array.ndim == 1 else plan.unpad(array)

        values = by_step(predicted)
        targets = compute_value_targets(
            values,
            by_step(columns[Columns.REWARDS]),
            by_step(columns[Columns.TERMINATEDS]),
            by_step(columns[Columns.TRUNCATEDS]),
            self.gamma,
            self.lambda_,
        )
        advantages = normalize_advantages(targets - values)
        if plan is not None:
            advantages, targets = plan.pad(advantages), plan.pad(targets)
        columns[Columns.ADVANTAGES] = advantages
        columns[Columns.VALUE_TARGETS] = targets


def _is_ready(column: Any, device: Any) -> bool:
    """Whether a column is a tensor already as the connector would make it."""
    return (
        isinstance(column, torch.Tensor)
        and (column.dtype is torch.float32 or not column.is_floating_point())
        and device in (None, column.device)
    )


def add_value_targets(connector: Any, *, gamma: float, lambda_: float) -> None:
    """Have a pipeline compute advantages: one step more at its front, the estimation at its end.

    The end is that of the default pieces: what the user has put behind them sees advantages. A
    piece that is there already stays the only one of its kind.

    Args:
        connector: The learner pipeline, changed in place.
        gamma: Discount per step.
        lambda_: How far advantages reach.
    """
    if not connector[AddOneTsToEpisodesAndTruncate]:
        connector.prepend(AddOneTsToEpisodesAndTruncate())
    if connector[GeneralAdvantageEstimation]:
        return
    piece = GeneralAdvantageEstimation(gamma=gamma, lambda_=lambda_)
    if type(connector[len(connector) - 1]) is not NumpyToTensor and any(
        type(each) is NumpyToTensor for each in connector.connectors
    ):
        connector.insert_after(NumpyToTensor, piece)
    else:
        connector.append(piece)
