"""One object shared by many threads, held to what it answers one thread."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from rlconnect.core import array_namespace as xp
from rlconnect.core import nest

SWITCH_SECONDS = 1e-6
"""How often threads take turns: as often as the interpreter lets them."""
TOLERANCE = 1e-6


class Found(NamedTuple):
    """What came of sharing one object."""

    calls: int
    differences: int
    errors: list[str]


def shared(
    play: Callable[[int, Any], Sequence[Any]],
    *,
    threads: int,
    rounds: int,
    switch: float = SWITCH_SECONDS,
) -> Found:
    """Play episodes one after the other, then all at once, and count the answers that differ.

    Args:
        play: Plays episode `number` under a name of its own and gives its answers in order.
        threads: How many play at once; each plays an episode of its own.
        rounds: How often each thread plays its episode.
        switch: After how many seconds another thread may run.
    """
    truth = [list(play(number, f"alone {number}")) for number in range(threads)]
    calls, wrong = [0] * threads, [0] * threads
    errors: list[str] = []
    arrived, begin = threading.Semaphore(0), threading.Event()

    def run(number: int) -> None:
        arrived.release()
        begin.wait()
        for turn in range(rounds):
            try:
                answers = list(play(number, f"together {number} {turn}"))
            except Exception:
                errors.append(traceback.format_exc(limit=-4))
                wrong[number] += len(truth[number])
                calls[number] += len(truth[number])
                continue
            calls[number] += len(answers)
            pairs = zip(answers, truth[number], strict=True)
            wrong[number] += sum(not is_same(one, other) for one, other in pairs)

    before = sys.getswitchinterval()
    try:
        crew = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
        try:
            for thread in crew:
                thread.start()
                # One after the other: Python refuses to trace two that begin at once.
                while thread.is_alive() and not arrived.acquire(timeout=0.05):
                    pass
            sys.setswitchinterval(switch)
        finally:
            begin.set()  # A thread that cannot start leaves no other waiting.
        for thread in crew:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    return Found(sum(calls), sum(wrong), errors)


def is_same(one: Any, other: Any) -> bool:
    """Whether two answers are equal: whole numbers to the bit, others within the tolerance."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    if one is None or other is None:
        return one is other
    left, right = np.asarray(xp.to_numpy(one)), np.asarray(xp.to_numpy(other))
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if left.dtype.kind != "f":
        return bool(np.array_equal(left, right))
    return bool(np.allclose(left, right, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))


def drawn(space: Any, count: int, seed: int) -> list[Any]:
    """Observations of a space, moderate where it has no bounds."""
    space.seed(seed)
    return [nest.map_structure(_moderate, space.sample()) for _ in range(count)]


def _moderate(leaf: Any) -> Any:
    if getattr(leaf, "dtype", None) is not None and leaf.dtype.kind == "f":
        return np.clip(leaf, -3, 3).astype(leaf.dtype)
    return leaf
