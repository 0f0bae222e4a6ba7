"""Network and distribution of a module of the new stack, for arrays and for tensors."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from ...core import array_namespace as xp
from ...core import nest
from ...core.arrays.tensors import as_tensors
from ...core.columns import Columns
from ...core.errors import PieceError
from ...core.nets.direct import Direct, quicker
from ...core.nets.numpy_layers import ColumnStack, Stack
from ...core.runtime.torch_draws import drawing
from ...core.step.plan import Choose, Run
from ...core.types import Array, Nest
from ...legacy.distributions.families import Family
from ...v2.connectors.stateful_modules import is_stateful
from ...v2.distributions.torch_continuous import TorchDeterministic
from ...v2.modules.apis import ValueFunctionAPI
from ...v2.modules.dqn import DefaultDQNRLModule
from ..wrap.policy_module import LegacyPolicyModule
from .dense_modules import FAMILIES, GREEDY, direct_of, value_network

_NO_FETCHES = (Columns.ACTIONS, Columns.ACTIONS_FOR_ENV, Columns.STATE_OUT)


def values_of(rl_module: Any, batch: Mapping[str, Any]) -> dict[str, Array]:
    """Values `(B,)` as "vf_preds", those of all actions as "qf_preds"; whatever it estimates.

    A wrapped policy puts its own out when it acts.
    """
    columns: dict[str, Array] = {}
    if isinstance(rl_module, LegacyPolicyModule):
        return columns
    module: Any = rl_module
    with torch.no_grad():
        if isinstance(rl_module, ValueFunctionAPI) and not module.inference_only:
            columns[Columns.VF_PREDS] = xp.to_numpy(module.compute_values(dict(batch))).reshape(-1)
        if isinstance(rl_module, DefaultDQNRLModule):
            values = xp.to_numpy(module.compute_q_values(dict(batch))["qf_preds"])
            columns["qf_preds"] = values[:, 0] if is_stateful(module) else values
    return columns


def fetches_of(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs of a module except actions and states, as arrays."""
    return {
        name: nest.map_structure(xp.to_numpy, column)
        for name, column in outputs.items()
        if name not in _NO_FETCHES
    }


_INPUTS = "action_dist_inputs"


_SIZES: Final = 8
"""Number of batch sizes of a recurrent module without padding: oneDNN caches a kernel per size."""


