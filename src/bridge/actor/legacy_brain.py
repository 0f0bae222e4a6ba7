"""Network and distribution of a policy of the old stack, for arrays and for tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from ...core import array_namespace as xp
from ...core import nest
from ...core.formulas.categorical import most_probable_of_columns
from ...core.nets.direct import Direct, quicker
from ...core.nets.numpy_layers import numpy_serves
from ...core.step.plan import Choose, Run
from ...core.types import Array, Nest
from ...legacy.distributions.families import Categorical, Deterministic
from ...legacy.exploration.exploration import Exploration
from ...legacy.heads.array_head import ArrayHead
from ...legacy.policy.acting import choose_actions
from ...legacy.policy.networks import Network, rows_of
from ...legacy.policy.policy import Policy


class LegacyBrain:
    """Network of an old-stack policy: numpy for up to 1,024 rows if there is an equivalent.

    Larger batches and other networks run in torch, without the value estimate; on a single core,
    numpy is also used for networks with a column form, where it is faster. The timesteps of the
    policy are separate, so that an actor explores as the policy would.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._tensors: Any = None
        self._prepares = type(policy.exploration).prepare is not Exploration.prepare
        self._network: ArrayHead | None = None
        self._direct: Direct | None = None

    @property
    def timestep(self) -> int:
        """The policy's own count of steps."""
        return self.policy.global_timestep

    @timestep.setter
    def timestep(self, steps: int) -> None:
        self.policy.global_timestep = steps

    @property
    def action_space(self) -> Space[Any]:
        """Action space of the policy."""
        return self.policy.action_space

    def quick(self, rows: int) -> Direct | None:
        """The numpy network without its value estimate, if it sees nothing but observations."""
        network = self.policy.networks.numpy
        if network is not self._network:  # a policy's weights may change
            self._network, self._direct = network, self._direct_of(network)
        return quicker(self._direct, rows)

    def run(self, columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
        """Distribution inputs, a tensor where torch computes them, and next states."""
        network = self.policy.networks.numpy
        if network is not None and numpy_serves(rows_of(columns["obs"])):
            output = network.run(columns, states, None)
            return output.dist_inputs, output.state_out
        inputs, after = self._on_torch(columns, states)
        return inputs, after

    def _on_torch(self, columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
        import torch

        from ...core.arrays.tensors import as_tensors

        device = self.policy.device
        if self._tensors is None:
            self._tensors = self.tensor_module().to(device)
        with torch.inference_mode():
            inputs, after = self._tensors(
                {name: as_tensors(part, device) for name, part in columns.items()},
                [as_tensors(part, device) for part in states],
            )
        return inputs, [xp.to_numpy(part) for part in after]

    def greedy(self, inputs: Any) -> Nest:
        """The most probable actions."""
        network = self.policy.networks.numpy
        if network is not None and type(inputs) is np.ndarray and not self._prepares:
            return network.distribution.deterministic(inputs)
        if network is None and xp.is_tensor(inputs):
            return nest.map_structure(xp.to_numpy, self._tensors.greedy(inputs))
        inputs = xp.to_numpy(inputs)  # choosing among few is quicker there
        if self._prepares:
            inputs = self.policy.exploration.prepare(inputs)
        chooser = self._choosing(len(inputs)).chooser(self.policy.rng)
        return (
            chooser(inputs).deterministic() if callable(chooser) else chooser.deterministic(inputs)
        )

    def explored(self, inputs: Any, rng: np.random.Generator) -> Nest:
        """Actions as the policy's exploration picks them; counts its timesteps."""
        return self._chosen(xp.to_numpy(inputs), {}, True, rng)[0]

    def fetching(
        self, explore: bool, rng: np.random.Generator, fetches: dict[str, Any]
    ) -> tuple[Run, Choose]:
        """The network with its value estimate and the like, and the choice that reports on it."""

        def run(columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
            network = self.policy.networks.for_rows(rows_of(columns["obs"]))
            output = network.run(columns, states, None)
            fetches.update(output.extra)
            return output.dist_inputs, output.state_out

        def choose(inputs: Any) -> Nest:
            actions, more = self._chosen(inputs, dict(fetches), explore, rng)
            fetches.clear()
            fetches.update(more)
            return actions

        return run, choose

    def _chosen(
        self, inputs: Array, extra: Mapping[str, Array], explore: bool, rng: np.random.Generator
    ) -> tuple[Nest, dict[str, Array]]:
        """Actions as the policy picks them, and what it fetches; what was explored is counted."""
        policy, network = self.policy, self._choosing(len(inputs))
        actions, fetches = choose_actions(
            network.chooser(rng),
            inputs,
            extra,
            policy.exploration,
            explore=explore,
            timestep=policy.global_timestep,
            rng=rng,
            bare_when_greedy=network.bare_when_greedy,
        )
        if explore:
            policy.global_timestep += len(inputs)
        return actions, fetches

    def drawn(self, inputs: Any, rng: np.random.Generator) -> Nest:
        """Actions drawn by the probability that `logp` tells; nothing is counted."""
        inputs, chooser = self._chooser(inputs, rng)
        if callable(chooser):
            source: Any = chooser(inputs)
            return source.sample()
        return chooser.sample(inputs, rng)

    def _chooser(self, inputs: Any, rng: np.random.Generator) -> tuple[Array, Any]:
        """Inputs, and the distribution that takes them."""
        inputs = xp.to_numpy(inputs)
        if self._prepares:
            inputs = self.policy.exploration.prepare(inputs)
        return inputs, self._choosing(len(inputs)).chooser(rng)

    def logp(self, inputs: Any, actions: Nest) -> Array | None:
        """The log-probability `(B,)` of given actions; None if there is but one action a row."""
        inputs, chooser = self._chooser(inputs, self.policy.rng)
        if isinstance(chooser, Deterministic):
            return None
        if callable(chooser):
            source: Any = chooser(inputs)  # a user's torch class
            logp: Array = source.logp(actions)
        else:
            logp = chooser.logp(inputs, actions)
        return logp

    def exploring(self, rng: np.random.Generator, tensors: Any = None) -> None:
        """Nothing: old policies explore in their choice of actions alone."""

    def tensor_module(self) -> Any:
        """The torch network as a module over columns and states."""
        from .legacy_tensors import LegacyTensors

        return LegacyTensors(self.policy)

    def _direct_of(self, network: ArrayHead | None) -> Direct | None:
        parts = None if network is None else network.direct()
        if network is None or parts is None:
            return None
        layers, finish = parts
        is_choice = isinstance(network.distribution, Categorical) and not self._prepares
        of_columns = most_probable_of_columns if is_choice else None
        direct = Direct.of(layers, self.greedy, of_columns, finish)
        # Torch makes Q values of many rows quicker.
        return direct if finish is None else replace(direct, is_by_columns=False)

    def _choosing(self, rows: int) -> Network:
        """One that chooses: any does, where there are two."""
        networks = self.policy.networks
        return networks.numpy or networks.for_rows(rows)
