"""Networks of a policy, computed by numpy or torch behind one interface.

On the CPU, a head with a numpy equivalent (dense and LSTM networks) runs in numpy for up to
`MAX_NUMPY_ROWS` rows, where torch's dispatch costs more than the arithmetic. A process that only
needs this never imports torch. Everything else, and larger batches, run in torch. If torch is not
installed, such a head runs in numpy for any batch size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from gymnasium.spaces import Space

from ...core import nest
from ...core.errors import ConfigError, WeightsError
from ...core.importing.torch_needed import torch_needed
from ...core.nets.numpy_layers import numpy_serves
from ...core.runtime.sharing import Turn
from ...core.types import Array
from ..distributions.families import Family
from ..exploration.exploration import ActionSource
from ..heads.array_head import ArrayHead, ArrayOutputs, build_array_head
from ..heads.family import algorithm_named, check_agreement, network_in
from ..views.views import lstm_views

if TYPE_CHECKING:
    from ..heads.head import PolicyHead

Chooser = Family | Callable[[Array], ActionSource]


NetworkOutput = ArrayOutputs
"""One forward pass, of either kind of network."""


class Network(Protocol):
    """A network that a policy can ask for distribution inputs.

    `initial_state` is the state at an episode's start, without batch dimension;
    `bare_when_greedy` tells whether fetches without exploration are the inputs alone;
    `distribution` is None where a class of the user's takes its place.
    """

    initial_state: list[Array]
    bare_when_greedy: bool

    @property
    def distribution(self) -> Family | None:
        """The action distribution for arrays, if it is known."""

    def run(self, columns: Mapping[str, Any], state: Sequence[Any], seq_lens: Any) -> NetworkOutput:
        """One forward pass over a batch of columns."""

    def chooser(self, rng: np.random.Generator) -> Chooser:
        """Return the function that chooses actions from distribution inputs."""


class TorchNetwork:
    """A head in torch, on some device."""

    def __init__(self, head: PolicyHead, device: str = "cpu") -> None:
        from ...core.arrays.tensors import as_array, as_tensors

        self.head = head
        self.device = device
        self._as_array, self._as_tensors = as_array, as_tensors
        try:
            head.model.to(device)
        except (AssertionError, RuntimeError) as error:
            raise ConfigError(
                f"torch cannot compute on device {device!r}",
                found=str(error).splitlines()[0],
                hint="'cpu' works everywhere; 'cuda' needs a GPU and a torch built for it.",
            ) from error
        self.initial_state: list[Array] = [as_array(part) for part in head.get_initial_state()]
        self.bare_when_greedy = head.bare_when_greedy
        is_custom = head.distribution.kind == "custom"
        self.distribution = None if is_custom else head.distribution.arrays()

    def run(self, columns: Mapping[str, Any], state: Sequence[Any], seq_lens: Any) -> NetworkOutput:
        """One forward pass over a batch of columns."""
        import torch

        with torch.inference_mode():
            tensors = {name: self._as_tensors(part, self.device) for name, part in columns.items()}
            states = [self._as_tensors(part, self.device) for part in state]
            lens = None if seq_lens is None else self._as_tensors(seq_lens, self.device)
            out = self.head.policy_outputs(tensors, states, lens)
            return NetworkOutput(
                self._as_array(out.dist_inputs),
                [self._as_array(part) for part in out.state_out],
                {name: self._as_array(part) for name, part in out.extra.items()},
            )

    def chooser(self, rng: np.random.Generator) -> Chooser:
        """The numpy distribution, or the user's own torch class."""
        if self.distribution is not None:
            return self.distribution
        from ..exploration.tensors import TorchSource

        return lambda inputs: TorchSource(self.head.dist_class, self.head.model, inputs, rng)


