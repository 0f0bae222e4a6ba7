"""Env runners as actors of Ray Core: sampling beside, replacing those that are lost.

What an actor counts comes with the episodes it gives, in one answer. An actor that dies before it
has answered takes both with it, so nothing is counted twice, and nothing that was not returned.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import gymnasium

from ...core.data.damage import remote_frames
from ...core.errors import RlconnectError
from ...core.importing.user_files import load_user_files, user_files
from ..env_runners.base import Sample, take_sample
from ..envs.failures import told
from ..envs.registry import creators_for, register_env
from .remote_errors import attempted, received
from .running_ray import running_ray

_log: Final = logging.getLogger(__name__)

_APART: Final = 10_007
"""How far the seeds of runners that follow each other lie apart."""


class LostRunnersError(RlconnectError, RuntimeError):
    """Env runners died, and settings do not allow to go on."""


class FailedRunnerWarning(UserWarning):
    """An env runner raised an error and was restarted."""


class RunnerActors:
    """Env runners in processes of Ray.

    They are called together, and answers are taken in the order of the runners, so what is sampled
    does not depend on which of them is faster.

    Args:
        config: The algorithm's settings.
        cls: The class of the runners.
        count: How many there are.
        on_recreated: Called with the indices of those that were replaced.

    Attributes:
        num_restarts: How often one was replaced.
        num_dropped: How many were given up.
        num_failures: How often one raised an error.
    """

    def __init__(
        self,
        config: Any,
        cls: Any,
        count: int,
        *,
        on_recreated: Callable[[list[int]], Any] | None = None,
    ) -> None:
        self._ray = running_ray("env runners in processes of their own")
        self.config = config
        self._cls = cls
        self._count = count
        self._on_recreated = on_recreated
        self._state: dict[str, Any] = {}
        self.num_restarts = 0
        self.num_dropped = 0
        self.num_failures = 0
        self._in_a_row: dict[int, int] = {}
        self._actor_class = self._ray.remote(_RunnerActor)
        self._actors: dict[int, Any] = {index: self._make(index) for index in range(1, count + 1)}
        self._expect_started(self._actors)

    def __len__(self) -> int:
        return len(self._actors)

    @property
    def indices(self) -> list[int]:
        """The indices of those that are there, from 1 on."""
        return [*self._actors]

    @property
    def num_healthy(self) -> int:
        """How many are alive, as far as is known."""
        return len(self._actors)

    def _make(self, index: int, restart: int = 0) -> Any:
        settings = self.config
        options = {
            "num_cpus": settings.num_cpus_per_env_runner,
            "num_gpus": settings.num_gpus_per_env_runner,
            "resources": settings.custom_resources_per_env_runner or None,
            "max_restarts": 0,  # A restarted one would begin with other weights and filters.
        }
        config = settings.copy(copy_frozen=False)
        if config.seed is not None:  # One that takes another's place plays other episodes.
            config.seed += _APART * restart
        actor = self._actor_class.options(**options).remote()
        names = str(config.env) if isinstance(config.env, str) else ""
        specs = {id_: spec for id_, spec in gymnasium.registry.items() if id_ in names}
        shipped = self._ray.cloudpickle.dumps((creators_for(names), specs, self._cls, config))
        actor.start.remote(list(sys.path), user_files(), shipped, index, self._count)
        return actor

    def _expect_started(self, actors: Mapping[int, Any], timeout_s: float | None = None) -> None:
        """Wait until env runners have made their environments.

        Raises:
            LostRunnersError: The process of one ended.
        """
        for index, actor in actors.items():
            try:
                received(self._ray.get(actor.started.remote(), timeout=timeout_s or None))
            except self._ray.exceptions.RayActorError as error:
                raise LostRunnersError(
                    f"env runner {index} has not started",
                    found=type(error).__name__,
                    hint="the log folder of Ray has the output of its process.",
                ) from error

    # Calls

    def sample(
        self, size: Mapping[str, Any], timeout_s: float | None, *, has_state: bool
    ) -> list[Sample]:
        """Let all sample once; those that are late or lost are not among the answers.

        Args:
            size: As of a runner's `sample`.
            timeout_s: How long to wait; None waits for all.
            has_state: Whether connector states come along.
        """
        arguments = {"has_state": has_state, **size}
        calls = dict.fromkeys(self._actors, (take_sample, arguments))
        samples = self._together("call", calls, timeout_s)
        self._in_a_row = {n: times for n, times in self._in_a_row.items() if n not in samples}
        return [*samples.values()]

    def foreach(
        self,
        func: Callable[..., Any],
        kwargs: Mapping[str, Any],
        timeout_s: float | None = None,
    ) -> list[Any]:
        """Call a function with each runner, where it is."""
        calls = dict.fromkeys(self._actors, (func, dict(kwargs)))
        return [*self._together("call", calls, timeout_s).values()]

    def foreach_with(self, func: Callable[[Any, Any], Any], arguments: Sequence[Any]) -> None:
        """Call a function with each runner and an argument of its own."""
        each = zip(self._actors, arguments, strict=True)
        self._together("call_with", {index: (func, argument) for index, argument in each}, None)

    def first(self, func: Callable[..., Any]) -> Any:
        """Call a function with the first runner."""
        return received(self._ray.get(next(iter(self._actors.values())).call.remote(func, {})))

    def set_state(self, state: Mapping[str, Any], is_forced: bool = False) -> None:
        """Give all runners a state; those made later get it, too."""
        self._state = {**self._state, **_with_all_modules(self._state, state)}
        shared = self._ray.put(dict(state))
        calls = dict.fromkeys(self._actors, (shared, is_forced))
        self._together("set_state", calls, None)

    def _together(
        self, method: str, calls: Mapping[int, tuple[Any, ...]], timeout_s: float | None
    ) -> dict[int, Any]:
        """Call a method of all, and give the answers by index, in the order of the runners."""
        ray = self._ray
        waiting = {
            index: getattr(self._actors[index], method).remote(*arguments)
            for index, arguments in calls.items()
        }
        if not waiting:
            return {}
        ready, _ = ray.wait(
            list(waiting.values()), num_returns=len(waiting), timeout=timeout_s or None
        )
        is_ready = set(ready)
        answers: dict[int, Any] = {}
        lost: dict[int, Exception | None] = {}
        for index, reference in waiting.items():
            if reference not in is_ready:
                _log.warning("Env runner %d did not answer in %s seconds.", index, timeout_s)
                lost[index] = None  # Its episodes go on elsewhere in time than everybody else's.
                continue
            try:
                answers[index] = received(ray.get(reference))
            except ray.exceptions.RayActorError as error:
                _log.warning("Env runner %d is lost: %s", index, error)
                lost[index] = None
            except Exception as error:
                lost[index] = error
        if lost:
            self._replace(lost)
        return answers

    @property
    def _is_ignoring(self) -> bool:
        return bool(self.config.ignore_env_runner_failures)

    def _replace(self, lost: Mapping[int, Exception | None]) -> None:
        """Make lost runners anew, or go on without them, as the settings say.

        Args:
            lost: The error of each by index; None if its process ended or it was late.
        """
        for index in lost:
            self._ray.kill(self._actors.pop(index))
        room = self.config.max_num_env_runner_restarts - self.num_restarts
        again = [*lost][: max(room, 0)] if self.config.restart_failed_env_runners else []
        not_restarted = [index for index in lost if index not in again]
        for index, error in lost.items():
            if error is not None:
                self._count_failure(index, error, is_last=index in not_restarted)
        if not_restarted and not self._is_ignoring:
            raise LostRunnersError(
                f"env runners {not_restarted} are lost",
                found=f"{self.num_restarts} restarts so far",
                hint="see fault_tolerance(restart_failed_env_runners=..., "
                "max_num_env_runner_restarts=..., ignore_env_runner_failures=...).",
            )
        self.num_dropped += len(not_restarted)
        counted = enumerate(again, self.num_restarts + 1)
        restarted = {index: self._make(index, restart) for restart, index in counted}
        patience = self.config.env_runner_restore_timeout_s
        self._expect_started(restarted, patience)
        for actor in restarted.values():
            received(
                self._ray.get(actor.set_state.remote(self._state, True), timeout=patience or None)
            )
        self.num_restarts += len(restarted)
        self._actors = dict(sorted({**self._actors, **restarted}.items()))
        if restarted and self._on_recreated is not None:
            self._on_recreated(list(restarted))
        if not self._actors:
            raise LostRunnersError("all env runners are lost", expected="at least one")

    def _count_failure(self, index: int, error: Exception, *, is_last: bool) -> None:
        """Count an error of a runner; raise it if the settings allow no more of them."""
        self.num_failures += 1
        times = self._in_a_row[index] = self._in_a_row.get(index, 0) + 1
        most = self.config.num_consecutive_env_runner_failures_tolerance
        if times > most or (is_last and not self._is_ignoring):
            raise error
        place = (remote_frames(error) or remote_frames(error.__cause__ or error))[-2:-1]
        what = error.summary if isinstance(error, RlconnectError) else told(error)
        warnings.warn(
            f"env runner {index} raised an error ({times} in a row, at most {most} allowed): "
            f"{what} {' '.join(place).strip()}".strip(),
            FailedRunnerWarning,
            stacklevel=2,
        )

    def stop(self) -> None:
        """End all processes."""
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors = {}


class _RunnerActor:
    """A runner in a process of its own; its errors are returned, see `attempted`."""

    def start(
        self,
        paths: Sequence[str],
        files: Mapping[str, str],
        shipped: bytes,
        index: int,
        count: int,
    ) -> None:
        """Make the runner, with the modules and environments that the first process knows.

        Args:
            paths: Folders to import from.
            files: The user's files, by the name of their module.
            shipped: Environments, the class of the runner and its settings, pickled.
            index: The index of the runner.
            count: How many there are.
        """
        self._runner: Any = None

        def made() -> None:
            import torch
            from ray import cloudpickle

            torch.set_num_threads(1)  # Several of them share a machine.
            sys.path += [path for path in paths if path not in sys.path]
            load_user_files(files)
            creators, specs, cls, config = cloudpickle.loads(shipped)
            for name, creator in creators.items():
                register_env(name, creator)
            for id_, spec in specs.items():
                gymnasium.registry.setdefault(id_, spec)
            self._runner = cls(config=config, worker_index=index, num_workers=count)

        self._started = attempted(made)

    def started(self) -> Any:
        """Return the error of `start`, or None."""
        return self._started

    def call(self, func: Callable[..., Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function with the runner."""
        return attempted(lambda: func(self._runner, **kwargs))

    def call_with(self, func: Callable[[Any, Any], Any], argument: Any) -> Any:
        """Call a function with the runner and one argument."""
        return attempted(lambda: func(self._runner, argument))

    def set_state(self, state: Mapping[str, Any], is_forced: bool) -> Any:
        """Give the runner a state."""

        def taken() -> None:
            if is_forced:
                self._runner.take_any_weights()
            self._runner.set_state(state)

        return attempted(taken)


def _with_all_modules(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """A new state; weights of modules that it leaves out stay."""
    merged = dict(new)
    if "rl_module" in new and "rl_module" in old:
        merged["rl_module"] = {**old["rl_module"], **new["rl_module"]}
    return merged
