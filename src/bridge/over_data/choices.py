"""From a distribution's inputs to the chances of actions, as the environment takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space

from ...core import array_namespace as xp
from ...core import nest
from ...core.errors import PieceError
from ...core.formulas.actions import get_base_struct_from_space, normalize_action
from ...core.rllib_utils.layer_formulas import flatten_inputs_to_1d_tensor
from ...core.types import Array, Nest
from .replay import Answers, Manner


@dataclass(frozen=True)
class Choices:
    """What a policy may do, and how probable it finds that.

    Args:
        name: The policy's id.
        space: What its network gives, one action.
        taken: What the environment takes.
        logp: The log-probability of actions by the distribution's inputs; None where they are
            actions already.
        best: The actions taken without exploration.
        drawn: Actions by their probability.
        acted: From its actions to the environment's.
        stretches: Whether bounded actions of its network are in -1 to 1.
        manner: How the data is to be taken.
    """

    name: str
    space: Space[Any]
    taken: Space[Any]
    logp: Callable[[Any, Nest], Array | None]
    best: Callable[[Any], Nest]
    drawn: Callable[[Any, np.random.Generator], Nest]
    acted: Callable[[Any], Any]
    stretches: bool
    manner: Manner

    def __post_init__(self) -> None:
        if isinstance(self.space, Discrete) and isinstance(self.taken, Discrete):
            acted = np.asarray(self.acted(np.arange(self.space.n)))
            # Networks count from 0, whatever the space says; adapters as the environment does.
            first = int(self.taken.start) if self.taken != self.space else 0
            object.__setattr__(self, "_acted", acted - first)
            object.__setattr__(self, "_first", first)
        elif self.taken != self.space:
            raise PieceError(
                f"policy {self.name!r} acts in {self.taken} through an adapter of {self.space}",
                expected="one that gives the environment what its network gives",
                hint="judge the policy that was adapted, on data of its own environment.",
            )

    _acted: Any = field(init=False, default=None)
    _first: int = field(init=False, default=0)
    _rng: np.random.Generator = field(
        init=False, repr=False, default_factory=partial(np.random.default_rng, 0)
    )

    def answers(self, inputs: Any, actions: Nest, seen: Any) -> Answers:
        """What the policy makes of recorded actions.

        `inputs` is what its network gave for what it saw, `(B, ...)`.
        """
        if self._acted is not None:
            return Answers(*self._chances(inputs, actions), seen)
        count = self.manner.draws
        if not count:
            return Answers(self._density(inputs, actions), None, seen)
        is_sure = self._logp(inputs, actions) is None
        again = inputs if is_sure else nest.map_structure(lambda x: _repeated(x, count), inputs)
        drawn = self.best(again) if is_sure else self.drawn(again, self._rng)
        vectors = self._vectors(drawn)
        return Answers(
            None if is_sure else self._density(inputs, actions),
            None,
            seen,
            self._vectors(self._of_network(actions)),
            vectors.reshape(len(nest.a_leaf(inputs)), -1, vectors.shape[-1]),
        )

    def _vectors(self, actions: Nest) -> Array:
        """The policy's actions as the environment takes them, a vector each."""
        in_env = nest.map_structure(np.asarray, self.acted(actions))
        vectors: Array = flatten_inputs_to_1d_tensor(in_env, self.taken)
        return vectors

    def _chances(self, inputs: Any, actions: Nest) -> tuple[Array, Array]:
        """Those of recorded actions, `(B,)`, and of all there are, `(B, n)`."""
        rows = len(nest.a_leaf(inputs))
        of_network = self._own_chances(inputs, rows)
        assert isinstance(self.taken, Discrete)  # else nothing is counted
        chances = np.zeros((rows, int(self.taken.n)))
        np.add.at(chances.T, self._acted, of_network.T)
        numbers = np.asarray(actions).reshape(rows).astype(np.int64) - self._first
        is_known = (numbers >= 0) & (numbers < chances.shape[1])
        if not is_known.all():
            raise PieceError(
                f"policy {self.name!r} knows no action {int(numbers[~is_known][0]) + self._first}",
                expected=f"{self._first} to {chances.shape[1] - 1 + self._first}",
                hint="the data is of another environment; adapt the policy to that one.",
            )
        return chances[np.arange(rows), numbers], chances

    def remembered(self, inputs: Any, actions: Nest) -> Nest:
        """Recorded actions as the policy would have given them."""
        if self._acted is None:
            return self._of_network(actions)
        numbers = np.asarray(actions).reshape(-1).astype(np.int64) - self._first
        if np.array_equal(self._acted, np.arange(len(self._acted))):
            return numbers
        of_network = self._own_chances(inputs, len(numbers))
        return np.argmax(np.where(self._acted == numbers[:, None], of_network, -1.0), axis=1)

    def _own_chances(self, inputs: Any, rows: int) -> Array:
        """How probable each action of the network is, `(B, n)`."""
        count = len(self._acted)
        first = None if self.manner.is_greedy else self.logp(inputs, np.zeros(rows, np.int64))
        if first is None:
            best = np.asarray(xp.to_numpy(self.best(inputs))).reshape(rows).astype(np.int64)
            return np.eye(count)[best]
        rest = [self.logp(inputs, np.full(rows, choice)) for choice in range(1, count)]
        columns = [np.asarray(column, np.float64).reshape(rows) for column in (first, *rest)]
        return np.exp(np.stack(columns, axis=1))

    def _logp(self, inputs: Any, actions: Nest) -> Array | None:
        return None if self.manner.is_greedy else self.logp(inputs, self._of_network(actions))

    def _density(self, inputs: Any, actions: Nest) -> Array:
        logp = self._logp(inputs, actions)
        if logp is None:
            raise PieceError(
                f"policy {self.name!r} takes one action for sure among {self.space}",
                expected="a policy that draws its actions, or few actions to choose from",
                hint="that a recorded action is the very same has no probability.",
            )
        return np.exp(np.asarray(logp, np.float64))

    def _of_network(self, actions: Nest) -> Nest:
        if self.manner.is_normalized or not self.stretches:
            return actions
        return normalize_action(actions, get_base_struct_from_space(self.space))


def _repeated(rows: Any, count: int) -> Array:
    return np.repeat(xp.to_numpy(rows), count, axis=0)


def flat_view(obs: Nest) -> Array:
    """What a network sees as one array a row: of several arrays a vector."""
    if nest.is_leaf(obs):
        rows: Array = xp.to_numpy(obs)
        return rows if rows.ndim > 1 else rows[:, None]
    leaves = [np.asarray(xp.to_numpy(leaf)) for leaf in nest.flatten(obs)]
    return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)
