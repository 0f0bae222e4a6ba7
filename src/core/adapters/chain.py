"""All steps between a changed environment and a policy, as one adapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces
from typing_extensions import Self

from .. import array_namespace as xp
from .. import nest
from ..data.budget import one_load
from ..data.keys import table_of
from ..errors import PieceError, SpaceError
from ..types import Array, Nest
from .laid import on_arrays
from .scaling import Clip, Scale
from .step import Bound, Step, step_from_data

_WAYS = ("obs", "action", "reward")
_REWARD = spaces.Box(-np.inf, np.inf, (), np.float64)


@dataclass(frozen=True)
class AdapterChain:
    """The steps between an environment and a policy that was trained for another one.

    Args:
        obs: Steps from the environment's observation to the policy's, in order.
        action: Steps from the policy's action to the environment's, in order.
        reward: Steps on the reward: `Scale` and `Clip`.
        agents: The policy's name for each agent of the environment; others keep theirs.

    Example:
        >>> from rlconnect.core.adapters import DropFeatures, MapActions
        >>> chain = AdapterChain(obs=[DropFeatures([1])], action=[MapActions([0, 2])])
        >>> bound = chain.bind(spaces.Box(-1, 1, (3,)), spaces.Discrete(2))
        >>> bound.observation_space.shape, int(bound.action_space.n)
        ((2,), 3)
        >>> bound.observe(np.array([[1.0, 9.0, 2.0]]))
        array([[1., 2.]])
    """

    obs: Sequence[Step] = ()
    action: Sequence[Step] = ()
    reward: Sequence[Step] = ()
    agents: Mapping[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _WAYS:
            object.__setattr__(self, name, _as_steps(name, getattr(self, name)))
        object.__setattr__(self, "agents", dict(self.agents))
        for step in self.reward:
            if not isinstance(step, (Scale, Clip)):
                raise PieceError(
                    "a reward is scaled or clipped", expected="Scale or Clip", found=str(step)
                )
        if len(set(self.agents.values())) < len(self.agents):
            raise PieceError("two agents get one name", found=f"{self.agents}")

    @property
    def is_portable(self) -> bool:
        """True if its data says all there is: no Python function takes part."""
        return all(step.is_portable for step in (*self.obs, *self.action))

    def __bool__(self) -> bool:
        return bool(self.obs or self.action or self.reward or self.agents)

    def bind(
        self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]
    ) -> BoundChain:
        """Fit the chain to an agent's spaces: the environment's observations, the policy's actions.

        Raises:
            SpaceError: A step cannot work on what the one before gives.
        """
        return BoundChain(
            self,
            _bound(self.obs, observation_space, "observation"),
            _bound(self.action, action_space, "action"),
            _bound(self.reward, _REWARD, "reward"),
            observation_space,
            action_space,
        )

    def to_data(self) -> dict[str, Any]:
        """The chain as plain data, for JSON."""
        ways = {name: [step.to_data() for step in getattr(self, name)] for name in _WAYS}
        return {**ways, "agents": [[new, old] for new, old in self.agents.items()]}

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """The inverse of `to_data`.

        Raises:
            PieceError: The data describes no chain.
        """
        if not isinstance(data, Mapping):
            raise PieceError("no adapter chain", expected="a dict", found=type(data).__name__)
        unknown = sorted(set(data) - {"obs", "action", "reward", "agents"})
        if unknown:
            raise PieceError(
                f"an adapter chain has no {unknown[0]!r}", expected="obs, action, reward, agents"
            )
        with one_load():
            parts = {name: tuple(map(step_from_data, data.get(name, ()))) for name in _WAYS}
        return cls(**parts, agents=table_of(data.get("agents", ())))

    def __str__(self) -> str:
        lines = []
        for name in _WAYS:
            lines += [f"{name}: {step}" for step in getattr(self, name)]
        lines += [f"agent {new!r} plays {old!r}" for new, old in self.agents.items()]
        return "\n".join(lines) or "nothing to adapt"


class BoundChain:
    """A chain that knows its spaces: three array functions with any number of rows.

    Attributes:
        chain: What it was bound from.
        env_observation_space: What the environment gives.
        observation_space: What the policy gets.
        policy_action_space: What the policy gives.
        action_space: What the environment gets.
        memory: What one environment remembers at first, one array for each step that does.
    """

    def __init__(
        self,
        chain: AdapterChain,
        obs: tuple[list[Bound], spaces.Space[Any]],
        action: tuple[list[Bound], spaces.Space[Any]],
        reward: tuple[list[Bound], spaces.Space[Any]],
        env_observation_space: spaces.Space[Any],
        policy_action_space: spaces.Space[Any],
    ) -> None:
        self.chain = chain
        self.obs, self.observation_space = obs
        self.actions, self.action_space = action
        self.rewards, _ = reward
        self.env_observation_space = env_observation_space
        self.policy_action_space = policy_action_space
        self.memory: tuple[Array, ...] = tuple(
            bound.memory for bound in self.obs if bound.memory is not None
        )
        for bound in self.actions:
            if bound.memory is not None:
                raise PieceError("an action's step cannot remember", found=str(chain))
        self.act: Callable[[Nest], Nest] = _composed(self.actions, chain.action)
        self.reward: Callable[[Any], Any] = _composed(self.rewards, chain.reward)
        self._observe_arrays = None if self.memory else _on_arrays(self.obs, chain.obs)
        self._calls = [_closed(bound) for bound in self.obs]

    def _repr_html_(self) -> str:
        from ..pages.document import inside
        from .drawing import drawn

        return inside(drawn(self))

    def observe(self, obs: Nest) -> Nest:
        """The policy's observations for the environment's, `(..., *item)`.

        Raises:
            PieceError: A step remembers; then `observe_next` is the one to call.
        """
        if type(obs) is np.ndarray and self._observe_arrays is not None:
            return self._observe_arrays(obs)
        if self.memory:
            raise PieceError("this chain remembers", hint="call observe_next(obs, memory, first).")
        return _after_each(self._calls, obs)

    def start(self, rows: int) -> tuple[Array, ...]:
        """The memory of `rows` environments at the start of their episodes."""
        return tuple(np.repeat(first[None], rows, 0) for first in self.memory)

    def observe_next(
        self, obs: Nest, memory: tuple[Any, ...], is_first: Any
    ) -> tuple[Nest, tuple[Any, ...]]:
        """The policy's observations `(B, *item)`, and the next memory.

        Args:
            obs: The environment's, one row for each.
            memory: What `start` or the last call gave, a row for each.
            is_first: Which rows are the first of their episode, `(B,)`.
        """
        memories_after = []
        memories = iter(memory)
        for bound, call in zip(self.obs, self._calls, strict=True):
            if bound.memory is None:
                obs = call(obs)
            else:
                obs, after = call(obs, next(memories), is_first)
                memories_after.append(after)
        return obs, tuple(memories_after)


def _bound(
    steps: Sequence[Step], space: spaces.Space[Any], what: str
) -> tuple[list[Bound], spaces.Space[Any]]:
    bounds = []
    for place, step in enumerate(steps):
        try:
            bounds.append(step.bind(space))
        except SpaceError as error:
            message = f"step {place + 1} of the {what}'s adapter: {error.message}"
            words = {"expected": error.expected, "found": error.found, "hint": error.hint}
            raise SpaceError(message, **words) from error
        space = bounds[-1].space
    return bounds, space


def _composed(bounds: list[Bound], steps: Sequence[Step]) -> Callable[[Nest], Nest]:
    calls = [_closed(bound) for bound in bounds]
    quick = _on_arrays(bounds, steps)
    if quick is None:
        return lambda value: _after_each(calls, value)
    return lambda value: quick(value) if type(value) is np.ndarray else _after_each(calls, value)


def _on_arrays(bounds: list[Bound], steps: Sequence[Step]) -> Callable[[Any], Any] | None:
    """The same for arrays alone; None of Python functions, which may give anything."""
    return on_arrays(bounds) if all(step.is_portable for step in steps) else None


def _after_each(calls: list[Callable[..., Any]], value: Nest) -> Nest:
    for call in calls:
        value = call(value)
    return value


def _closed(bound: Bound) -> Callable[..., Any]:
    """The formula with its constants, wherever the value lies."""
    formula, constants = bound.formula, bound.constants
    if not constants:
        return formula
    by_device: dict[Any, tuple[Any, ...]] = {}

    def call(value: Nest, *memory: Any) -> Any:
        first = nest.a_leaf(value)
        if not xp.is_tensor(first):
            return formula(value, *memory, *constants)
        placed = by_device.get(first.device)
        if placed is None:
            placed = tuple(xp.on_device(each, first.device) for each in constants)
            by_device[first.device] = placed
        return formula(value, *memory, *placed)

    return call


def _as_steps(name: str, steps_given: Any) -> tuple[Step, ...]:
    steps = (steps_given,) if isinstance(steps_given, Step) else tuple(steps_given)
    for step in steps:
        if not isinstance(step, Step):
            raise PieceError(
                f"{step!r} is no step of an adapter's {name}",
                expected="a Step, such as DropFeatures([2])",
                hint="a Python function joins as ApplyFunction('name') after register_function().",
            )
    return steps
