"""Learners in other processes: Ray actors if Ray is running, else torch's multiprocessing."""

from __future__ import annotations

import abc
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, Final, NoReturn

import cloudpickle  # type: ignore[import-untyped]  # it has no types
import torch.multiprocessing as mp
from typing_extensions import override

from ...core.errors import RlconnectError

START_METHOD: Final = "spawn"

_GRACE: Final = 5.0
"""Seconds to wait for the error of the learner that failed when another only missed it."""

_RESUME: Final = "earlier checkpoints are complete: a run resumes from them, with any num_learners."


class LearnerError(RlconnectError, RuntimeError):
    """A learner in another process failed; `learner` is its index, from 0."""


class LostLearnerError(LearnerError):
    """A learner's process has ended."""


class ExtraLearners(abc.ABC):
    """Learners that share each gradient step, each in its own process.

    If an update fails, all are stopped: their weights may differ by a step.

    Args:
        plan: Returns the start arguments, given the address of the process group.
        count: Number of learners.
    """

    _finalizer: Any
    """Stops the processes, also when nothing refers to this object any more."""

    def __init__(self, plan: Callable[[str], Any], count: int) -> None:
        self.processes: list[int] = []
        self._reason = "they were shut down"
        address = self._launch(count)
        try:
            self.ask("start", plan(address))
        except BaseException:
            self.stop("they could not be started")
            raise

    @abc.abstractmethod
    def _launch(self, count: int) -> str:
        """Start the processes and set `_finalizer`; return the address of the process group."""

    @abc.abstractmethod
    def _send(self, learners: Sequence[int], request: bytes, batch: Any) -> None:
        """Send a request to learners."""

    @abc.abstractmethod
    def _receive(self, learners: Sequence[int], timeout: float | None) -> dict[int, Any]:
        """Wait for a first response; return those available, with None for ended processes."""

    @abc.abstractmethod
    def _exit_reason(self, learner: int) -> str:
        """Return why a process has ended."""

    def ask(
        self,
        method: str,
        *arguments: Any,
        batch: Any = None,
        learners: Sequence[int] | None = None,
    ) -> list[Any]:
        """Call a method of `LearnerWorker` in other processes and return the results.

        Args:
            method: Name of the method.
            *arguments: Its arguments.
            batch: Columns to share in memory, passed as the last argument if given.
            learners: Indices of the learners to call; None for all.
        """
        if not self._finalizer.alive:
            raise LearnerError(
                "the learners have ended",
                found=self._reason,
                hint=f"build a new group; {_RESUME}",
            )
        asked = range(len(self.processes)) if learners is None else learners
        try:
            self._send(asked, cloudpickle.dumps((method, arguments)), batch)
            results, failed = self._results(asked, is_update=method != "call")
        except BaseException as error:
            self.stop(f"{type(error).__name__}: {error}")
            raise
        if failed is None:
            return [results[index] for index in asked]
        index, failure = failed
        if method != "call":
            self.stop(failure["summary"])
        _raise(index, self._name(index), failure)

    def _results(
        self, asked: Sequence[int], *, is_update: bool
    ) -> tuple[dict[int, Any], tuple[int, Any] | None]:
        """Collect results, and the first failure; a learner that only lost another comes last."""
        results: dict[int, Any] = {}
        failed: dict[int, Any] = {}
        missed: dict[int, Any] = {}
        waiting = [*asked]
        deadline = float("inf")
        while waiting and time.monotonic() < deadline and not (failed and is_update):
            for index, response in self._receive(waiting, 0.2 if missed else None).items():
                waiting.remove(index)
                if response is None:
                    raise LostLearnerError(
                        f"{self._name(index)} of {len(self.processes)} has ended",
                        found=self._exit_reason(index),
                        hint=_RESUME,
                        learner=index,
                    )
                is_ok, value = pickle.loads(response)
                if is_ok:
                    results[index] = value
                elif value["is_of_another"]:
                    missed[index] = value
                    deadline = time.monotonic() + _GRACE
                else:
                    failed[index] = value
        return results, min((failed or missed).items(), default=None)

    def _name(self, index: int) -> str:
        return f"learner {index} (process {self.processes[index]})"

    def stop(self, reason: str = "they were shut down") -> None:
        """Stop all processes."""
        if self._finalizer.alive:
            self._reason = reason
            self._finalizer()


