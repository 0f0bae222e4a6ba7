"""A network that is data, as a model of the old stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from gymnasium.spaces import Space
from torch import Tensor

from ...core.errors import PieceError
from ...core.nets import Network
from ...core.nets.tensors import TensorNetwork
from ...core.runtime.sharing import PerThread
from ..distributions.choice import DistributionChoice
from ..models.base import LegacyModel, ModelOutput
from ..models.encodings import encode_actions
from .described import Observed, bound_to, described_views


class DescribedModel(LegacyModel):
    """A described network behind the interface of the old stack; its weights keep their names.

    Its layers have the shapes of saved weights; without any, those in the description.
    """

    _value = PerThread[Tensor]()

    def __init__(
        self,
        obs_space: Space[Any],
        action_space: Space[Any],
        model_config: Mapping[str, Any],
        network: Network,
        distribution: DistributionChoice,
        weights: Mapping[str, Any] | None,
    ) -> None:
        super().__init__(obs_space, action_space, distribution.size, model_config, "described")
        self._layout = None  # entries are taken from the whole vector
        self.observed = Observed(obs_space, action_space, model_config)
        self.bound = bound_to(network, weights, self.observed, distribution)
        net = TensorNetwork(self.bound)
        self._parameters, self._modules = net._parameters, net._modules
        object.__setattr__(self, "_net", net)  # not registered, so that names do not change
        self.network = network
        self.view_requirements.update(described_views(network, action_space))

    _net: Any

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Outputs, or values of all actions, and the next state."""
        inputs = self.observed.of(
            input_dict,
            set(self.network.inputs),
            lambda actions: encode_actions(actions, self.action_space),
        )
        outputs, after = self._net(inputs, state, None if seq_lens is None else seq_lens.shape[0])
        self._value = outputs.get("value")
        acts_by: Tensor = outputs["q" if "q" in outputs else "logits"]
        return acts_by, after

    def value_function(self) -> Tensor:
        """The values `(B,)` of the last forward pass."""
        if self._value is None:
            raise PieceError("the described network gives no values, or has not run yet.")
        value: Tensor = self._value
        return value

    def get_initial_state(self) -> list[Tensor]:
        """Zeros for each state of a recurrent layer."""
        states: list[Tensor] = self._net.initial_state()
        return [state if isinstance(state, Tensor) else torch.tensor(state) for state in states]
