"""A module whose network is described as data, in place of a missing custom class."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from typing_extensions import override

from ...core import nest
from ...core.columns import Columns
from ...core.errors import ConfigError, PieceError
from ...core.nets import bind, network_of
from ...core.nets.observed import observed_parts, split_vector, whole_vector
from ...core.nets.setting import NETWORK
from ...core.nets.tensors import TensorNetwork
from .action_distributions import distribution_class
from .apis import ValueFunctionAPI
from .torch_rl_module import TorchRLModule


class DescribedTorchRLModule(TorchRLModule, ValueFunctionAPI):
    """A described network; its weights keep their names, its state has one entry per layer.

    The settings contain the description as `rlconnect_network`, with the shapes of all weights.

    Example:
        >>> import torch
        >>> from gymnasium.spaces import Box, Discrete
        >>> network = {
        ...     "layers": [{"dense": "out"}],
        ...     "outputs": {"logits": "out"},
        ...     "shapes": {"out.weight": [2, 3], "out.bias": [2]},
        ... }
        >>> module = DescribedTorchRLModule(
        ...     observation_space=Box(-1, 1, (3,)),
        ...     action_space=Discrete(2),
        ...     model_config={"rlconnect_network": network},
        ... )
        >>> module.forward_inference({"obs": torch.ones(1, 3)})["action_dist_inputs"].shape
        torch.Size([1, 2])
    """

    @override
    def setup(self) -> None:
        setting = self.model_config.get(NETWORK) if isinstance(self.model_config, dict) else None
        if setting is None:
            raise ConfigError(
                "a described module needs its description",
                expected=f"model_config={{{NETWORK!r}: ...}}",
                found="none",
            )
        network = network_of(setting)
        self._parts = observed_parts(self.observation_space)
        shapes = {name: part.shape for name, part in self._parts.items()}
        self.action_dist_cls = distribution_class(self.action_space)
        size = int(self.action_dist_cls.required_input_dim(space=self.action_space))
        bound = bind(network, network.shapes, shapes, {"logits": size, "q": size})
        net = TensorNetwork(bound)
        # Shared, not nested, so that the names of the file do not change.
        self._parameters, self._modules = net._parameters, net._modules
        object.__setattr__(self, "_net", net)
        self.network = network
        self._states = [f"state_{index:03d}" for index in range(len(bound.states))]

    _net: Any

    @override
    def get_initial_state(self) -> dict[str, Any]:
        return dict(zip(self._states, self._net.initial_state(), strict=True))

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        outputs, after, lead = self._computed(batch)
        acts_by = outputs["q" if "q" in outputs else "logits"]
        columns = {Columns.ACTION_DIST_INPUTS: acts_by.reshape(*lead, -1)}
        if self._states:
            columns[Columns.STATE_OUT] = dict(zip(self._states, after, strict=True))
        return columns

    @override
    def compute_values(self, batch: dict[str, Any], embeddings: Any | None = None) -> Tensor:
        outputs, _, lead = self._computed(batch)
        if "value" not in outputs:
            raise PieceError("the described network gives no values.")
        values: Tensor = outputs["value"].reshape(lead)
        return values

    def _computed(self, batch: dict[str, Any]) -> tuple[dict[str, Any], list[Any], tuple[int, ...]]:
        """Outputs, states, and the axes that come before those of one item."""
        obs = batch[Columns.OBS]
        leaf, space = _first_leaf(obs, self.observation_space)
        lead = tuple(leaf.shape[: leaf.dim() - len(space.shape or ())])
        if len(lead) > 1:
            obs = nest.map_structure(lambda x: x.reshape(-1, *x.shape[len(lead) :]), obs)
        vector = whole_vector(obs, self.observation_space)
        inputs = split_vector(vector, self._parts, self.network.inputs)
        states = batch.get(Columns.STATE_IN) or {}
        outputs, after = self._net(inputs, [states[name] for name in self._states], lead[0])
        return outputs, after, lead


def _first_leaf(obs: Any, space: Any) -> tuple[Any, Any]:
    """The first part of an observation, and its space."""
    while hasattr(space, "spaces"):
        inside = space.spaces
        key = next(iter(inside)) if isinstance(inside, dict) else 0
        obs, space = obs[key], inside[key]
    return obs, space
