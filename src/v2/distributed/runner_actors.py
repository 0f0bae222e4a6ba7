"""Env runners as actors of Ray Core: sampling beside, replacing those that are lost.

What an actor counts comes with the episodes it gives, in one answer. An actor that dies before it
has answered takes both with it, so nothing is counted twice, and nothing that was not returned.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...core.errors import RlconnectError
from ..env_runners.base import Sample, take_sample
from .running_ray import running_ray

_log: Final = logging.getLogger(__name__)

_APART: Final = 10_007
"""How far the seeds of runners that follow each other lie apart."""


class LostRunnersError(RlconnectError, RuntimeError):
    """Env runners died, and settings do not allow to go on."""


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
        self._actor_class = self._ray.remote(_RunnerActor)
        self._actors: dict[int, Any] = {}
        for index in range(1, count + 1):
            self._actors[index] = self._make(index)
        self._expect_started()

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
        return self._actor_class.options(**options).remote(self._cls, config, index, self._count)

    def _expect_started(self) -> None:
        """Wait until all have made their environments; an error there is the user's to see."""
        self._ray.get([actor.ping.remote() for actor in self._actors.values()])

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
        return self._together(
            "call", dict.fromkeys(self._actors, (take_sample, arguments)), timeout_s
        )

    def foreach(
        self,
        func: Callable[..., Any],
        kwargs: Mapping[str, Any],
        timeout_s: float | None = None,
    ) -> list[Any]:
        """Call a function with each runner, where it is."""
        calls = dict.fromkeys(self._actors, (func, dict(kwargs)))
        return self._together("call", calls, timeout_s)

    def foreach_with(self, func: Callable[[Any, Any], Any], arguments: Sequence[Any]) -> None:
        """Call a function with each runner and an argument of its own."""
        each = zip(self._actors, arguments, strict=True)
        self._together("call_with", {index: (func, argument) for index, argument in each}, None)

    def first(self, func: Callable[..., Any]) -> Any:
        """Call a function with the first runner."""
        return self._ray.get(next(iter(self._actors.values())).call.remote(func, {}))

    def set_state(self, state: Mapping[str, Any], is_forced: bool = False) -> None:
        """Give all runners a state; those made later get it, too."""
        self._state = {**self._state, **_with_all_modules(self._state, state)}
        shared = self._ray.put(dict(state))
        calls = dict.fromkeys(self._actors, (shared, is_forced))
        self._together("set_state", calls, None)

    def _together(
        self, method: str, calls: Mapping[int, tuple[Any, ...]], timeout_s: float | None
    ) -> list[Any]:
        """Call a method of all, and give the answers in the order of the runners."""
        ray = self._ray
        waiting = {
            index: getattr(self._actors[index], method).remote(*arguments)
            for index, arguments in calls.items()
        }
        if not waiting:
            return []
        ready, _ = ray.wait(
            list(waiting.values()), num_returns=len(waiting), timeout=timeout_s or None
        )
        is_ready = set(ready)
        answers, lost, late = [], [], []
        for index, reference in waiting.items():
            if reference not in is_ready:
                late.append(index)
                continue
            try:
                answers.append(ray.get(reference))
            except ray.exceptions.RayActorError as error:
                _log.warning("Env runner %d is lost: %s", index, error)
                lost.append(index)
            except ray.exceptions.RayTaskError as error:
                if not (self.config.restart_failed_env_runners or self._is_ignoring):
                    raise
                _log.warning("Env runner %d failed: %s", index, error)
                lost.append(index)
        if late:
            _log.warning("Env runners %s did not answer in %s seconds.", late, timeout_s)
            lost += late  # Their episodes go on elsewhere in time than everybody else's.
        if lost:
            self._replace(sorted(lost))
        return answers

    @property
    def _is_ignoring(self) -> bool:
        return bool(self.config.ignore_env_runner_failures)

    def _replace(self, lost: list[int]) -> None:
        """Make lost runners anew, or go on without them, as the settings say."""
        for index in lost:
            self._ray.kill(self._actors.pop(index))
        room = self.config.max_num_env_runner_restarts - self.num_restarts
        again = lost[: max(room, 0)] if self.config.restart_failed_env_runners else []
        not_restarted = [index for index in lost if index not in again]
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
        for actor in restarted.values():
            self._ray.get(
                actor.set_state.remote(self._state, True),
                timeout=self.config.env_runner_restore_timeout_s or None,
            )
        self.num_restarts += len(restarted)
        self._actors = dict(sorted({**self._actors, **restarted}.items()))
        if restarted and self._on_recreated is not None:
            self._on_recreated(list(restarted))
        if not self._actors:
            raise LostRunnersError("all env runners are lost", expected="at least one")

    def stop(self) -> None:
        """End all processes."""
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors = {}


class _RunnerActor:
    """A runner in a process of its own."""

    def __init__(self, cls: Any, config: Any, index: int, count: int) -> None:
        import torch

        torch.set_num_threads(1)  # Several of them share a machine.
        self._runner = cls(config=config, worker_index=index, num_workers=count)

    def ping(self) -> str:
        """Answer, once the runner is made."""
        return "pong"

    def call(self, func: Callable[..., Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function with the runner."""
        return func(self._runner, **kwargs)

    def call_with(self, func: Callable[[Any, Any], Any], argument: Any) -> Any:
        """Call a function with the runner and one argument."""
        return func(self._runner, argument)

    def set_state(self, state: Mapping[str, Any], is_forced: bool) -> None:
        """Give the runner a state."""
        if is_forced:
            self._runner.take_any_weights()
        self._runner.set_state(state)


def _with_all_modules(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """A new state; weights of modules that it leaves out stay."""
    merged = dict(new)
    if "rl_module" in new and "rl_module" in old:
        merged["rl_module"] = {**old["rl_module"], **new["rl_module"]}
    return merged
