"""Who acts on groups of recorded episodes: this process, some of its own, or actors of Ray.

Groups are given back in the order in which they were taken, and few of them are held at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ...offline.recordings import Recordings
from ...v2.distributed.running_ray import running_ray

Act = Callable[[Recordings, int], dict[str, Any]]


class Hands:
    """Lets groups be acted on, and gives them back in order.

    In one process that is this one, unless it is on Ray: there they are actors, wherever its
    cluster has room. `acting` travels.
    """

    def __init__(self, acting: Act, processes: int, *, on_ray: bool = False) -> None:
        self._acting, self._most = acting, 2 * processes
        self._pool: Any = None
        self._waiting: deque[tuple[Path, Future[dict[str, Any]]]] = deque()
        if on_ray:
            self._pool = _RayPool(acting, processes)
        elif processes > 1:
            self._pool = _Pool(
                processes, get_context("spawn"), initializer=_begin, initargs=(acting,)
            )

    def __enter__(self) -> Hands:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def take(
        self, file: Path, group: Recordings, number: int
    ) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Take one more group; give what is done where enough wait."""
        if self._pool is None:
            yield file, self._acting(group, number)
            return
        self._waiting.append((file, self._pool.act(group, number)))
        while len(self._waiting) > self._most:
            done, future = self._waiting.popleft()
            yield done, future.result()

    def rest(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """All that still wait."""
        while self._waiting:
            done, future = self._waiting.popleft()
            yield done, future.result()


class _Pool(ProcessPoolExecutor):
    """Processes of this machine."""

    def act(self, group: Recordings, number: int) -> Future[dict[str, Any]]:
        """Have a group acted on."""
        return self.submit(_act, group, number)


class _RayPool:
    """Actors of Ray, one after the other."""

    def __init__(self, acting: Act, count: int) -> None:
        ray = running_ray("actors on a cluster")
        actor, shared = ray.remote(_RayActor), ray.put(acting)
        self._kill = ray.kill
        self._actors = [actor.remote(shared) for _ in range(count)]

    def act(self, group: Recordings, number: int) -> Future[dict[str, Any]]:
        """Have a group acted on."""
        actor = self._actors[number % len(self._actors)]
        answer: Future[dict[str, Any]] = actor.act.remote(group, number).future()
        return answer

    def shutdown(self, *, cancel_futures: bool) -> None:
        """End the actors; what they have not done is not done."""
        for actor in self._actors:
            self._kill(actor)


class _RayActor:
    """What acts, in an actor of Ray."""

    def __init__(self, acting: Act) -> None:
        self._acting = acting

    def act(self, group: Recordings, number: int) -> dict[str, Any]:
        """Columns of all steps of a group."""
        return self._acting(group, number)


_in_this_process: dict[str, Act] = {}
"""What acts in a process that was started for it."""


def _begin(acting: Act) -> None:
    _in_this_process["acting"] = acting


def _act(group: Recordings, number: int) -> dict[str, Any]:
    return _in_this_process["acting"](group, number)
