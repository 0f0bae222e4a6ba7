"""Save two checkpoints in turn, and be killed on request; run by `test_kill_9.py`.

Commands on standard input, one a line: `time` measures one save; `after SECONDS` kills a child
that saves without end; `event N` kills a child at the N-th thing Python asks of the system.
Each is answered by one line. A child dies by SIGKILL, so it can clean up nothing.
"""

import os
import signal
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
from rlconnect.core.vault.own import atomic
from rlconnect.core.vault.own.writer import save_folder


@cache
def document(label: str, size: int) -> dict[str, object]:
    """The checkpoint `A` or `B`: each part of it tells which one it is of."""
    numbers = np.random.default_rng(ord(label)).standard_normal(size).astype(np.float32)
    return {"label": label, "config": {"notes": label * 1000}, "weights": {"w": numbers}}


def save(path: Path, size: int, label: str) -> None:
    """Save one of the two."""
    save_folder(path, document(label, size), kind=label)


def save_for_ever(path: Path, size: int) -> None:
    """Save one and the other until the end."""
    while True:
        for label in "BA":
            save(path, size, label)


def save_until_event(path: Path, size: int, event: int) -> None:
    """Save once, and die at the given event."""
    seen = 0

    def count(name: str, args: tuple[object, ...]) -> None:
        nonlocal seen
        seen += 1
        if seen == event:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    save(path, size, "B")


def main(path: Path, size: int, way: str) -> None:
    """Answer commands until standard input ends."""
    if way == "rename":
        atomic.exchange = lambda first, second: False
    for label in "AB":
        document(label, size)  # Made before the forks, so that kills fall into saves.
    for line in sys.stdin:
        command, _, value = line.strip().partition(" ")
        if command == "time":
            start = time.perf_counter()
            save(path, size, "A")
            print(time.perf_counter() - start, flush=True)
            continue
        child = os.fork()
        if not child:
            try:
                if command == "after":
                    save_for_ever(path, size)
                save_until_event(path, size, int(value))
            except BaseException as error:
                print(f"failed {error!r}", flush=True)
                os._exit(1)
            os._exit(0)
        if command == "after":
            time.sleep(float(value))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else "done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