class PolicyNetworks:
    """The networks of one policy: a numpy twin where there is one, torch built when needed.

    Without weights they are freshly initialised. Numpy acts only for "cpu", and knows the mean of
    noisy layers only.
    """

    def __init__(
        self,
        algorithm: str,
        observation_space: Space[Any],
        action_space: Space[Any],
        config: Mapping[str, Any],
        weights: Mapping[str, Any] | None,
        *,
        device: str = "cpu",
        noise: Literal["mean", "ray"] = "mean",
        custom_models: Mapping[str, Any] | None = None,
        custom_distributions: Mapping[str, Any] | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.device = device
        self.noise = noise
        self._spaces = observation_space, action_space
        self._config = config
        self._custom_models = dict(custom_models or {})
        self._custom_distributions = dict(custom_distributions or {})
        self._weights: dict[str, Array] | None = None if weights is None else dict(weights)
        self._torch: TorchNetwork | None = None
        self._building = Turn()
        if self._weights is not None:
            check_agreement(algorithm_named(algorithm), config, self._weights, action_space)
        self.numpy = self._twin(self._weights)
        if self.numpy is None:
            self.torch()

    def __getstate__(self) -> dict[str, Any]:
        # Arguments and weights: what was built from them may hold functions that do not pickle.
        named = {"device": self.device, "noise": self.noise}
        custom = {
            "custom_models": self._custom_models,
            "custom_distributions": self._custom_distributions,
        }
        return {
            "given": (self.algorithm, *self._spaces, self._config, self.get_weights()),
            "options": {**named, **custom},
        }

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        PolicyNetworks.__init__(self, *state["given"], **state["options"])

    @property
    def is_module(self) -> bool:
        """Whether the weights are an RLModule's."""
        return any(name.startswith("encoder.") for name in self._weights or ())

    def for_rows(self, rows: int) -> Network:
        """The network that runs a batch of so many rows."""
        if self.numpy is not None and numpy_serves(rows):
            return self.numpy
        return self.torch()

    @property
    def initial_state(self) -> list[Array]:
        """The state at an episode's start, without batch dimension; empty if stateless."""
        return (self.numpy or self.torch()).initial_state

    def torch(self) -> TorchNetwork:
        """The torch network, built on first use."""
        if self._torch is None:
            with self._building:
                if self._torch is None:  # no other thread was first
                    self._torch = self._built()
        return self._torch

    def views(self) -> Mapping[str, Any]:
        """View requirements of the network, in addition to the observation."""
        if self.numpy is None:
            requirements: Mapping[str, Any] = getattr(
                self.torch().head.model, "view_requirements", {}
            )
            return requirements
        model_config = self._config.get("model") or {}
        network = network_in(self._config)
        if network is not None:
            from ..heads.described import described_views

            return described_views(network, self._spaces[1])
        return lstm_views(model_config, self._spaces[1]) if self.initial_state else {}

    def get_weights(self) -> dict[str, Array]:
        """The weights by Ray's names, as copies."""
        if self._torch is not None:
            named = self._torch.head.model.state_dict()
            return {name: part.detach().cpu().numpy().copy() for name, part in named.items()}
        return {name: np.array(part) for name, part in (self._weights or {}).items()}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Take other weights of the same names and shapes; those of before stay if one misfits."""
        fresh = {name: np.array(part) for name, part in weights.items()}
        _check_like(self._weights if self._weights is not None else self.get_weights(), fresh)
        twin = self._twin(fresh)
        if self._torch is not None:
            self._torch.head.load_weights(fresh)
        self.numpy, self._weights = twin, fresh

    def _built(self) -> TorchNetwork:
        from ...core.runtime.torch_draws import drawing

        with torch_needed(f"the network of this {self.algorithm} policy"):
            from ..heads.registry import built_head

        seed = self._config.get("seed")
        with drawing(seed):  # fresh weights are the same for the same seed
            head = built_head(
                self.algorithm,
                *self._spaces,
                self._config,
                self._weights,
                noise=self.noise,
                custom_models=self._custom_models,
                custom_distributions=self._custom_distributions,
            )
        return TorchNetwork(head, self.device)

    def _twin(self, weights: Mapping[str, Array] | None) -> ArrayHead | None:
        """The numpy twin of the network, where one may act and there is one."""
        if weights is None or self.device != "cpu" or self.noise != "mean":
            return None
        return build_array_head(self.algorithm, *self._spaces, self._config, weights)


def _check_like(current: Mapping[str, Array], fresh: Mapping[str, Array]) -> None:
    for name in {**current, **fresh}:
        there = [
            f"shape {w[name].shape}" if name in w else "no such array" for w in (current, fresh)
        ]
        if there[0] != there[1]:
            raise WeightsError(
                f"weights do not fit the policy's: {name!r}", expected=there[0], found=there[1]
            )


def rows_of(obs: Any) -> int:
    """Rows in a batch of observations, nested or not."""
    leaf = nest.a_leaf(obs)
    return len(leaf) if getattr(leaf, "ndim", 0) else 1
