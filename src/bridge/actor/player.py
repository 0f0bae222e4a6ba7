"""One policy acting for many slots by its plan."""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

from ...core import array_namespace as xp
from ...core import nest
from ...core.adapters.laid import on_arrays
from ...core.arrays.batching import batch
from ...core.errors import PieceError, SpaceError
from ...core.pages.figure import Figure
from ...core.runtime.sessions import Sessions
from ...core.spaces.text import short_space
from ...core.step.plan import ActPlan, Running, narrowed, run_step
from ...core.step.slots import Key, Slots
from ...core.types import Nest


class ObservationForm:
    """How observations of one space look, alone and in batches.

    If it `is_exact`, they have the shape of the space; otherwise, where something unknown changes
    them before anybody looks, only as many axes.

    Example:
        >>> form = ObservationForm(spaces.Box(-1, 1, (2,)))
        >>> form.rows(np.zeros(2))[1], form.rows(np.zeros((5, 2)))[1]
        (True, False)
    """

    def __init__(self, space: spaces.Space[Any], *, is_exact: bool = True) -> None:
        self.space = space
        self._is_exact = is_exact
        self.shape = space.shape if _is_plain(space) else None
        self._dtype = space.dtype

    def rows(self, obs: Nest) -> tuple[Nest, bool]:
        """Observations with a leading axis, and whether there was none."""
        if self.shape is not None:
            if type(obs) is not np.ndarray and not xp.is_tensor(obs):
                obs = self._listed(obs)
            shape = obs.shape
            if shape == self.shape:
                return obs[None], True
            if shape[1:] == self.shape and len(shape) == len(self.shape) + 1:
                return obs, False
            if not self._is_exact and 0 <= len(shape) - len(self.shape) <= 1:
                is_one = len(shape) == len(self.shape)
                return (obs[None], True) if is_one else (obs, False)
            raise self._misfit(f"shape {tuple(shape)}")
        if isinstance(obs, list):
            return batch(obs), False
        if isinstance(self.space, spaces.Dict) and not isinstance(obs, Mapping):
            raise self._misfit(type(obs).__name__)
        path, leaf_space = _first_leaf(self.space)
        try:
            arrays = _arrays(obs, self.space)
            leaf = arrays
            for key in path:
                leaf = leaf[key]
        except (KeyError, IndexError, TypeError, ValueError):
            raise self._misfit(f"no entry {list(path)}") from None
        is_one = np.ndim(leaf) == len(leaf_space.shape or ())
        if is_one:
            arrays = nest.map_structure(lambda part: part[None], arrays)
        return arrays, is_one

    def fits(self, obs: Any) -> bool:
        """Return True if a dict is an observation of this space, not one observation per agent."""
        return isinstance(self.space, spaces.Dict) and set(obs) == set(self.space.spaces)

    def _listed(self, obs: Any) -> Any:
        if isinstance(obs, (list, tuple)) and obs and xp.is_tensor(obs[0]):
            return xp.namespace(obs[0]).stack(list(obs))
        try:
            numbers = np.asarray(obs)
        except ValueError:
            raise self._misfit("a ragged list") from None
        if numbers.dtype.kind not in "biufc":
            raise self._misfit(f"{type(obs).__name__} of {numbers.dtype}")
        return numbers.astype(self._dtype) if isinstance(obs, list) else numbers

    def _misfit(self, found: str) -> SpaceError:
        return SpaceError(
            "this observation is not of the actor's space",
            expected=f"{self.space}, or a batch of such",
            found=found,
            hint="adapt(policy, env=...) adapts a policy to another environment.",
        )


def _is_plain(space: Any) -> bool:
    return isinstance(
        space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
    )


def _arrays(obs: Any, space: Any) -> Nest:
    """An observation built like a space, whose leaves are arrays; lists of numbers are, too."""
    if isinstance(space, spaces.Dict):
        return {key: _arrays(obs[key], part) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_arrays(obs[at], part) for at, part in enumerate(space.spaces))
    if _is_plain(space) and not isinstance(obs, (np.ndarray, Mapping)) and not xp.is_tensor(obs):
        return np.asarray(obs, space.dtype if isinstance(obs, (list, tuple)) else None)
    return nest.map_structure(xp.as_array, obs)


