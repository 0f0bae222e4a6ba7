"""The complete step of a policy as data: formulas on batched values, and the memory.

`run_step` is its only definition, a pure function of arrays or tensors:

    observation -> parts -> columns of the past -> network -> greedy or explored action -> parts

The memory is a flat tuple of arrays with one row per session: first the memory of the parts, then
the leaves of each column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from gymnasium.spaces import Space

from .. import array_namespace as xp
from .. import nest
from ..nets.direct import Direct
from ..types import Array, Nest
from .part import Part
from .recall import Column, Look, looked, memory_of, pushed, where_first, with_newest

Memory = tuple[Any, ...]
Run = Callable[[Mapping[str, Any], list[Any]], tuple[Any, list[Any]]]
Choose = Callable[[Any], Nest]


class Brain(Protocol):
    """Computes actions from columns: network and distribution.

    Attributes:
        timestep: How many steps were explored.
    """

    timestep: int

    @property
    def action_space(self) -> Space[Any]:
        """The space of one action of the network."""

    def quick(self, rows: int) -> Direct | None:
        """A numpy function for this many observations, if the network sees nothing else."""

    def run(self, columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
        """Distribution inputs and next states, for arrays."""

    def greedy(self, inputs: Any) -> Nest:
        """The actions taken without exploration, for arrays."""

    def explored(self, inputs: Any, rng: np.random.Generator) -> Nest:
        """Actions as the policy explores, for arrays."""

    def drawn(self, inputs: Any, rng: np.random.Generator) -> Nest:
        """Actions drawn by the probability in `logp`, for arrays; nothing is counted."""

    def logp(self, inputs: Any, actions: Nest) -> Array | None:
        """The log-probability `(B,)` of given actions; None if there is but one action a row."""

    def exploring(self, rng: np.random.Generator, tensors: Any = None) -> Run | None:
        """The function that replaces `run` while exploring; None where that is the same.

        `tensors` is what `tensor_module` gave, to compute with that.
        """

    def fetching(
        self, explore: bool, rng: np.random.Generator, fetches: dict[str, Any]
    ) -> tuple[Run, Choose]:
        """Return functions that run and choose on arrays, and add RLlib's fetches to a dict."""

    def tensor_module(self) -> Any:
        """A torch module: `module(columns, states)` as `run`, `module.greedy(inputs)`."""


