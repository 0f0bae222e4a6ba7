"""Environments stepped side by side, each in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
import traceback
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Final

import gymnasium as gym
from gymnasium.vector.utils import CloudpickleWrapper, batch_space
from typing_extensions import override

from .env_memory import memory_of, remember
from .failures import EnvProcessError, as_floats
from .sub_envs import EnvMaker, Seeds, SubEnvs, Transitions
from .sync_envs import one_by_one

_GRACE: Final = 5.0
"""Seconds that a process gets to end by itself."""


class ProcessEnvs(SubEnvs, gym.vector.VectorEnv):
    """Environments in processes; one that raises, dies or takes too long is made anew.

    Args:
        makers: Make one environment each; they travel by cloudpickle.
        is_restarting: Whether an environment that fails is made anew; else it is an error.
        timeout: Seconds that a step or reset may take; None for any time.
    """

    def __init__(
        self,
        makers: Sequence[EnvMaker],
        *,
        is_restarting: bool = False,
        timeout: float | None = None,
    ) -> None:
        self.num_envs = len(makers)
        self._timeout = timeout
        self._workers = [_Worker(maker) for maker in makers]
        first = self._answer(0, None)
        for index in range(1, self.num_envs):
            self._answer(index, None)
        self.single_observation_space, self.single_action_space, self.metadata, self.spec = first
        self.metadata = {**self.metadata, "autoreset_mode": _next_step()}
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._set_up(makers, is_restarting=is_restarting)

    @override
    def reset_all(
        self, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        seeds = self._begin(seed)
        for worker, env_seed in zip(self._workers, seeds, strict=True):
            worker.send("reset", env_seed, options)
        deadline = self._deadline()
        resets = [self._finish_reset(index, deadline) for index in range(self.num_envs)]
        observations, infos = zip(*resets, strict=True)
        return self._read(observations), list(infos)

    @override
    def advance(self, actions: Any) -> Transitions:
        failed: dict[int, str] = {}
        self._failed = failed
        ended = self._ended
        chosen = one_by_one(self.action_space, actions)
        for index, (worker, action) in enumerate(zip(self._workers, chosen, strict=False)):
            if ended[index]:
                worker.send("reset", None, None)
            else:
                worker.send("step", action)
        deadline = self._deadline()
        returned: list[tuple[Any, ...]] = []
        for index in range(self.num_envs):
            if ended[index]:
                observation, info = self._finish_reset(index, deadline)
                failed.pop(index, None)  # No episode was lost.
                returned.append((observation, 0.0, False, False, info))
                continue
            try:
                returned.append(self._answer(index, deadline))
            except Exception as error:
                self._replace(index, "step()", error)
                seed = self._fresh_seed()
                observation, info = self._try_resets(index, self._reset_one, seed=seed)
                returned.append((observation, 0.0, False, False, info))
        observations, rewards, terminations, truncations, infos = zip(*returned, strict=True)
        terminateds, truncateds = [*map(bool, terminations)], [*map(bool, truncations)]
        self._ended = [a or b for a, b in zip(terminateds, truncateds, strict=True)]
        rows = self._read(observations)
        earned = as_floats(rewards)
        return Transitions(rows, earned, terminateds, truncateds, list(infos), {}, failed)

    def _finish_reset(self, index: int, deadline: float | None) -> tuple[Any, dict[str, Any]]:
        """Wait for a reset that was asked for; where it fails, reset a new environment."""
        try:
            observation, info = self._answer(index, deadline)
        except Exception as error:
            self._replace(index, "reset()", error)
            observation, info = self._try_resets(index, self._reset_one, seed=self._fresh_seed())
        return observation, info

    @override
    def _reset_one(
        self, index: int, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._workers[index].send("reset", seed, options)
        observation, info = self._answer(index, self._deadline())
        return observation, info

    def _deadline(self) -> float | None:
        return None if self._timeout is None else time.monotonic() + self._timeout

    def _answer(self, index: int, deadline: float | None) -> Any:
        return self._workers[index].answer(deadline, self._timeout)

    @override
    def _make_anew(self, index: int) -> None:
        self._workers[index].end()
        self._workers[index] = _Worker(self._makers[index])
        self._answer(index, None)

    @override
    def _memories(self) -> list[Any]:
        return self._ask(("memory",) for _ in self._workers)

    @override
    def _remember(self, memories: Sequence[Any]) -> bool:
        return all(self._ask(("remember", memory) for memory in memories))

    def _ask(self, requests: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Send a request to each worker, and wait for all answers."""
        for worker, request in zip(self._workers, requests, strict=True):
            worker.send(*request)
        return [self._answer(index, None) for index in range(self.num_envs)]

    # As gymnasium's AsyncVectorEnv has them

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or read an attribute."""
        return tuple(self._ask(("call", name, args, kwargs) for _ in self._workers))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Read an attribute of every environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every environment, to one value or to one each."""
        each = values if isinstance(values, (list, tuple)) else [values] * self.num_envs
        self._ask(("set", name, value) for value in each)

    def render(self) -> tuple[Any, ...]:
        """Render every environment."""
        return self.call("render")

    def close(self, **kwargs: Any) -> None:
        """Close the environments and end their processes."""
        if not self.closed:
            self.closed = True
            for worker in self._workers:
                with contextlib.suppress(OSError):
                    worker.send("close")
            for worker in self._workers:
                worker.process.join(_GRACE)
                worker.end()

    reset = SubEnvs.reset
    step = SubEnvs.step


