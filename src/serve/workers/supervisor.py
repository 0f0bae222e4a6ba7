"""The process above the workers: it starts them, starts those again that die, and ends them."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ...core.errors import ConfigError

log: Final = logging.getLogger("rlconnect.serve")

_READY: Final[int] = getattr(signal, "SIGRTMIN", 0)
"""Sent by a worker that listens; of the signals that are queued, so that none is lost."""
_LONGEST_PAUSE: Final = 10.0


@dataclass(frozen=True)
class Post:
    """A worker's place among the others.

    Args:
        index: Which one it is, from 0 on.
        count: How many there are.
        folder: Where they meet; nobody else may enter it.
        parent: A pipe's end that tells when the process above is gone.
        is_first: Whether nobody had the place before.
    """

    index: int
    count: int
    folder: str
    parent: int
    is_first: bool

    def ready(self) -> None:
        """Tell the process above that this one listens."""
        os.kill(os.getppid(), _READY)


class Supervisor:
    """Keeps a number of workers at work."""

    def __init__(self, count: int, work: Callable[[Post], None]) -> None:
        self._count, self._work = count, work
        self._indices: dict[int, int] = {}
        self._is_ready = [False] * count
        self._pauses = [0.1] * count
        self._due: dict[int, float] = {}
        self._code = 0
        self._is_ending = self._is_up = self._is_worker = False

    def run(self) -> int:
        """Watch over the workers until the last one has ended.

        Returns:
            0, or how one ended that could not begin; it has said why.
        """
        heard = {
            int(signal.SIGTERM),
            int(signal.SIGINT),
            int(signal.SIGHUP),
            int(signal.SIGCHLD),
            _READY,
        }
        before = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
        self._folder = tempfile.mkdtemp(prefix="rlconnect-")
        self._parent, self._alive = os.pipe()
        try:
            self._start(0, before)
            self._next = 1  # the others begin when the first one has: who cannot tells so once
            while self._indices or self._due:
                received = signal.sigtimedwait(heard, self._until_due())
                if received is not None:
                    self._take(received, before)
                for index in [worker for worker, at in self._due.items() if at <= time.monotonic()]:
                    del self._due[index]
                    self._start(index, before)
            return self._code
        finally:
            if not self._is_worker:  # else this is an error on its way to whoever tells it
                os.close(self._parent)
                os.close(self._alive)
                shutil.rmtree(self._folder, ignore_errors=True)
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _until_due(self) -> float:
        return max(0.0, min(self._due.values(), default=1e6) - time.monotonic())

    def _take(self, received: signal.struct_siginfo, before: set[int | signal.Signals]) -> None:
        if received.si_signo == _READY:
            self._heard_of(received.si_pid, before)
        elif received.si_signo in (signal.SIGTERM, signal.SIGINT):
            self._is_ending = True
            self._due.clear()
            self._send(signal.SIGTERM)
        elif received.si_signo == signal.SIGHUP:
            self._send(signal.SIGHUP, only=0)
        self._reap()

    def _heard_of(self, pid: int, before: set[int | signal.Signals]) -> None:
        index = self._indices.get(pid)
        if index is None:
            return
        self._is_ready[index], self._pauses[index] = True, 0.1
        while self._next < self._count:
            self._start(self._next, before)
            self._next += 1
        self._is_up = self._is_up or all(self._is_ready)

    def _start(self, index: int, before: set[int | signal.Signals]) -> None:
        if self._is_ending:
            return
        with warnings.catch_warnings():
            # Only libraries of numbers have threads here, and those know of forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid:
            self._indices[pid] = index
            return
        self._is_worker = True
        os.close(self._alive)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._work(Post(index, self._count, self._folder, self._parent, not self._is_up))
        os._exit(0)

    def _reap(self) -> None:
        """Collect workers that ended; those that were not stopped are started anew."""
        while self._indices:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            index = self._indices.pop(pid, None)
            if index is None or self._is_ending:
                continue
            code = os.waitstatus_to_exitcode(status)
            if not self._is_up:
                self._is_ending, self._code = True, code or 1
                self._send(signal.SIGTERM)
                continue
            self._is_ready[index] = False
            pause = self._pauses[index]
            self._pauses[index] = min(2 * pause, _LONGEST_PAUSE)
            log.error("worker %d ended (%d); it begins anew, its sessions are gone", index, code)
            self._due[index] = time.monotonic() + pause

    def _send(self, number: int, only: int | None = None) -> None:
        for pid, index in self._indices.items():
            if only in (None, index):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)


def shared_port(host: str, port: int) -> tuple[socket.socket, int]:
    """A port that several processes may listen on, held as long as the socket is.

    Raises:
        ConfigError: This system has no such ports, or somebody has this one.
    """
    if not (hasattr(socket, "SO_REUSEPORT") and hasattr(os, "fork") and _READY):
        raise ConfigError(
            "--workers needs Linux", hint="run several servers, and something before them."
        )
    try:
        kind, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind) as alone:  # who shares would not notice another server
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind(place)
            number = int(alone.getsockname()[1])
        listening = socket.socket(kind)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind((place[0], number, *place[2:]))
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint="name another one: --port PORT.",
        ) from None
    return listening, number
