"""A module whose second action depends on the first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from gymnasium.spaces import Box, Discrete, Tuple
from torch import Tensor, nn
from typing_extensions import override

from ...core.columns import Columns
from ...core.errors import SpaceError
from ...core.trust import trust
from ...v2.distributions.torch_continuous import TorchDiagGaussian
from ...v2.distributions.torch_discrete import TorchCategorical
from ...v2.distributions.torch_multi import TorchMultiDistribution
from ...v2.modules.apis import ValueFunctionAPI
from ...v2.modules.torch_rl_module import TorchRLModule

_UNITS = 256


@trust
class AutoregressiveActionsRLM(TorchRLModule, ValueFunctionAPI):
    """Chooses one of three, then numbers that depend on it: actions of `Tuple(Discrete(3), Box)`.

    See `RLModule` for its arguments.

    Raises:
        SpaceError: The action space is another one.
    """

    @override
    def setup(self) -> None:
        space = self.action_space
        parts = tuple(space) if isinstance(space, Tuple) else ()
        is_right = len(parts) == 2 and isinstance(parts[0], Discrete) and isinstance(parts[1], Box)
        if not is_right or parts[0].n != 3:
            raise SpaceError(
                f"the actions of {type(self).__name__}",
                expected="Tuple(Discrete(3), Box(...))",
                found=str(space),
            )
        obs_size, self._numbers = self.observation_space.shape[0], parts[1].shape[0]
        self._prior_net = self._stack(obs_size, 3)
        self._posterior_net = self._stack(obs_size + 3, 2 * self._numbers)
        self._value_net = self._stack(obs_size, 1)

    @staticmethod
    def _stack(inputs: int, outputs: int) -> nn.Sequential:
        return nn.Sequential(nn.Linear(inputs, _UNITS), nn.Tanh(), nn.Linear(_UNITS, outputs))

    @override
    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._chosen(batch[Columns.OBS], best=True)

    @override
    def _forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._chosen(batch[Columns.OBS], best=False)

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._chosen(batch[Columns.OBS], best=False)

    @override
    def compute_values(self, batch: Mapping[str, Any], embeddings: Any = None) -> Tensor:
        values: Tensor = self._value_net(batch[Columns.OBS]).squeeze(-1)
        return values

    @override
    def get_inference_action_dist_cls(self) -> Any:
        return TorchMultiDistribution.get_partial_dist_cls(
            child_distribution_cls_struct=(TorchCategorical, TorchDiagGaussian),
            input_lens=(3, 2 * self._numbers),
        )

    def _chosen(self, obs: Tensor, *, best: bool) -> dict[str, Any]:
        first_inputs = self._prior_net(obs)
        first: Any = TorchCategorical.from_logits(first_inputs)
        first = first.to_deterministic() if best else first
        choice = first.sample()
        one_hot = nn.functional.one_hot(choice.long(), 3).to(obs.dtype)
        second_inputs = self._posterior_net(torch.cat([obs, one_hot], dim=-1))
        second: Any = TorchDiagGaussian.from_logits(second_inputs)
        second = second.to_deterministic() if best else second
        actions = (choice, second.sample())
        return {
            Columns.ACTIONS: actions,
            Columns.ACTION_LOGP: TorchMultiDistribution((first, second)).logp(actions),
            Columns.ACTION_DIST_INPUTS: torch.cat([first_inputs, second_inputs], dim=-1),
        }
