"""Policies of each kind as ones that watch; see `replay`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Discrete, Space

from ...core import array_namespace as xp
from ...core import nest
from ...core.adapters.laid import on_arrays
from ...core.arrays.batching import unbatch
from ...core.errors import PieceError
from ...core.formulas.actions import get_base_struct_from_space, normalize_action
from ...core.rllib_utils.layer_formulas import flatten_inputs_to_1d_tensor
from ...core.step.plan import Brain, Running, narrowed, run_step
from ...core.types import Array, Nest
from ...legacy.batches.step_rows import joined_batches
from ...legacy.connectors.rows import answers_of
from ...legacy.connectors.types import AgentConnectorDataType
from ...legacy.policy.policy import Policy
from ..actor.episode_player import EpisodePlayer, RunningEpisodes
from ..actor.legacy_brain import LegacyBrain
from ..actor.module_brain import ModuleBrain
from ..actor.player import PlannedPlayer, Player
from ..actor.players import PipelinePlayer, player_of
from ..loading.natives import Native
from ..triple import V2Triple
from .replay import Answers, Manner, Watcher, joined_answers


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


_ROWS: Final = 1_024


def watcher_of(native: Native, manner: Manner) -> Watcher:
    """A policy of any kind as one that watches; it stays as it is.

    It is a `Policy`, a `V2Triple` or an exported `Artifact`.
    """
    player = player_of(native)
    if isinstance(player, PlannedPlayer):
        return PlannedWatcher(player, manner)
    if manner.is_seen:
        raise not_behind_connectors(player)
    if isinstance(player, PipelinePlayer):
        return LegacyWatcher(player, manner)
    if isinstance(player, EpisodePlayer):
        return EpisodeWatcher(player, manner)
    return ProgramWatcher(player)


def not_behind_connectors(player: Player) -> PieceError:
    """The refusal of observations as a network sees them, where connectors run as they are."""
    return PieceError(
        f"policy {player.plan.name!r} does not take observations behind its connectors",
        expected=f"observations of {player.observation_space}",
        hint="record them as the environment gives them.",
    )


def _choices(player: Player, brain: Brain, manner: Manner) -> Choices:
    """What a player may do; its plan tells what becomes of its actions, as far as there is one."""
    plan, source = player.plan, getattr(player, "policy", None)
    parts = [(part.formula, part.constants) for part in plan.action]

    def acted(actions: Any) -> Any:
        for formula, constants in parts:
            actions = formula(actions, *constants)
        return actions

    return Choices(
        plan.name,
        brain.action_space,
        plan.action_space,
        brain.logp,
        brain.greedy,
        brain.drawn,
        acted,
        _stretches(source if source is not None else getattr(player, "triple", None)),
        manner,
    )


def _stretches(source: Any) -> bool:
    """Whether a policy's bounded actions are stretched on their way to the environment."""
    if isinstance(source, Policy):
        return bool(source.config.get("normalize_actions", True))
    pieces = getattr(source.module_to_env, "connectors", ()) if source is not None else ()
    return any(bool(getattr(piece, "normalize_actions", False)) for piece in pieces)