class LearnerProcesses(ExtraLearners):
    """Learners in processes of `torch.multiprocessing`, on this machine."""

    @override
    def _launch(self, count: int) -> str:
        context: Any = mp.get_context(START_METHOD)
        folder = tempfile.mkdtemp(prefix="rlconnect_learners_")
        self._workers: list[Any] = []
        self._pipes: list[Any] = []
        self._finalizer = weakref.finalize(self, _stop, self._workers, folder, os.getpid())
        for index in range(count):
            ours, theirs = context.Pipe()
            worker = context.Process(target=_serve, args=(index, theirs), daemon=True)
            worker.start()
            theirs.close()  # The end of the process is then the end of the pipe.
            self._workers.append(worker)
            self._pipes.append(ours)
        self.processes = [worker.pid for worker in self._workers]
        return f"file://{folder}/group"

    @override
    def _send(self, learners: Sequence[int], request: bytes, batch: Any) -> None:
        for index in learners:
            with suppress(BrokenPipeError, ConnectionResetError):  # _receive reports it.
                self._pipes[index].send((request, batch))

    @override
    def _receive(self, learners: Sequence[int], timeout: float | None) -> dict[int, Any]:
        received = {}
        for pipe in wait([self._pipes[index] for index in learners], timeout):
            index = self._pipes.index(pipe)
            try:
                received[index] = self._pipes[index].recv_bytes()
            except (EOFError, OSError):
                received[index] = None
        return received

    @override
    def _exit_reason(self, learner: int) -> str:
        worker = self._workers[learner]
        worker.join(_GRACE)
        code = worker.exitcode
        if code is not None and code < 0:
            return f"{signal.Signals(-code).name}; unless you killed it, memory may have run out"
        return (
            f"exit code {code}; a script that starts learners is a file whose work is below "
            '`if __name__ == "__main__":`'
        )


class RayLearners(ExtraLearners):
    """Learners in Ray actors.

    Args:
        plan: Returns the start arguments, given the address of the process group.
        count: Number of learners.
        ray: The running Ray.
        resources: Resources of each learner.
    """

    def __init__(
        self, plan: Callable[[str], Any], count: int, ray: Any, resources: Mapping[str, float]
    ) -> None:
        self._ray, self._resources = ray, resources
        self._reasons: dict[int, str] = {}
        self._pending: dict[int, Any] = {}
        super().__init__(plan, count)

    @override
    def _launch(self, count: int) -> str:
        from .learner_worker import LearnerWorker

        rest = {**self._resources}
        actor = self._ray.remote(LearnerWorker).options(
            num_cpus=rest.pop("CPU"),
            num_gpus=rest.pop("GPU"),
            resources=rest or None,
            max_restarts=0,  # A restarted one would have other weights.
        )
        self._actors = [actor.remote(index) for index in range(count)]
        self._finalizer = weakref.finalize(self, _kill, self._ray, self._actors, os.getpid())
        places = self._ray.get([each.place.remote() for each in self._actors])
        self.processes = [process for process, *_ in places]
        _, host, port = places[0]
        is_one_machine = len({host for _, host, _ in places}) == 1
        return f"tcp://{'127.0.0.1' if is_one_machine else host}:{port}"

    @override
    def _send(self, learners: Sequence[int], request: bytes, batch: Any) -> None:
        shared = self._ray.put(batch)
        for index in learners:
            self._pending[index] = self._actors[index].respond.remote(request, shared)

    @override
    def _receive(self, learners: Sequence[int], timeout: float | None) -> dict[int, Any]:
        ready, _ = self._ray.wait([self._pending[index] for index in learners], timeout=timeout)
        received = {}
        for index in learners:
            if self._pending[index] in ready:
                try:
                    received[index] = self._ray.get(self._pending[index])
                except self._ray.exceptions.RayActorError as error:
                    self._reasons[index] = str(error)
                    received[index] = None
        return received

    @override
    def _exit_reason(self, learner: int) -> str:
        return self._reasons[learner]


def running_ray() -> Any:
    """Return Ray Core if it is initialized, else None."""
    ray = sys.modules.get("ray")
    is_running = getattr(ray, "is_initialized", None)  # What stands in for Ray's names has none.
    return ray if is_running is not None and is_running() else None


def has_room(ray: Any, resources: Mapping[str, float], count: int) -> bool:
    """Return True if Ray has resources for all learners, or runs this in a placement group."""
    if ray.util.get_current_placement_group() is not None:
        return True
    free = ray.available_resources()
    return all(free.get(kind, 0) >= each * count for kind, each in resources.items() if each)


def _serve(index: int, pipe: Connection[Any, Any]) -> None:
    """Respond to requests until the process that started this one ends."""
    parent: Any = parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    from .learner_worker import LearnerWorker

    worker = LearnerWorker(index)
    while True:
        pipe.send_bytes(worker.respond(*pipe.recv()))


def _raise(index: int, name: str, failure: Mapping[str, Any]) -> NoReturn:
    """Raise the error of a learner with its own type and the learner's name."""
    cause = LearnerError(f"{name} failed", found=failure["text"], learner=index)
    if failure["error"] is None:
        raise LearnerError(f"{name} raised {failure['summary']}", learner=index) from cause
    error = pickle.loads(failure["error"])
    if isinstance(error, RlconnectError):
        error.message = f"{name}: {error.message}"
        error.facts["learner"] = index
    elif hasattr(error, "add_note"):  # Python 3.11
        error.add_note(f"raised in {name}")
    raise error from cause


def _stop(workers: Sequence[Any], folder: str, owner: int) -> None:
    if os.getpid() != owner:
        return  # A fork of the process that has started them.
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.join()
    shutil.rmtree(folder, ignore_errors=True)


def _kill(ray: Any, actors: Sequence[Any], owner: int) -> None:
    if os.getpid() == owner and ray.is_initialized():
        for actor in actors:
            ray.kill(actor)
