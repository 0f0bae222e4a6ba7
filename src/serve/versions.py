"""Policies that act behind the server: one version each, many sessions in one forward pass."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ..bridge.actor.actor import Actor
from ..core import nest
from ..core.spaces.values import corners
from ..core.types import Nest
from .answers import log
from .errors import ServeError
from .observations import ObservationReader
from .sessions import Session

if TYPE_CHECKING:
    from ..bridge.front.loaded_policy import LoadedPolicy

_SLOW_STEP: Final = 2e-3
"""A forward pass that takes longer is run beside the loop, so that others are still heard."""
_LONGEST_EXAMPLE: Final = 256
_ALL: Final = 1 << 40
"""Sessions are counted and let go by the table of sessions, not by the actor."""


@dataclass(slots=True)
class Step:
    """One request to act.

    Args:
        session: Whose it is; None starts fresh and is forgotten.
        obs: What the client sent: one observation, or a batch of them.
        is_batch: Which of the two.
        reward: What the last action earned; for each row of a batch.
        ended: Whether the episode is over with this observation; for each row of a batch.
        explore: Whether to explore.
        answer: Called with the action (of a batch: rows of actions), or what is wrong.
        told: All fields of the request.
        fetches: Of what the network gives beside the actions, which parts the answer holds.
    """

    session: Session | None
    obs: Any
    is_batch: bool
    reward: Any
    ended: Any
    explore: bool
    answer: Callable[[Any], None]
    told: Mapping[str, Any] = field(default_factory=dict)
    fetches: Sequence[str] = ()


class Fetched(NamedTuple):
    """An answer with more than the action.

    Args:
        action: It; of a batch: rows of actions.
        fetches: The rest by name, an array each.
    """

    action: Any
    fetches: Mapping[str, Any]


class Turn(NamedTuple):
    """What became of steps that acted together.

    Args:
        steps: They.
        answers: What each is answered: actions, or an error.
        actions: Those of all rows as columns; None where something went wrong.
        counts: How many rows each step has.
        rows: What was observed, as columns.
        parts: What became of each step alone, where they could not act together.
    """

    steps: Sequence[Step]
    answers: list[Any]
    actions: Nest = None
    counts: Sequence[int] = ()
    rows: Nest = None
    parts: Sequence[Turn] = ()


class Version:
    """One policy as it was loaded once.

    Args:
        name: Of the policy.
        number: Which version of it, from 1 on.
        policy: What acts.
        path: Where it came from.
        most_waiting: How many requests may wait for a forward pass.
        loading: What `rlconnect.load` was told besides the path; the next version is, too.

    Attributes:
        steps: How many rows it acted for.
        batches: How many forward passes that took.
        sessions: How many there are.
        example: An observation as plain numbers, if it is not long.
        observers: Called with what became of steps, after they were answered.
        enders: Called with a session that is over, or whose next step begins anew.
    """

    def __init__(
        self,
        name: str,
        number: int,
        policy: LoadedPolicy,
        path: str,
        most_waiting: int = 2048,
        loading: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.name, self.number, self.path, self.policy = name, number, path, policy
        self.loaded = time.time()
        self.actor = Actor.from_policy(policy, max_sessions=_ALL)
        self.player = next(iter(self.actor.players.values()))
        self.reader = ObservationReader(self.player.observation_space)
        self.remembers = self.player.remembers
        self.needs_reward = self.player.needs_reward
        self.steps = self.batches = self.sessions = 0
        self.example: Any = None
        self.observers: list[Callable[[Turn], None]] = []
        self.enders: list[Callable[[Session], None]] = []
        self.most_waiting, self.loading = most_waiting, loading
        self._waiting: list[Step] = []
        self._is_running = False
        self._seconds = 0.0
        self._threads: ThreadPoolExecutor | None = None
        self._fresh = 0
        self._fetchable: dict[bool, list[str]] = {}
        self._rng = np.random.default_rng()

    def __len__(self) -> int:
        return len(self._waiting)

    def try_out(self) -> None:
        """Act once, so that the first client does not wait for what is only made then.

        Raises:
            RlconnectError: It cannot act.
        """
        _, obs = next(iter(corners(self.player.observation_space)))
        if sum(np.size(leaf) for leaf in nest.flatten(obs)) <= _LONGEST_EXAMPLE:
            self.example = nest.map_structure(lambda leaf: np.asarray(leaf).tolist(), obs)
        rows = nest.map_structure(lambda leaf: np.asarray(leaf)[None], obs)
        self._act([Step(None, None, False, 0.0, False, False, lambda _: None)], rows, [1])

    def fetches_of(self, names: Any, explore: bool) -> Sequence[str]:
        """The names that a request asks for; of `True` all there are.

        Raises:
            ServeError: One is not there.
        """
        if names is None or names is False:
            return ()
        possible = self._fetchable.get(explore)
        if possible is None:
            step = Step(None, None, False, 0.0, False, explore, lambda _: None, fetches=("",))
            _, obs = next(iter(corners(self.player.observation_space)))
            rows = nest.map_structure(lambda leaf: np.asarray(leaf)[None], obs)
            possible = self._fetchable[explore] = [*self._act([step], rows, [1])[1]]
        if names is True:
            return possible
        missing = [name for name in names if name not in possible]
        if missing:
            raise ServeError(
                400, "no_fetch", f"policy {self.name!r} gives no {str(missing[0])[:80]!r}",
                hint=f"it gives {', '.join(possible)}." if possible else "it gives actions alone.",
            )  # fmt: skip
        return list(names)

    def submit(self, step: Step) -> None:
        """Act soon; what comes in the same turn of the loop acts together.

        Raises:
            ServeError: Too many wait.
        """
        if len(self._waiting) >= self.most_waiting:
            raise ServeError(
                503, "overloaded", f"{self.most_waiting:,} requests wait for policy {self.name!r}"
            )
        self._waiting.append(step)
        if not self._is_running:
            self._is_running = True
            asyncio.get_running_loop().call_soon(self._run)

    def forget(self, session: Session) -> None:
        """Drop what is remembered of a session that is over."""
        self.sessions -= 1
        for tell in self.enders:
            tell(session)
        if self.remembers:
            self.actor.reset([session.key])

    def restart(self, session: Session) -> None:
        """Begin the next episode of a session."""
        session.steps = 0
        for tell in self.enders:
            tell(session)
        if self.remembers:
            self.actor.reset([session.key])

    def hands_over_to(self, other: Version) -> bool:
        """Whether the other can go on with what sessions of this one remember."""
        kind = self.player.memory_kind
        return kind is not None and kind == other.player.memory_kind

    def hand_over(self, sessions: Sequence[Session], other: Version) -> None:
        """Let the other go on with sessions of which none is acting just now."""
        if self.remembers:
            self.actor.hand_over(other.actor, [session.key for session in sessions])
        for session in sessions:
            session.version, session.successor = other, None
        self.sessions -= len(sessions)
        other.sessions += len(sessions)

    def close(self) -> None:
        """Let its thread go."""
        if self._threads is not None:
            self._threads.shutdown(wait=False)

    # A turn.

    def _run(self) -> None:
        steps, self._waiting = self._waiting, []
        groups = [[step] for step in steps if step.explore]
        if groups:
            steps = [step for step in steps if not step.explore]
        fetching = [step for step in steps if step.fetches]
        if fetching:
            groups.append(fetching)
            steps = [step for step in steps if not step.fetches]
        if steps:
            groups.append(steps)
        if self._seconds > _SLOW_STEP:
            self._run_beside(groups)
            return
        for group in groups:
            self._finish(self.act_now(group))
        self._is_running = bool(self._waiting)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._run)

    def _run_beside(self, groups: list[list[Step]]) -> None:
        """The same in a thread; what comes meanwhile is the next turn."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(1, f"policy-{self.name}")
        loop = asyncio.get_running_loop()

        def act() -> None:
            done = [self.act_now(group) for group in groups]
            loop.call_soon_threadsafe(finish, done)

        def finish(done: list[Turn]) -> None:
            for turn in done:
                self._finish(turn)
            self._is_running = bool(self._waiting)
            if self._waiting:
                loop.call_soon(self._run)

        self._threads.submit(act)

    def _finish(self, turn: Turn) -> None:
        """Answer the steps of a turn; an error in one callback does not keep the others waiting."""
        for step, answer in zip(turn.steps, turn.answers, strict=True):
            try:
                step.answer(answer)
            except Exception:
                log.exception("an action could not be sent")
        if self.observers:
            for part in turn.parts or (turn,):
                if part.actions is not None:
                    for observe in [*self.observers]:
                        try:
                            observe(part)
                        except Exception:
                            log.exception("a step could not be observed")

    def act_now(self, steps: Sequence[Step]) -> Turn:
        """Act for steps together; they are not answered yet."""
        try:
            return self._turn(steps)
        except Exception as error:
            if len(steps) == 1:
                return Turn(steps, [error])
            # Only the requests that are wrong get the error.
            parts = [self.act_now([step]) for step in steps]
            return Turn(steps, [part.answers[0] for part in parts], parts=parts)

    def _turn(self, steps: Sequence[Step]) -> Turn:
        began = time.perf_counter()
        rows, counts = self._rows(steps)
        actions, fetched = self._act(steps, rows, counts)
        listed = actions.tolist() if isinstance(actions, np.ndarray) else None
        answers: list[Any] = []
        at = 0
        for step, count in zip(steps, counts, strict=True):
            if listed is not None:
                answers.append(listed[at : at + count] if step.is_batch else listed[at])
            else:
                answers.append(nest.taken(actions, slice(at, at + count) if step.is_batch else at))
            if step.fetches:
                fetches = {name: fetched[name] for name in step.fetches}
                fetches = nest.taken(fetches, slice(at, at + count) if step.is_batch else at)
                answers[-1] = Fetched(answers[-1], fetches)
            at += count
            if step.session is not None:
                is_over = any(step.ended) if isinstance(step.ended, list) else step.ended
                step.session.steps = 0 if is_over else step.session.steps + 1
        self.batches += 1
        self.steps += at
        spent = time.perf_counter() - began
        self._seconds = spent if not self._seconds else 0.9 * self._seconds + 0.1 * spent
        return Turn(steps, answers, actions, counts, rows)

    def _rows(self, steps: Sequence[Step]) -> tuple[Nest, list[int]]:
        if not any(step.is_batch for step in steps):
            return self.reader.rows([step.obs for step in steps]), [1] * len(steps)
        parts = [
            self.reader.batch(step.obs) if step.is_batch else self.reader.rows([step.obs])
            for step in steps
        ]
        return nest.joined(parts), [len(nest.a_leaf(part)) for part in parts]

    def _act(
        self, steps: Sequence[Step], rows: Nest, counts: list[int]
    ) -> tuple[Nest, Mapping[str, Any]]:
        """Actions, and what was fetched beside them if a step asks for it."""
        act = self.actor.act_and_fetch if steps[0].fetches else self._without_fetches
        if not self.remembers and not steps[0].explore:
            return act(rows)
        envs: list[Any] = []
        agents: list[int] = []
        rewards: list[float] = []
        ended: list[bool] = []
        fresh: list[Any] = []
        ends = any(step.ended is not None for step in steps)
        for step, size in zip(steps, counts, strict=True):
            session = step.session
            if session is None:
                self._fresh += 1
                fresh.append(("", str(self._fresh)))
            envs += [fresh[-1] if session is None else session.key] * size
            agents += range(size)
            if self.needs_reward:
                rewards += row_numbers(step.reward, size, "reward", self._reward_of(session))
            elif step.reward is not None:
                row_numbers(step.reward, size, "reward", 0.0)
            if ends:
                ended += _row_flags(step.ended, size)
        arguments: dict[str, Any] = {"env_ids": envs, "agent_ids": agents}
        if self.remembers and ends:
            arguments["terminated"] = np.array(ended, bool)
        if self.remembers and self.needs_reward:
            arguments["reward"] = np.array(rewards)
        try:
            if not steps[0].explore:
                return act(rows, **arguments)
            with self._exploring(steps[0].session):
                return act(rows, explore=True, **arguments)
        finally:
            if fresh and self.remembers:
                self.actor.reset(fresh)

    def _without_fetches(self, rows: Nest, **arguments: Any) -> tuple[Nest, Mapping[str, Any]]:
        return self.actor.act(rows, **arguments), {}

    @contextmanager
    def _exploring(self, session: Session | None) -> Iterator[None]:
        """Explore with the session's own random numbers, and as far as it has come."""
        player = self.player
        if session is None:
            self.actor.rng, player.timestep = self._rng, 0
            yield
            return
        if session.rng is None:
            session.rng = np.random.default_rng()
        self.actor.rng, player.timestep = session.rng, session.timestep
        yield
        session.timestep = player.timestep

    def _reward_of(self, session: Session | None) -> float | None:
        """What stands for a reward that was not sent: nothing was earned before the first step."""
        return 0.0 if session is None or not session.steps else None


def _row_flags(value: Any, size: int) -> list[bool]:
    """Return a flag for each row, of one flag or a list of them."""
    if not isinstance(value, list):
        return [bool(value)] * size
    if len(value) not in (1, size):
        raise ServeError(
            400,
            "bad_field",
            f"terminated and truncated have to be a boolean for each of {size} rows",
        )
    return value if len(value) == size else value * size


def row_numbers(value: Any, size: int, name: str, missing: float | None) -> list[float]:
    """A number for each row.

    Raises:
        ServeError: There are others than rows, or none where one is needed.
    """
    if value is None:
        if missing is None:
            raise ServeError(
                400,
                f"{name}_missing",
                f"this policy sees rewards, and the request has no {name}",
                hint="send what the last action earned with each observation after the first.",
            )
        return [missing] * size
    try:
        array = np.asarray(value, np.float64).reshape(-1)
    except (TypeError, ValueError):
        array = np.empty(0)
    if len(array) == 1 and size != 1:
        array = np.repeat(array, size)
    if len(array) != size or not np.isfinite(array).all():
        raise ServeError(400, "bad_field", f"{name} has to be a number for each of {size} rows")
    numbers: list[float] = array.tolist()
    return numbers
