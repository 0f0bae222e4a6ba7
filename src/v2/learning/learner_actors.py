"""Learners in actors of Ray's, where Ray runs: it finds the machines and devices for them."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from typing_extensions import override

from .learner_processes import Learners
from .learner_worker import LearnerWorker
from .messages import flattened, restored


def ray_that_runs() -> Any:
    """Ray Core, where somebody has begun it; else None."""
    ray = sys.modules.get("ray")
    is_running = getattr(ray, "is_initialized", None)  # What stands in for Ray's names has none.
    return ray if is_running is not None and is_running() else None


def has_room(ray: Any, asked: Mapping[str, float], count: int) -> bool:
    """Whether so many find room now; what Tune has set aside for a trial has it."""
    if ray.util.get_current_placement_group() is not None:
        return True
    free = ray.available_resources()
    return all(free.get(kind, 0) >= each * count for kind, each in asked.items() if each)


class LearnerActors(Learners):
    """Learners in actors of Ray's.

    Args:
        plan: Gives what they begin with, by the address where they meet.
        count: How many there are.
        ray: Ray, running.
        needs: What each asks it for.
    """

    def __init__(
        self, plan: Callable[[str], Any], count: int, ray: Any, needs: Mapping[str, float]
    ) -> None:
        self._ray, self._needs = ray, needs
        super().__init__(plan, count)

    @override
    def _ending(self) -> tuple[Any, ...]:
        return _end, self._ray, self._workers, os.getpid()

    @override
    def _begin(self, count: int) -> str:
        rest: dict[str, Any] = {**self._needs}
        make = self._ray.remote(_Actor).options(
            num_cpus=rest.pop("CPU"),
            num_gpus=rest.pop("GPU"),
            resources=rest or None,
            max_restarts=0,  # A restarted one would begin with other weights.
        )
        self._workers.extend(
            _Worker(self._ray, index, make.remote(index)) for index in range(count)
        )
        places = self._ray.get([worker.actor.place.remote() for worker in self._workers])
        for worker, (process, *_) in zip(self._workers, places, strict=True):
            worker.process = process
        host = "127.0.0.1" if len({node for _, node, _ in places}) == 1 else places[0][2]
        return f"tcp://{host}:{self._ray.get(self._workers[0].actor.free_port.remote())}"

    @override
    def _send(self, workers: Sequence[_Worker], thing: Any, is_lent: bool) -> None:
        message = self._ray.put(_packed(thing))
        for worker in workers:
            worker.waiting = worker.actor.do.remote(message)

    @override
    def _ready(self, workers: Sequence[_Worker], timeout: float | None) -> Sequence[_Worker]:
        ready, _ = self._ray.wait([worker.waiting for worker in workers], timeout=timeout)
        return [worker for worker in workers if worker.waiting in ready]


class _Worker:
    """One learner's actor, and what it was asked."""

    waiting: Any = None
    process = 0
    _why = ""

    def __init__(self, ray: Any, index: int, actor: Any) -> None:
        self._ray, self.index, self.actor = ray, index, actor

    @property
    def name(self) -> str:
        return f"learner {self.index} (process {self.process})"

    def received(self) -> Any:
        """What it has answered; None where it has ended."""
        try:
            return restored(*self._ray.get(self.waiting))
        except self._ray.exceptions.RayActorError as error:
            self._why = str(error)
            return None

    def ending(self) -> str:
        """How it has ended, by Ray's words."""
        return self._why


class _Actor:
    """A learner in a process of Ray's."""

    def __init__(self, index: int) -> None:
        with suppress(ValueError):  # The other process decides what ends.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._worker = LearnerWorker(index)

    def place(self) -> tuple[int, str, str]:
        """Its process, its machine and the address of that."""
        ray = ray_that_runs()
        context = ray.get_runtime_context()
        return os.getpid(), context.get_node_id(), ray.util.get_node_ip_address()

    def free_port(self) -> int:
        """A port that nobody listens on here."""
        with socket.socket() as listening:
            listening.bind(("", 0))
            port: int = listening.getsockname()[1]
            return port

    def do(self, message: tuple[bytes, list[Any]]) -> Any:
        """Answer a message."""
        return self._worker.answer(lambda: restored(*message), _packed)


def _packed(thing: Any) -> tuple[bytes, list[Any]]:
    """A message whose large parts Ray keeps in memory that processes share."""
    body, pieces = flattened(thing)
    return body, [np.frombuffer(piece, np.uint8) for piece in pieces]


def _end(ray: Any, workers: Sequence[_Worker], owner: int) -> None:
    if os.getpid() != owner or not ray.is_initialized():
        return
    for worker in workers:
        ray.kill(worker.actor)
