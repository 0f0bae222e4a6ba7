"""The process of a learner: it does what it is asked, and ends with the process that began it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from functools import partial
from multiprocessing.connection import Connection
from typing import Final

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
    from .learner_worker import LearnerWorker
    from .messages import SharedPages

    channel = Connection(pipe)
    incoming, outgoing = SharedPages(theirs), SharedPages(own)
    worker = LearnerWorker(index)
    while True:
        try:
            message = channel.recv_bytes()
        except (EOFError, OSError):
            break
        packed = worker.answer(partial(incoming.unpacked, message), outgoing.packed)
        try:
            channel.send_bytes(packed)
        except OSError:
            break
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # Nobody waits for other learners to say goodbye.


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY)
    os._exit(1)
