"""Sessions: the memory of each, how long it is kept, and what follows when it is gone."""

from __future__ import annotations

import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .errors import ServeError

Key = tuple[str, str]
"""The name of a policy, and the id of a session with it."""
_MOST_GONE: Final = 100_000
_MOST_WAITING: Final = 64


class Session:
    """What one client's episode with one policy is.

    Args:
        key: Whose it is.
        version: The `Version` that acts in it, until it ends.
        now: When it began.

    Attributes:
        used: When it was last used.
        steps: How many times it acted since its episode began.
        number: The number of the last request that told one.
        answer: What that request was answered.
        timestep: How many steps were explored in it.
        is_busy: Whether a request of it is being answered.
        waiting: Requests that came meanwhile.
        successor: The version that it moves to before its next step.
    """

    __slots__ = (
        "answer", "is_busy", "is_over", "key", "number", "rng", "steps", "successor",
        "timestep", "used", "version", "waiting",
    )  # fmt: skip

    def __init__(self, key: Key, version: Any, now: float) -> None:
        self.key, self.version, self.used = key, version, now
        self.steps = self.timestep = 0
        self.number: int | None = None
        self.answer: Any = None
        self.successor: Any = None
        self.rng: np.random.Generator | None = None
        self.is_busy = self.is_over = False
        self.waiting: deque[Callable[[], None]] = deque()

    @property
    def id(self) -> str:
        """What the client calls it."""
        return self.key[1]

    def seed(self, seed: int) -> None:
        """Explore from here on with the random numbers of a seed."""
        self.rng = np.random.default_rng(abs(seed))

    def wait(self, go_on: Callable[[], None]) -> None:
        """Be called when the request before is answered.

        Raises:
            ServeError: Too many wait already.
        """
        if len(self.waiting) >= _MOST_WAITING:
            raise ServeError(
                429, "busy", f"session {self.id!r} has {_MOST_WAITING} requests waiting"
            )
        self.waiting.append(go_on)

    def free(self) -> None:
        """Let the next request of it go on."""
        self.is_busy = False
        if self.waiting:
            self.waiting.popleft()()


class SessionTable:
    """All sessions of a server, the least recently used first.

    Args:
        most: How many there may be; one more, and the least recently used is gone.
        time_to_live: Seconds that one may lie unused.
        clock: Tells the time in seconds.

    Attributes:
        evicted: How many went for lack of room.
        expired: How many lay unused for too long.

    Example:
        >>> table = SessionTable(most=1, time_to_live=60.0, clock=lambda: 0.0)
        >>> a = table.begin(("cartpole", "a"), version=None)
        >>> b = table.begin(("cartpole", "b"), version=None)
        >>> table.find(("cartpole", "a"))
        Traceback (most recent call last):
        rlconnect.serve.errors.ServeError: session 'a' is gone: there were too many sessions
          hint: begin a new one: leave out "session", or name one that was never used.
    """

    def __init__(
        self,
        *,
        most: int = 10_000,
        time_to_live: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._time_to_live, self._clock = most, time_to_live, clock
        self._sessions: OrderedDict[Key, Session] = OrderedDict()
        self._gone: OrderedDict[Key, str] = OrderedDict()
        self._start = os.urandom(4).hex()
        self._begun = 0
        self.evicted = self.expired = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Any:
        return iter([*self._sessions.values()])

    def new_id(self) -> str:
        """An id that no other session has; of this start of the server."""
        self._begun += 1
        return f"s-{self._start}-{self._begun}-{os.urandom(6).hex()}"

    def find(self, key: Key) -> Session | None:
        """The session of this name; None if there never was one.

        Raises:
            ServeError: There was, and it is gone.
        """
        session = self._sessions.get(key)
        if session is None:
            why = self._gone.get(key)
            if why is None and _is_of_server(key[1]) and not key[1].startswith(f"s-{self._start}-"):
                why = "the server was started again"
            if why is not None:
                raise gone(key[1], why)
            return None
        now = self._clock()
        if now - session.used > self._time_to_live:
            self._drop(session, f"it was not used for {self._time_to_live:g} s")
            self.expired += 1
            raise gone(key[1], self._gone[key])
        session.used = now
        self._sessions.move_to_end(key)
        return session

    def begin(self, key: Key, version: Any) -> Session:
        """A new session."""
        while len(self._sessions) >= self._most:
            oldest = next(
                (session for session in self._sessions.values() if not session.is_busy), None
            )
            if oldest is None:
                raise ServeError(
                    503, "too_many_sessions", f"all of {self._most:,} sessions are busy"
                )
            self._drop(oldest, "there were too many sessions")
            self.evicted += 1
        self._gone.pop(key, None)
        session = self._sessions[key] = Session(key, version, self._clock())
        return session

    def live(self, key: Key) -> Session | None:
        """The session of this name; None if there is none, for whatever reason."""
        try:
            return self.find(key)
        except ServeError:
            return None

    def end(self, session: Session) -> None:
        """Let a session go that its client ended; its name may be used anew."""
        self._sessions.pop(session.key, None)
        self._forget(session)

    def sweep(self) -> None:
        """Let those go that lie unused for too long."""
        now = self._clock()
        for session in [*self._sessions.values()]:
            if now - session.used <= self._time_to_live:
                break
            if not session.is_busy:
                self._drop(session, f"it was not used for {self._time_to_live:g} s")
                self.expired += 1

    def _drop(self, session: Session, why: str) -> None:
        del self._sessions[session.key]
        self._gone[session.key] = why
        if len(self._gone) > _MOST_GONE:
            self._gone.popitem(last=False)
        self._forget(session)

    def _forget(self, session: Session) -> None:
        session.is_over = True
        if session.version is not None:
            session.version.forget(session)


def gone(id_: str, why: str) -> ServeError:
    """A session that is not there any more."""
    return ServeError(
        410,
        "session_gone",
        f"session {id_!r} is gone: {why}",
        hint='begin a new one: leave out "session", or name one that was never used.',
    )


def _is_of_server(id_: str) -> bool:
    return id_.startswith("s-") and id_.count("-") == 3
