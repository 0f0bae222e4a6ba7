"""Learners in processes of their own: begun, asked, watched and ended by this one."""

from __future__ import annotations

import abc
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import Any, Final

from typing_extensions import override

from ...core.errors import RlconnectError
from .messages import SharedPages

_GRACE: Final = 5.0
"""Seconds in which a learner that has died is noticed, when others miss it."""

_MAIN: Final = f"{__package__}.learner_process"
"""What runs in such a process."""

_RESUME: Final = (
    "checkpoints made before are whole: a run goes on from them, with any num_learners."
)


class LearnerError(RlconnectError, RuntimeError):
    """A learner in another process failed; `learner` says which, from 0."""


class LostLearnerError(LearnerError):
    """A learner's process is gone."""


class Learners(abc.ABC):
    """Learners that learn together, each in a process of its own.

    They are asked all at once. After anything that goes wrong while they learn all are ended: their
    weights may differ by a step.

    Args:
        plan: Gives what they begin with, by the address where they meet.
        count: How many there are.
    """

    def __init__(self, plan: Callable[[str], Any], count: int) -> None:
        self._workers: list[Any] = []
        self._end = weakref.finalize(self, *self._ending())
        self._why = "they were shut down"
        try:
            address = self._begin(count)
            self.ask("start", plan(address))
        except BaseException:
            self.stop("they could not be started")
            raise

    @abc.abstractmethod
    def _ending(self) -> tuple[Any, ...]:
        """What ends all workers, and its arguments."""

    @abc.abstractmethod
    def _begin(self, count: int) -> str:
        """Make the workers; gives the address where they meet."""

    @abc.abstractmethod
    def _send(self, workers: Sequence[Any], thing: Any, is_lent: bool) -> None:
        """Send workers a message."""

    @abc.abstractmethod
    def _ready(self, workers: Sequence[Any], timeout: float | None) -> Sequence[Any]:
        """Wait for some that have answered, or ended."""

    def ask(self, method: str, *arguments: Any, is_lent: bool = False) -> list[Any]:
        """Have all learners do something; gives their answers.

        Args:
            method: What, by a method of `LearnerWorker`.
            *arguments: For it.
            is_lent: Whether they look at the arguments only while they do it.
        """
        return self._asked(self._workers, method, arguments, is_lent)

    def ask_first(self, method: str, *arguments: Any) -> Any:
        """Have the first learner do something; gives its answer."""
        return self._asked(self._workers[:1], method, arguments, False)[0]

    def _asked(
        self, workers: Sequence[Any], method: str, arguments: Any, is_lent: bool
    ) -> list[Any]:
        if not self._end.alive:
            raise LearnerError(
                "the learners have ended", found=self._why, hint=f"build anew; {_RESUME}"
            )
        is_call = method == "call"
        try:
            self._send(workers, (method, arguments), is_lent)
            answers, failed = self._answers(workers, is_call)
        except BaseException as error:
            self.stop(f"{type(error).__name__}: {error}")
            raise
        if failed is not None:
            if not is_call:
                self.stop(failed[1]["summary"])
            _raise(*failed)
        return answers

    def _answers(
        self, workers: Sequence[Any], is_patient: bool
    ) -> tuple[list[Any], tuple[Any, Any] | None]:
        """Wait for all, or for the first that fails; those that only miss it come last."""
        answers: dict[int, Any] = {}
        failed: tuple[Any, Any] | None = None
        missed: tuple[Any, Any] | None = None
        waiting = [*workers]
        deadline = float("inf")
        while waiting and time.monotonic() < deadline:
            for worker in self._ready(waiting, 0.2 if missed else None):
                waiting.remove(worker)
                is_fine, answer = self._answer(worker)
                if is_fine:
                    answers[worker.index] = answer
                elif not answer["is_of_another"]:
                    if failed is None or worker.index < failed[0].index:
                        failed = (worker, answer)
                    if not is_patient:
                        return [], failed
                elif missed is None:
                    missed, deadline = (worker, answer), time.monotonic() + _GRACE
        failed = failed or missed
        return [] if failed else [answers[worker.index] for worker in workers], failed

    def _answer(self, worker: Any) -> tuple[bool, Any]:
        """What a worker has answered.

        Raises:
            LostLearnerError: It has died.
        """
        answer: tuple[bool, Any] | None = worker.received()
        if answer is None:
            raise LostLearnerError(
                f"{worker.name} of {len(self._workers)} has ended",
                found=worker.ending(),
                hint=_RESUME,
                learner=worker.index,
            )
        return answer

    def stop(self, why: str = "they were shut down") -> None:
        """End all processes."""
        if self._end.alive:
            self._why = why
            self._end()


