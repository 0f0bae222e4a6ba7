"""What one `train()` reports beside metrics: times, where and when, whether it is enough."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from time import perf_counter, time
from typing import Any, Final

from ...core.columns import ALL_MODULES
from ...core.data.checked import count, number
from ...core.data.damage import at
from ..metrics import names

ResultDict = dict[str, Any]


@dataclass
class Progress:
    """How far an algorithm is.

    Attributes:
        iteration: How many calls of `train()` there were, those before a restart included.
        seconds: How long they took.
        iterations_since_restore: Of those, how many in this process.
        seconds_since_restore: How long these took.
        evaluation_seconds: How long evaluations took.
    """

    iteration: int = 0
    seconds: float = 0.0
    iterations_since_restore: int = 0
    seconds_since_restore: float = 0.0
    _began: float = field(default=0.0, repr=False)

    def begin(self) -> None:
        """Begin an iteration."""
        self._began = perf_counter()

    def end(self) -> ResultDict:
        """End an iteration; gives what the result says about it."""
        took = perf_counter() - self._began
        self.iteration += 1
        self.seconds += took
        self.iterations_since_restore += 1
        self.seconds_since_restore += took
        now = time()
        return {
            "done": False,
            "training_iteration": self.iteration,
            "trial_id": "default",
            "date": datetime.fromtimestamp(now).strftime("%Y-%m-%d_%H-%M-%S"),
            "timestamp": int(now),
            "time_this_iter_s": took,
            "time_total_s": self.seconds,
            **whereabouts(),
            "time_since_restore": self.seconds_since_restore,
            "iterations_since_restore": self.iterations_since_restore,
        }

    def continue_from(self, state: Mapping[str, Any]) -> None:
        """Go on where a checkpoint was made; a part of a state says nothing about that."""
        if "training_iteration" not in state:
            return
        with at("training_iteration"):
            self.iteration = count(state["training_iteration"])
        with at("time_total_s"):
            self.seconds = number(state.get("time_total_s", 0.0))
        self.iterations_since_restore = 0
        self.seconds_since_restore = 0.0


class Rates:
    """Steps per second, since the last result and since this process took up the run."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, ...], float] = {}
        self._last: dict[tuple[str, ...], float] = {}

    def add_to(self, result: ResultDict) -> None:
        """Put them beside the lifetime sums they are of.

        Args:
            result: With times, and the sums it has.
        """
        for path in _with_rates(result.get(names.LEARNER_RESULTS, {})):
            part = result
            for name in path[:-1]:
                part = part.get(name, {})
            if path[-1] not in part:
                continue
            total = float(part[path[-1]])
            first = self._first.get(path, 0.0)
            new = total - self._last.get(path, first)
            self._last[path] = total
            rate = new / max(result["time_this_iter_s"], 1e-9)
            if ALL_MODULES in path:
                part[path[-1].replace("_lifetime", "_throughput")] = rate
            part[f"{path[-1]}_throughput"] = {
                "throughput_since_last_reduce": rate,
                "throughput_since_last_restore": (total - first)
                / max(result["time_since_restore"], 1e-9),
            }

    def continue_from(self, metrics: Any) -> None:
        """Go on where a checkpoint was made: what was there before does not count.

        Args:
            metrics: The algorithm's, as the checkpoint has them.
        """
        paths = _with_rates(metrics.peek(names.LEARNER_RESULTS, default={}))
        self._first = {path: float(metrics.peek(path, default=0.0)) for path in paths}
        self._last = {}


_WITH_RATES: Final = (
    (names.ENV_RUNNER_RESULTS, names.NUM_ENV_STEPS_SAMPLED_LIFETIME),
    (names.LEARNER_RESULTS, ALL_MODULES, names.NUM_ENV_STEPS_TRAINED_LIFETIME),
    (names.LEARNER_RESULTS, ALL_MODULES, names.NUM_MODULE_STEPS_TRAINED_LIFETIME),
)


def _with_rates(modules: Iterable[str]) -> list[tuple[str, ...]]:
    """The lifetime sums that have rates, those of each module among them."""
    trained = names.NUM_MODULE_STEPS_TRAINED_LIFETIME
    each = [(names.LEARNER_RESULTS, name, trained) for name in modules if name != ALL_MODULES]
    return [*_WITH_RATES, *each]


@lru_cache(maxsize=1)
def whereabouts() -> ResultDict:
    """This process and its machine, as results name them."""
    hostname = socket.gethostname()
    try:
        address = socket.gethostbyname(hostname)
    except OSError:  # A machine without a name of its own.
        address = "127.0.0.1"
    return {"pid": os.getpid(), "hostname": hostname, "node_ip": address}


@dataclass(frozen=True)
class Enough:
    """When one iteration has done enough.

    Attributes:
        seconds: It has taken so long.
        sampled: So many steps were sampled.
        trained: So many steps were trained.
    """

    seconds: float
    sampled: int
    trained: int

    @classmethod
    def of(cls, config: Any) -> Enough:
        """What a config asks for."""
        return cls(
            config.min_time_s_per_iteration or 0.0,
            config.min_sample_timesteps_per_iteration or 0,
            config.min_train_timesteps_per_iteration or 0,
        )

    def repeat(
        self, step: Callable[[], None], sampled: Callable[[], int], trained: Callable[[], int]
    ) -> int:
        """Do steps until they are enough; gives how many.

        Args:
            step: Does one.
            sampled: Gives how many steps were sampled, ever.
            trained: Gives how many steps were trained, ever; asked only where it counts.
        """
        began, sampled_before = perf_counter(), sampled()
        trained_before = trained() if self.trained else 0
        steps = 0
        while True:
            step()
            steps += 1
            if (
                perf_counter() - began >= self.seconds
                and sampled() - sampled_before >= self.sampled
                and (not self.trained or trained() - trained_before >= self.trained)
            ):
                return steps