def _first_leaf(space: Any) -> tuple[tuple[Any, ...], Any]:
    if isinstance(space, spaces.Dict):
        key = next(iter(space.spaces))
        path, leaf = _first_leaf(space.spaces[key])
        return (key, *path), leaf
    if isinstance(space, spaces.Tuple):
        path, leaf = _first_leaf(space.spaces[0])
        return (0, *path), leaf
    return (), space


Turn: TypeAlias = "tuple[Sequence[Key] | None, Any, Any, bool, np.random.Generator, bool]"
"""Arguments of a player in addition to observations: the sessions of the rows (None if unnamed),
the rewards of the last actions, which episodes ended, whether to explore, the random generator, and
whether observations after an end belong to the next episode.
"""


class Player(abc.ABC):
    """Runs one policy for all sessions.

    If it `is_planned`, the plan runs; otherwise the pieces run and store the state. If `fetches` is
    a dict, other outputs of the network are added to it. If it `needs_reward`, the rewards of the
    last actions are required.
    """

    fetches: dict[str, Any] | None = None

    def __init__(self, plan: ActPlan, *, is_planned: bool) -> None:
        self.plan = plan
        self.observation_space, self.action_space = plan.observation_space, plan.action_space
        self.form = ObservationForm(plan.observation_space, is_exact=is_planned)
        self.remembers, self.missing = plan.remembers or not is_planned, plan.missing
        self.needs_reward = plan.needs_reward

    def draw(self) -> Figure:
        """Draw the steps as boxes and arrows."""
        plan = self.plan
        how = "one pass for all rows" if not self.missing else f"item by item: {self.missing[0]}"
        boxes = [
            ("environment", short_space(self.observation_space)),
            *((name, "") for name in dict.fromkeys(part.name for part in plan.obs)),
            ("network", how),
            *((name, "") for name in dict.fromkeys(part.name for part in plan.action)),
            ("environment", short_space(self.action_space)),
        ]
        return Figure(plan.name, boxes, note="remembers" if self.remembers else "")

    @property
    @abc.abstractmethod
    def sessions(self) -> Sessions:
        """The stored sessions, in order of use."""

    @abc.abstractmethod
    def act(self, obs: Nest, turn: Turn) -> Nest:
        """Actions for observations with a leading axis."""

    def at_once(self, obs: Any) -> Nest | None:
        """Actions without exploration for one array; None where there is more to it."""
        return None

    @property
    def timestep(self) -> int:
        """Number of explored steps, for schedules such as that of epsilon."""
        return self.plan.brain.timestep

    @timestep.setter
    def timestep(self, steps: int) -> None:
        self.plan.brain.timestep = steps

    @property
    def memory_kind(self) -> Hashable | None:
        """Type of the memory of a session; None if no other player can continue it."""
        return None

    def hand_over(self, other: Player, env_ids: Iterable[Hashable]) -> None:
        """Move the sessions of some environments to a player with the same type of memory."""
        if self.memory_kind is None or self.memory_kind != other.memory_kind:
            raise PieceError(
                "running episodes do not move to a policy that remembers other things",
                expected=_spelt(self.memory_kind),
                found=_spelt(other.memory_kind),
                hint="keep them until they end.",
            )
        mine: Any = self
        its: Any = other
        mine.slots.hand_over(its.slots, env_ids)

    @abc.abstractmethod
    def reset(self, env_ids: Iterable[Hashable] | None) -> None:
        """Forget slots."""

    @abc.abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Return the memory of the sessions."""

    @abc.abstractmethod
    def load_state_dict(self, state: Any) -> None:
        """Load a state saved by `state_dict`."""

    @abc.abstractmethod
    def to(self, device: str | None) -> None:
        """Compute on a device."""


class SlotPlayer(Player):
    """A player that stores sessions as rows of arrays."""

    slots: Slots

    @property
    def sessions(self) -> Sessions:
        """The slots by their use."""
        return self.slots.sessions

    def reset(self, env_ids: Iterable[Hashable] | None) -> None:
        """Forget the slots of some environments; of all if None."""
        self.slots.reset(env_ids)

    def state_dict(self) -> dict[str, Any]:
        """Return the memory of the sessions as arrays."""
        return self.slots.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Load a state saved by `state_dict`."""
        self.slots.load_state_dict(state)

    def earned(self, reward: Any, first: Any, count: int) -> Any:
        """The reward of each row's last action; None if the policy does not see rewards.

        Raises:
            PieceError: Rewards are looked at, none are given, and not every row is the first.
        """
        if not self.needs_reward:
            return None
        if reward is None:
            if not bool(first.all()):
                raise PieceError(
                    f"policy {self.plan.name!r} sees rewards, and this step has none",
                    expected="reward= at every step after an episode's first",
                    hint="pass it, or call reset() if new episodes start.",
                )
            reward = np.zeros(count)
        return reward if xp.is_tensor(reward) else np.asarray(reward, np.float64).reshape(count)