class LearnerProcesses(Learners):
    """Learners in processes on this machine."""

    @override
    def _ending(self) -> tuple[Any, ...]:
        self._folder = tempfile.mkdtemp(prefix="rlconnect_learners_")
        self._pages = SharedPages()
        return _end, self._workers, self._folder, os.getpid()

    @override
    def _begin(self, count: int) -> str:
        self._workers.extend(_Worker(index, self._pages.file) for index in range(count))
        return f"file://{self._folder}/meeting"

    @override
    def _send(self, workers: Sequence[_Worker], thing: Any, is_lent: bool) -> None:
        message = self._pages.packed(thing, is_lent=is_lent)
        for worker in workers:
            with suppress(BrokenPipeError, ConnectionResetError):  # That it is gone, _answer tells.
                worker.pipe.send_bytes(message)

    @override
    def _ready(self, workers: Sequence[_Worker], timeout: float | None) -> Sequence[_Worker]:
        ready = wait([worker.pipe for worker in workers], timeout)
        return [worker for worker in workers if worker.pipe in ready]


class _Worker:
    """One learner's process, and the way to it."""

    def __init__(self, index: int, pages: int) -> None:
        self.index = index
        self.pipe, theirs = Pipe()
        self._incoming = SharedPages()
        files = (theirs.fileno(), pages, self._incoming.file)
        arguments = ", ".join(map(str, (*files, index, os.getpid())))
        # A fresh interpreter that finds the same modules; it does not run the user's script again.
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from {_MAIN} import main; main({arguments})"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], pass_fds=files, stdin=subprocess.DEVNULL
        )
        theirs.close()

    @property
    def name(self) -> str:
        return f"learner {self.index} (process {self.process.pid})"

    def received(self) -> Any:
        """What it has answered; None where it has ended."""
        try:
            return self._incoming.unpacked(self.pipe.recv_bytes())
        except (EOFError, OSError):
            return None

    def ending(self) -> str:
        """How it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_GRACE)
        code = self.process.returncode
        if code is None or code >= 0:
            return f"exit code {code}"
        return f"{signal.Signals(-code).name}; where nobody has killed it, memory may have run out"


def _raise(worker: Any, answer: dict[str, Any]) -> None:
    """Raise what a learner raised, as it is, and say whose it is."""
    error_told = LearnerError(f"{worker.name} failed", found=answer["text"], learner=worker.index)
    if answer["error"] is None:
        raise LearnerError(
            f"{worker.name} raised {answer['summary']}", learner=worker.index
        ) from error_told
    error = pickle.loads(answer["error"])
    if isinstance(error, RlconnectError):
        error.message = f"{worker.name}: {error.message}"
        error.facts["learner"] = worker.index
    elif hasattr(error, "add_note"):  # Python 3.11
        error.add_note(f"raised in {worker.name}")
    raise error from error_told


def _end(workers: list[_Worker], folder: str, owner: int) -> None:
    if os.getpid() != owner:
        return  # A fork of the process that has begun them.
    for worker in workers:
        worker.process.kill()
    for worker in workers:
        worker.process.wait()
        worker.pipe.close()
    shutil.rmtree(folder, ignore_errors=True)