class PlannedWatcher:
    """A planned policy: its whole step is formulas over rows."""

    def __init__(self, player: PlannedPlayer, manner: Manner) -> None:
        plan = player.plan
        self._plan = replace(plan, obs=()) if manner.is_seen else plan
        self._brain: Brain = plan.brain
        self._choices = _choices(player, plan.brain, manner)
        self.remembers = self._plan.remembers
        self._observe = None if self.remembers else on_arrays(self._plan.obs)
        parts = (*self._plan.obs, *self._plan.reward, *self._plan.action)
        self._constants = [part.constants for part in parts]
        self._memory: tuple[Any, ...] = ()
        self._is_first = False

    def begin(self, count: int) -> None:
        """Forget everything."""
        self._memory = tuple(np.broadcast_to(row, (count, *row.shape)) for row in self._plan.start)
        self._is_first = True

    def step(self, obs: Nest, rewards: Array, actions: Nest) -> Answers:
        """The next step of the first episodes, or rows that need no memory."""
        if not self.remembers:
            return self._without_memory(obs, actions)
        count = len(rewards)
        caught: list[Any] = []

        def run(columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
            inputs, after = self._brain.run(columns, states)
            caught.extend((inputs, columns["obs"]))
            return inputs, after

        def choose(inputs: Any) -> Nest:
            return self._choices.remembered(inputs, actions)

        first = np.full(count, self._is_first)
        memory = tuple(column[:count] for column in self._memory)
        how = Running(run, choose, self._constants, self._plan.start)
        earned = rewards if self._plan.needs_reward else None
        _, self._memory = run_step(self._plan, how, obs, earned, first, memory)
        self._is_first = False
        return self._choices.answers(caught[0], actions, flat_view(caught[1]))

    def _without_memory(self, obs: Nest, actions: Nest) -> Answers:
        observed = obs if self._observe is None else self._observe(obs)
        observed = nest.map_structure(narrowed, observed)
        answers = []
        for start in range(0, len(nest.a_leaf(observed)), _ROWS):
            places = slice(start, start + _ROWS)
            rows = nest.taken(observed, places)
            direct = self._brain.quick(len(nest.a_leaf(rows))) if nest.is_leaf(rows) else None
            if direct is None:
                inputs = self._brain.run({"obs": rows}, [])[0]
            else:
                inputs = direct.inputs(np.asarray(rows.reshape(len(rows), -1), np.float32))
            answers.append(self._choices.answers(inputs, nest.taken(actions, places), None))
        return replace(joined_answers(answers), seen=flat_view(observed))


class LegacyWatcher:
    """A policy of the old stack whose connectors run as they are."""

    remembers = True

    def __init__(self, player: PipelinePlayer, manner: Manner) -> None:
        self._policy = player.policy
        self._choices = _choices(player, LegacyBrain(self._policy), manner)
        self._slots: list[int] = []

    def begin(self, count: int) -> None:
        """Forget everything."""
        for slot in self._slots:
            self._policy.reset_connectors(slot)
        self._slots = list(range(count))

    def step(self, obs: Nest, rewards: Array, actions: Nest) -> Answers:
        """The next step of the first episodes, through the connectors."""
        agent: Any = self._policy.agent_connectors
        agent.in_eval()
        slots = self._slots[: len(rewards)]
        pairs = zip(slots, unbatch(obs), rewards, strict=True)
        ready = agent(
            [
                AgentConnectorDataType(slot, "agent", {"new_obs": item, "rewards": float(earned)})
                for slot, item, earned in pairs
            ]
        )
        if len(ready) != len(slots):
            raise PieceError(
                f"the connectors of policy {self._policy.name!r} let some observations go",
                expected=f"{len(slots)} answers",
                found=str(len(ready)),
                hint="judge the policy without them.",
            )
        batches = [record.data.sample_batch for record in ready]
        columns = joined_batches(batches)
        _, states, fetches = self._policy.compute_actions_from_input_dict(columns, explore=False)
        inputs = fetches["action_dist_inputs"]
        answers = self._choices.answers(inputs, actions, flat_view(columns["obs"]))
        remembered = self._choices.remembered(inputs, actions)
        records = [record.data.raw_dict for record in ready]
        named = [(slot, "agent") for slot in slots]
        for answer in answers_of(named, records, (remembered, states, fetches)):
            agent.on_policy_output(answer)
        return answers


class EpisodeWatcher:
    """Pipelines of the new stack that run as they are, over episodes."""

    remembers = True

    def __init__(self, player: EpisodePlayer, manner: Manner) -> None:
        self._triple: V2Triple = player.triple
        self._brain = ModuleBrain(self._triple.module)
        self._choices = _choices(player, self._brain, manner)
        self._running = RunningEpisodes(self._triple)

    def begin(self, count: int) -> None:
        """Forget everything: the next step begins episodes."""
        self._running = RunningEpisodes(self._triple)

    def step(self, obs: Nest, rewards: Array, actions: Nest) -> Answers:
        """The next step of the first episodes, through the pipelines."""
        slots, module = range(len(rewards)), self._triple.module
        episodes = self._running.seen(slots, unbatch(obs), rewards)
        inputs_of, sent = self._running.passed(episodes, module.forward_inference)
        observed = inputs_of["obs"]
        if module.is_stateful():
            observed = nest.map_structure(lambda leaf: leaf[:, 0], observed)
        view = flat_view(nest.map_structure(lambda leaf: np.array(xp.to_numpy(leaf)), observed))
        sent.pop("actions_for_env", None)
        inputs = sent.get("action_dist_inputs")
        inputs = sent["actions"] if inputs is None else inputs
        self._brain.gives_actions = "action_dist_inputs" not in sent
        inputs = np.stack([np.asarray(xp.to_numpy(row)) for row in inputs])
        answers = self._choices.answers(inputs, actions, view)
        sent.pop("actions")
        self._running.did(slots, self._choices.remembered(inputs, actions), sent)
        return answers


class ProgramWatcher:
    """An exported program, which shows its actions alone."""

    def __init__(self, player: Player) -> None:
        space = player.action_space
        if not isinstance(space, Discrete):
            raise PieceError(
                f"the exported policy {player.plan.name!r} takes one action for sure among {space}",
                expected="few actions to choose from",
                hint="judge the checkpoint that it was exported from.",
            )
        self._player = copy.copy(player)
        self._count = int(space.n)
        self.remembers = player.remembers

    def begin(self, count: int) -> None:
        """Forget everything."""
        self._player.reset(None)

    def step(self, obs: Nest, rewards: Array, actions: Nest) -> Answers:
        """The next step of the first episodes."""
        rows = len(rewards)
        keys = [(row, "agent") for row in range(rows)]
        rng = np.random.default_rng(0)
        chosen = self._player.act(obs, (keys, rewards, None, False, rng, True))
        numbers = np.asarray(actions).reshape(rows).astype(np.int64)
        every = np.eye(self._count)[np.asarray(chosen).reshape(rows).astype(np.int64)]
        self._player.remember(keys, numbers)  # type: ignore[attr-defined]  # of a program
        return Answers(every[np.arange(rows), numbers], every, flat_view(np.asarray(obs)))