class PlannedPlayer(SlotPlayer):
    """Runs a plan on rows of arrays, or on tensors on a device.

    Pickling stores the source of the plan; `replan`, a function of a module, creates the plan
    again.
    """

    def __init__(
        self,
        plan: ActPlan,
        source: Any,
        replan: Callable[[Any], ActPlan],
    ) -> None:
        super().__init__(plan, is_planned=True)
        self._source, self._replan = source, replan
        self.device: str | None = None
        self.slots = Slots(plan.start)
        self._constants = [part.constants for part in (*plan.obs, *plan.reward, *plan.action)]
        self._tensors: Any = None
        self._observe = on_arrays(plan.obs) if not plan.start else None
        self._finish = on_arrays(plan.action)

    def act(self, obs: Nest, turn: Turn) -> Nest:
        """Actions for observations with a leading axis."""
        keys, reward, ended, explore, rng, starts_anew = turn
        if self.device is None:
            leaf = nest.a_leaf(obs)
            if type(leaf) is not np.ndarray and xp.is_tensor(leaf):
                if leaf.device.type == "cpu":
                    return self._between(obs, turn)
                self.to(str(leaf.device))
        if not self.remembers:
            if self.device is None:
                return self._without_memory(obs, explore, rng)
            return self._on_tensors(obs, None, None, (), rng if explore else None)[0]
        count = len(nest.a_leaf(obs))
        slots = self.slots
        rows = slots.rows(count if keys is None else keys)
        if ended is not None:
            ended = xp.constant(np.asarray(ended, bool), slots.first)
        if ended is not None and starts_anew:
            slots.end(rows, ended)
        first = slots.first[rows]
        memory = tuple(column[rows] for column in slots.memory)
        earned = self.earned(reward, first, count)
        if self.device is None:
            brain = self.plan.brain
            if self.fetches is None:
                chooser = self._chooser(explore, rng)
                runner = (brain.exploring(rng) if explore else None) or brain.run
            else:
                runner, chooser = brain.fetching(explore, rng, self.fetches)
            how = Running(runner, chooser, self._constants, self.plan.start)
            actions, after = run_step(self.plan, how, obs, earned, first, memory)
        else:
            generator = rng if explore else None
            actions, after = self._on_tensors(obs, earned, first, memory, generator)
        slots.keep(rows, after)
        if ended is not None and not starts_anew:
            slots.end(rows, ended)
        return actions

    @property
    def memory_kind(self) -> Hashable | None:
        """The names of its arrays, with what a row of each is."""
        if self.device is not None:
            return None
        return arrays_kind(self.plan.memory_names, self.plan.start)

    def at_once(self, obs: Any) -> Nest | None:
        """Actions for an array, with or without a leading axis; None with a memory or device."""
        if self.remembers or self.device is not None:
            return None
        rows, is_one = self.form.rows(obs)
        actions = self._without_memory(rows, False, None)
        return nest.taken(actions, 0) if is_one else actions

    def to(self, device: str | None) -> None:
        """Compute with tensors on a device; with arrays if it is None."""
        self.slots.to(device)
        self.device = device
        self._tensors = None

    @property
    def policy(self) -> Any:
        """The source of the plan."""
        return self._source

    def __getstate__(self) -> dict[str, Any]:
        arguments = (self._source, self._replan, self.device)
        slots, most = self.slots.state_dict(), self.sessions.most
        return {"made": arguments, "slots": slots, "most": most, "timestep": self.timestep}

    def __setstate__(self, state: dict[str, Any]) -> None:
        source, replan, device = state["made"]
        PlannedPlayer.__init__(self, replan(source), source, replan)
        self.sessions.most = state["most"]
        self.slots.load_state_dict(state["slots"])
        self.timestep = state["timestep"]
        if device is not None:
            self.to(device)

    def tensor_step(self) -> Any:
        """The step as a torch module, on this player's device."""
        if self._tensors is None:
            from ...core.step.tensor_step import TensorStep

            self._tensors = TensorStep(self.plan).to(self.device or "cpu").eval()
        return self._tensors

    def _without_memory(self, obs: Nest, explore: bool, rng: Any) -> Nest:
        brain = self.plan.brain
        if self._observe is not None:
            obs = self._observe(obs)
        if self.fetches is not None:
            run, choose = brain.fetching(explore, rng, self.fetches)
            return self._finished(choose(run({"obs": nest.map_structure(narrowed, obs)}, [])[0]))
        exploring = brain.exploring(rng) if explore else None
        if exploring is not None:
            inputs, _ = exploring({"obs": nest.map_structure(narrowed, obs)}, [])
        elif type(obs) is np.ndarray and (direct := brain.quick(len(obs))) is not None:
            if obs.ndim != 2:
                obs = obs.reshape(len(obs), -1)
            if obs.dtype != np.float32:
                obs = obs.astype(np.float32)
            if not explore:
                return self._finished(direct.actions(obs))
            inputs = direct.inputs(obs)
        else:
            inputs, _ = brain.run({"obs": nest.map_structure(narrowed, obs)}, [])
        return self._finished(brain.explored(inputs, rng) if explore else brain.greedy(inputs))

    def _finished(self, actions: Nest) -> Nest:
        return actions if self._finish is None else self._finish(actions)

    def _on_tensors(
        self, obs: Nest, reward: Any, first: Any, memory: Any, rng: np.random.Generator | None
    ) -> tuple[Nest, Any]:
        is_given = xp.is_tensor(nest.a_leaf(obs))
        actions, after = self.tensor_step().act(obs, reward, first, memory, rng)
        return (actions if is_given else nest.map_structure(xp.to_numpy, actions)), after

    def _between(self, obs: Nest, turn: Turn) -> Nest:
        """Tensors in the host's memory, for a player that computes with arrays."""
        actions = self.act(nest.map_structure(xp.to_numpy, obs), turn)
        return nest.map_structure(lambda leaf: xp.on_device(leaf, "cpu"), actions)

    def _chooser(self, explore: bool, rng: np.random.Generator) -> Any:
        brain = self.plan.brain
        return (lambda inputs: brain.explored(inputs, rng)) if explore else brain.greedy


def arrays_kind(names: Iterable[str], start: Iterable[Any]) -> Hashable:
    """Arrays by name, with the shape and the kind of numbers of a row."""
    return tuple(
        (name, np.shape(row), row.dtype.str) for name, row in zip(names, start, strict=True)
    )


def _spelt(kind: Any) -> str:
    if kind is None:
        return "state in its connectors or on its device"
    return ", ".join(f"{name} {shape}" for name, shape, _ in kind) or "nothing"
