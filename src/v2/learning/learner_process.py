"""The process of a learner: it does what it is asked, and ends with the process that began it."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any, Final

_EVERY: Final = 0.5
"""Seconds between two looks at whether the other process is there."""


def main(pipe: int, theirs: int, own: int, index: int, parent: int) -> None:
    """Answer until nobody asks any more.

    Args:
        pipe: The descriptor of the pipe to the process that began this one.
        theirs: That of the memory of its messages.
        own: That of the memory of ours.
        index: Which learner this is.
        parent: Its id.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The other process decides what ends.
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    loopback = {name for _, name in socket.if_nameindex()} & {"lo", "lo0"}
    if loopback:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback.pop())
    from .learner_worker import LearnerWorker
    from .messages import SharedPages

    channel = Connection(pipe)
    incoming, outgoing = SharedPages(theirs), SharedPages(own)
    worker = LearnerWorker(index)
    doing: dict[str, Any] = {"start": worker.start, "improve": worker.improve, "call": worker.call}
    while True:
        try:
            message = channel.recv_bytes()
        except (EOFError, OSError):
            break
        try:
            method, arguments = incoming.unpacked(message)
            answer: tuple[bool, Any] = (True, doing[method](*arguments))
            packed = outgoing.packed(answer)
        except Exception as error:
            packed = outgoing.packed((False, described(error)))
        try:
            channel.send_bytes(packed)
        except OSError:
            break
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # Nobody waits for other learners to say goodbye.


def described(error: Exception) -> dict[str, Any]:
    """An error as what another process can tell of it, however it is made."""
    import cloudpickle  # type: ignore[import-untyped]  # it has no types

    from .peers import PeerLostError

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        pickled: bytes | None = cloudpickle.dumps(error)
        pickle.loads(pickled or b"")
    except Exception:  # It does not pickle, or does not come back.
        pickled = None
    return {
        "error": pickled,
        "summary": f"{type(error).__name__}: {error}",
        "text": text,
        "is_of_another": isinstance(error, PeerLostError),
    }


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY)
    os._exit(1)