class _Worker:
    """One environment's process and the way to it."""

    def __init__(self, maker: EnvMaker) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(
            target=serve, args=(theirs, CloudpickleWrapper(maker)), daemon=True
        )
        self.process.start()
        self._has_begun = False
        theirs.close()

    def send(self, *request: Any) -> None:
        """Ask for something; a process that is gone is told of by `answer`."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(request)

    def answer(self, deadline: float | None, allowed: float | None) -> Any:
        """What it answers, or what it raised."""
        seconds_left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not wait([self.pipe], seconds_left):
            raise EnvProcessError(f"no answer within {allowed} seconds")
        try:
            is_fine, result = self.pipe.recv()
        except (EOFError, ConnectionResetError) as error:
            self.process.join(_GRACE)
            raise EnvProcessError(
                "its process has ended",
                found=f"exit code {self.process.exitcode}",
                hint="" if self._has_begun else _beginning(),
            ) from error
        self._has_begun = True
        if is_fine:
            return result
        raise result

    def end(self) -> None:
        """End the process, whatever it does."""
        if self.process.is_alive():
            self.process.kill()
            self.process.join(_GRACE)
        self.pipe.close()


def _beginning() -> str:
    """What a process that never began may have met: it imports the script that began it."""
    method = multiprocessing.get_start_method()
    if method == "fork":
        return ""
    return (
        f"processes begin by {method!r} here and import the script first: put what it runs under "
        '`if __name__ == "__main__":`.'
    )


def serve(pipe: Connection, maker: Any) -> None:
    """Answer for one environment until told to close; the main loop of its process."""
    env = None
    try:
        env = maker()
        pipe.send((True, (env.observation_space, env.action_space, env.metadata, env.spec)))
        while True:
            what, *arguments = pipe.recv()
            if what == "close":
                return
            try:
                result = _done(env, what, arguments)
            except Exception as error:
                _send_error(pipe, error)
            else:
                pipe.send((True, result))
    except (EOFError, KeyboardInterrupt):
        return
    except Exception as error:
        _send_error(pipe, error)
    finally:
        if env is not None:
            env.close()


def _done(env: Any, what: str, arguments: list[Any]) -> Any:
    if what == "step":
        return env.step(arguments[0])
    if what == "reset":
        return env.reset(seed=arguments[0], options=arguments[1])
    if what == "memory":
        return memory_of(env)
    if what == "remember":
        return remember(env, arguments[0])
    name, *rest = arguments
    if what == "set":
        return setattr(env, name, rest[0])
    member = env.get_wrapper_attr(name) if hasattr(env, "get_wrapper_attr") else getattr(env, name)
    return member(*rest[0], **rest[1]) if callable(member) else member


def _send_error(pipe: Connection, error: Exception) -> None:
    try:
        pipe.send((False, error))
    except Exception:  # what it raised does not pickle
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        pipe.send((False, EnvProcessError("the environment raised", found=text)))


def _next_step() -> Any:
    mode = getattr(gym.vector, "AutoresetMode", None)
    return mode.NEXT_STEP if mode is not None else "NextStep"