class ModuleBrain:
    """Forward pass and action choice of a torch RLModule.

    Default modules of dense layers run in numpy if that is faster, all others in torch. A copy with
    shared weights is used, in evaluation mode. Exploration may depend on `timestep`, the number of
    sampled steps.
    """

    def __init__(self, module: Any, timestep: int = 0) -> None:
        self.timestep = timestep
        self._tensors = ModuleTensors(module)
        module = self._tensors.module
        self._direct = direct_of(module, self.greedy)
        self._values: ColumnStack | Stack | None = None
        self._fetches_in_numpy = self._direct is not None and not module.explores_apart()
        has_values = isinstance(self._tensors.module, ValueFunctionAPI)
        if self._fetches_in_numpy and has_values and not module.inference_only:
            self._values = value_network(module)
            self._fetches_in_numpy = self._values is not None
        self._sizes: set[int] = set()

    @property
    def action_space(self) -> Any:
        """Action space of the module."""
        return self._tensors.module.action_space

    @property
    def gives_actions(self) -> bool:
        """Whether the last pass returned actions instead of distribution inputs."""
        return self._tensors.gives_actions

    @gives_actions.setter
    def gives_actions(self, gives: bool) -> None:
        self._tensors.gives_actions = gives

    def quick(self, rows: int) -> Direct | None:
        """The module in numpy."""
        return quicker(self._direct, rows)

    def run(self, columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
        """Return distribution inputs (or actions), and next states."""
        rows = nest.a_leaf(columns).shape[0]
        more = self._rows_to_add(rows) if states else 0
        with torch.inference_mode():
            inputs, after = self._tensors(
                {name: _extended(part, more) for name, part in columns.items()},
                [_extended(part, more) for part in states],
            )
        arrays = nest.map_structure(lambda leaf: xp.to_numpy(leaf)[:rows], inputs)
        return arrays, [xp.to_numpy(part)[:rows] for part in after]

    def _rows_to_add(self, rows: int) -> int:
        """Return the number of padding rows, so that few different batch sizes occur."""
        if len(self._sizes) < _SIZES:
            self._sizes.add(rows)
        return 0 if rows in self._sizes else (1 << (rows - 1).bit_length()) - rows

    def greedy(self, inputs: Any) -> Nest:
        """The best actions."""
        if type(inputs) is np.ndarray and not self.gives_actions:
            choose = GREEDY.get(self._tensors.module.get_inference_action_dist_cls())
            if choose is not None:
                return choose(inputs)
        with torch.inference_mode():
            actions = self._tensors.greedy(as_tensors(inputs))
        return nest.map_structure(xp.to_numpy, actions)

    def explored(self, inputs: Any, rng: np.random.Generator) -> Nest:
        """Actions drawn from the module's exploration distribution; counts steps."""
        self.timestep += nest.a_leaf(inputs).shape[0]
        return self.drawn(inputs, rng)

    def drawn(self, inputs: Any, rng: np.random.Generator) -> Nest:
        """Actions drawn by the probability that `logp` tells; nothing is counted."""
        family = self._family(inputs)
        if family is not None:
            return family.sample(inputs, rng)
        return nest.map_structure(xp.to_numpy, self._tensors.drawn(as_tensors(inputs), rng))

    def _family(self, inputs: Any) -> Family | None:
        """The distribution of arrays in numpy; None if torch has to compute it."""
        if type(inputs) is not np.ndarray or self.gives_actions:
            return None
        family = FAMILIES.get(self._tensors.module.get_exploration_action_dist_cls())
        return None if family is None else family(inputs.shape[-1])

    def logp(self, inputs: Any, actions: Nest) -> Array | None:
        """The log-probability `(B,)` of given actions; None if there is but one action a row."""
        if self._tensors.gives_actions:
            return None
        kind = self._tensors.module.get_exploration_action_dist_cls()
        if issubclass(kind, TorchDeterministic):
            return None
        family = self._family(inputs)
        if family is not None:
            density: Array = family.logp(inputs, actions)
            return density
        with torch.inference_mode():
            probabilities = kind.from_logits(as_tensors(inputs)).logp(as_tensors(actions))
        logp: Array = xp.to_numpy(probabilities)
        return logp

    def exploring(self, rng: np.random.Generator, tensors: Any = None) -> Run | None:
        """Return the module's exploration pass if it has its own, such as with an epsilon.

        `rng` seeds torch's generator for the pass. With `tensors`, the pass runs on these and
        returns tensors; otherwise it returns arrays.
        """
        is_same = not self._tensors.module.explores_apart()
        if is_same and tensors is None:
            return None

        def on_tensors(columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
            run: ModuleTensors = self._tensors if tensors is None else tensors
            answer: tuple[Any, list[Any]]
            if is_same:
                answer = run(columns, states)
            else:
                answer = run.explored(columns, states, rng, self.timestep)
            self.gives_actions = run.gives_actions  # this brain draws, see `explored`
            return answer

        def on_arrays(columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
            tensors_in = {name: as_tensors(part) for name, part in columns.items()}
            inputs, after = on_tensors(tensors_in, [as_tensors(part) for part in states])
            return nest.map_structure(xp.to_numpy, inputs), [xp.to_numpy(part) for part in after]

        return on_arrays if tensors is None else on_tensors

    def fetching(
        self, explore: bool, rng: np.random.Generator, fetches: dict[str, Any]
    ) -> tuple[Run, Choose]:
        """The module's forward pass with what it estimates, and the choice with its probability."""
        tensors = self._tensors

        def run(columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
            obs = columns["obs"]
            if self._fetches_in_numpy and (direct := self.quick(len(obs))) is not None:
                rows = np.asarray(obs, np.float32).reshape(len(obs), -1)
                fetches[_INPUTS] = direct.inputs(rows)
                if self._values is not None:
                    fetches[Columns.VF_PREDS] = self._values(rows)[:, 0]
                tensors.gives_actions = False
                return fetches[_INPUTS], []
            batch = tensors.batch(
                {name: as_tensors(part) for name, part in columns.items()},
                [as_tensors(part) for part in states],
            )
            if explore:
                with _seeded(rng, batch["obs"]), torch.no_grad():
                    outputs = tensors.module.bare_pass(True)(batch, t=self.timestep)
            else:
                with torch.inference_mode():
                    outputs = tensors.module.bare_pass(False)(batch)
            beside = fetches_of(outputs)
            if states:
                beside = nest.map_structure(lambda leaf: leaf[:, 0], beside)
            fetches.update({**beside, **values_of(tensors.module, batch)})
            inputs, after = tensors.parted(outputs, bool(states))
            return nest.map_structure(xp.to_numpy, inputs), [xp.to_numpy(part) for part in after]

        def choose(inputs: Any) -> Nest:
            family = self._family(inputs) if explore else None
            if family is not None:
                self.timestep += len(inputs)
                actions, fetches["action_logp"] = family.sample_with_logp(inputs, rng)
                return actions
            actions = self.explored(inputs, rng) if explore else self.greedy(inputs)
            if not self.gives_actions:
                # RLlib's zeros are shaped like the best actions; of nested ones, a row each.
                sure = np.zeros_like(actions if nest.is_leaf(actions) else inputs[:, 0])
                logp = self.logp(inputs, actions) if explore else None
                fetches.setdefault("action_logp", sure if logp is None else logp)
            return actions

        return run, choose

    def tensor_module(self) -> Any:
        """The module over columns and states."""
        import copy

        return copy.deepcopy(self._tensors)


def over_same_weights(module: nn.Module) -> Any:
    """Copy a module with shared weights; moving the copy to a device does not move the original.

    Buffers are copied, because layers may write to them in a forward pass.

    Example:
        >>> layer = nn.Linear(2, 2)
        >>> copied = over_same_weights(layer)
        >>> copied.weight.data_ptr() == layer.weight.data_ptr()
        True
        >>> copied.double().weight.dtype, layer.weight.dtype
        (torch.float64, torch.float32)
    """
    import copy

    memo: dict[int, Any] = {
        id(weight): nn.Parameter(weight.detach(), requires_grad=weight.requires_grad)
        for weight in module.parameters()
        if type(weight) is nn.Parameter
    }
    return copy.deepcopy(module, memo)


class ModuleTensors(nn.Module):
    """A module's forward pass over columns and a flat list of states."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module: Any = over_same_weights(module).eval()
        self._state = initial_state(module)
        self.gives_actions = False

    def forward(self, columns: Mapping[str, Any], states: list[Tensor]) -> tuple[Any, list[Tensor]]:
        """Return distribution inputs (or actions), and next states; rows have no time axis."""
        return self._passed(self.module.bare_pass(False), columns, states)

    def explored(
        self,
        columns: Mapping[str, Any],
        states: list[Tensor],
        rng: np.random.Generator,
        timestep: int,
    ) -> tuple[Any, list[Tensor]]:
        """The same while exploring, with torch's generator seeded for the pass and put back."""
        with _seeded(rng, columns["obs"]), torch.no_grad():
            forward = partial(self.module.bare_pass(True), t=timestep)
            return self._passed(forward, columns, states)

    def _passed(
        self, forward: Any, columns: Mapping[str, Any], states: list[Tensor]
    ) -> tuple[Any, list[Tensor]]:
        return self.parted(forward(self.batch(columns, states)), bool(states))

    def batch(self, columns: Mapping[str, Any], states: list[Tensor]) -> dict[str, Any]:
        """Columns and states as the module takes them."""
        batch = {
            name: nest.map_structure(lambda leaf: leaf[:, None], column) if states else column
            for name, column in columns.items()
            if not name.startswith("state_in_")
        }
        if states:
            batch["state_in"] = nest.unflatten_as(self._state, states)
        return batch

    def parted(self, outputs: Mapping[str, Any], has_states: bool) -> tuple[Any, list[Tensor]]:
        """Split the outputs of a module into distribution inputs (or actions) and next states."""
        self.gives_actions = _INPUTS not in outputs
        if self.gives_actions and "actions" not in outputs:
            raise PieceError(
                f"{type(self.module).__name__} gives nothing to act by",
                expected=f"'actions' or {_INPUTS!r} from its forward pass",
                found=", ".join(map(repr, outputs)) or "nothing",
                hint="define _forward(), or _forward_inference() and _forward_exploration().",
            )
        inputs = outputs["actions" if self.gives_actions else _INPUTS]
        if has_states:
            inputs = nest.map_structure(lambda leaf: leaf[:, 0], inputs)
        return inputs, nest.flatten(outputs["state_out"]) if has_states else []

    def greedy(self, inputs: Any) -> Nest:
        """The best actions, whole numbers in 32 bits."""
        if self.gives_actions:
            return as_int32(inputs)
        kind = self.module.get_inference_action_dist_cls()
        return as_int32(kind.from_logits(inputs).to_deterministic().sample())

    def drawn(self, inputs: Any, rng: np.random.Generator) -> Nest:
        """Actions drawn with torch's generator, which is seeded for the draw and put back."""
        if self.gives_actions:
            return as_int32(inputs)
        kind = self.module.get_exploration_action_dist_cls()
        with _seeded(rng, inputs), torch.no_grad():
            return as_int32(kind.from_logits(inputs).sample())


def _extended(part: Nest, more: int) -> Nest:
    """Convert a part to tensors, and append rows of zeros."""
    tensors = as_tensors(part)
    if not more:
        return tensors
    return nest.map_structure(
        lambda leaf: torch.cat([leaf, leaf.new_zeros((more, *leaf.shape[1:]))]), tensors
    )


def _seeded(rng: np.random.Generator, drawn_beside: Any) -> AbstractContextManager[None]:
    return drawing(int(rng.integers(2**63)), nest.a_leaf(drawn_beside).device)


def initial_state(module: Any) -> Nest:
    """A module's state at an episode's start as arrays; an empty dict if it has none."""
    state: Nest = module.get_initial_state() if module.is_stateful() else {}
    return nest.map_structure(lambda leaf: np.asarray(xp.to_numpy(leaf), np.float32), state)


def state_leaves(module: Any) -> list[Array]:
    """The parts of that state."""
    state = initial_state(module)
    return nest.flatten(state) if state else []


def as_int32(actions: Nest) -> Nest:
    """Actions with their whole numbers in 32 bits, as policies hand them out."""
    return nest.map_structure(_int32, actions)


def _int32(leaf: Any) -> Any:
    if str(leaf.dtype).endswith("int64"):
        return xp.cast(leaf, np.int32)
    return leaf