@dataclass(frozen=True)
class ActPlan:
    """The computation of one policy's step.

    Args:
        name: The policy's id.
        observation_space: What an environment gives one agent.
        action_space: What it takes.
        brain: Network and distribution.
        obs: From the observation to the input of the network.
        action: From the action of the network to that of the environment.
        reward: From the reward of the environment to that of the policy.
        columns: Columns to remember.
        looks: Inputs of the network in addition to the observation.
        observation: One preprocessed observation, zeros.
        flattens_actions: Whether remembered actions are flattened to one vector.
        agents: The policy's names for renamed agents.
        missing: Pieces without a batched form; if there are any, the plan is incomplete.
        origin: The origin of the policy, for manifests.
    """

    name: str
    observation_space: Space[Any]
    action_space: Space[Any]
    brain: Brain
    obs: tuple[Part, ...] = ()
    action: tuple[Part, ...] = ()
    reward: tuple[Part, ...] = ()
    columns: tuple[Column, ...] = ()
    looks: tuple[Look, ...] = ()
    observation: Nest = None
    flattens_actions: bool = True
    agents: Mapping[Any, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        starts = [(part.name, part.memory) for part in self.obs if part.memory is not None]
        for column, leaves in memory_of(self.columns, self.observation).items():
            starts += [(column, leaf) for leaf in leaves]
        names = [name for name, _ in starts]
        named = [f"{name}_{at}" if names.count(name) > 1 else name for at, name in enumerate(names)]
        object.__setattr__(self, "memory_names", tuple(named))
        object.__setattr__(self, "start", tuple(np.asarray(first) for _, first in starts))

    memory_names: tuple[str, ...] = field(init=False, default=())
    start: tuple[Array, ...] = field(init=False, default=())

    @property
    def remembers(self) -> bool:
        """True if an answer depends on more than the current observation."""
        return bool(self.columns) or bool(self.start)

    @property
    def needs_reward(self) -> bool:
        """True if the network sees rewards."""
        return any(column.name == "rewards" for column in self.columns)


@dataclass(frozen=True)
class Running:
    """The functions and constants to run a plan with, for arrays or tensors.

    Args:
        run: The network.
        choose: From distribution inputs to actions.
        constants: The constants of each part, in the order obs, reward, action.
        start: The initial memory of a session.
    """

    run: Run
    choose: Choose
    constants: Sequence[Sequence[Any]]
    start: Sequence[Any]


def run_step(
    plan: ActPlan, how: Running, obs: Nest, reward: Any, first: Any, memory: Memory
) -> tuple[Nest, Memory]:
    """One step of every row.

    `reward`, `(B,)`, is read where the plan needs it; `first`, `(B,)`, says which rows are the
    first of their episode. Gives the actions as the environment takes them, and what to remember.
    """
    constants = iter(how.constants)
    started = [where_first(first, s, m) for s, m in zip(how.start, memory, strict=True)]
    remaining = iter(started[sum(part.memory is not None for part in plan.obs) :])
    numbers_of_obs = [next(constants) for _ in plan.obs]
    for part in plan.reward:
        reward = part.formula(reward, *next(constants))
    histories: dict[str, Nest] = {}
    for column in plan.columns:
        template = plan.observation if column.initial is None else column.initial
        leaves = [next(remaining) for _ in nest.flatten(template)]
        if column.name == "rewards":
            earned = where_first(first, xp.cast(reward, np.float32) * 0, narrowed(reward))
            leaves = [with_newest(leaves[0], earned)]
        histories[column.name] = nest.unflatten_as(template, leaves)
    obs, after = _observed(plan, numbers_of_obs, histories, obs, first, started)
    columns: dict[str, Any] = {"obs": obs}
    if "obs" in histories:
        histories["obs"] = nest.map_structure(
            lambda new, old: with_newest(
                where_first(first, new[:, None], old) if old.shape[1] else old, new
            ),
            obs,
            histories["obs"],
        )
    for look in plan.looks:
        if look.column:
            columns[look.name] = looked(look, histories[look.column])
        else:
            columns[look.name] = nest.map_structure(
                lambda leaf: _repeated(leaf, first), look.missing
            )
    states = [columns[name] for name in state_names(plan)]
    inputs, states_out = how.run(columns, states)
    actions = how.choose(inputs)
    for column in plan.columns:
        history = nest.flatten(histories[column.name])
        if column.is_given:
            after += [leaf[:, 1:] for leaf in history]
            continue
        if column.name == "actions":
            value = flattened(actions) if plan.flattens_actions else actions
        else:
            value = states_out[int(column.name.rpartition("_")[2])]
        after += [pushed(old, new) for old, new in zip(history, nest.flatten(value), strict=True)]
    for part in plan.action:
        actions = part.formula(actions, *next(constants))
    return actions, tuple(after)


def _observed(
    plan: ActPlan,
    constants: Sequence[Sequence[Any]],
    histories: Mapping[str, Nest],
    obs: Nest,
    first: Any,
    states: Sequence[Any],
) -> tuple[Nest, list[Any]]:
    """Observations as the network sees them, and the memory of the parts before it."""
    remaining = iter(states)
    after: list[Any] = []
    for part, numbers in zip(plan.obs, constants, strict=True):
        if part.memory is not None:
            obs, state_after = part.formula(obs, next(remaining), first, *numbers)
            after.append(state_after)
        elif part.looks:
            past = {look.name: looked(look, histories[look.column]) for look in part.looks}
            obs = part.formula(obs, past, *numbers)
        else:
            obs = part.formula(obs, *numbers)
    return nest.map_structure(narrowed, obs), after


def _repeated(value: Any, like: Any) -> Any:
    row = xp.constant(np.asarray(value), like)
    return xp.namespace(row).broadcast_to(row, (like.shape[0], *row.shape))


def state_names(plan: ActPlan) -> list[str]:
    """The looks that are the network's states, in order."""
    names = [look.name for look in plan.looks if look.name.startswith("state_in_")]
    return sorted(names, key=lambda name: int(name.rpartition("_")[2]))


def narrowed(leaf: Any) -> Any:
    """The value in at most 32 bits if it is real."""
    if type(leaf) is np.ndarray:  # names of types take longer
        return leaf.astype(np.float32) if leaf.dtype == np.float64 else leaf
    return xp.cast(leaf, np.float32) if str(leaf.dtype).endswith("float64") else leaf


def flattened(actions: Nest) -> Any:
    """Flatten nested actions to one vector per row; others are unchanged."""
    if nest.is_leaf(actions):
        return actions
    leaves = [leaf.reshape((leaf.shape[0], -1)) for leaf in nest.flatten(actions)]
    widest = xp.namespace(leaves[0])
    kinds = [leaf.dtype for leaf in leaves]
    dtype = kinds[0]
    for kind in kinds[1:]:
        dtype = widest.promote_types(dtype, kind)
    return xp.concatenate(
        [leaf.to(dtype) if xp.is_tensor(leaf) else leaf.astype(dtype) for leaf in leaves], -1
    )
