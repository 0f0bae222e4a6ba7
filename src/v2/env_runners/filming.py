"""A film of an evaluation's first episode."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from typing_extensions import override

from ...core.errors import PieceError
from ...core.video import MODE, filmed, frame_of, frames_a_second
from ..config.callbacks import RLlibCallback


class EpisodeFilm(RLlibCallback):
    """Films an episode of the first environment whenever there is no film yet.

    Whoever takes the file away asks for the next one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stack = ExitStack()
        self._episode: str | None = None
        self._add: Callable[[Any], None] = _nowhere

    @override
    def on_environment_created(self, *, env_runner: Any, env: Any, **kwargs: Any) -> None:
        if env_runner.worker_index <= 1:
            first = _first(env)
            mode = getattr(first, "render_mode", None)
            if mode != MODE and (mode is not None or getattr(first, "spec", None) is not None):
                frame_of(first)  # tells what it has to be made with

    @override
    def on_episode_start(self, *, episode: Any, env_runner: Any = None, **kwargs: Any) -> None:
        if kwargs["env_index"] or env_runner.worker_index > 1 or self._path.exists():
            return
        self._stack.close()
        first = _first(kwargs["env"])
        self._add = self._stack.enter_context(filmed(self._path, frames_a_second(first)))
        self._episode = episode.id_
        self._add(frame_of(first))

    @override
    def on_episode_step(self, *, episode: Any, env: Any = None, **kwargs: Any) -> None:
        # After its last step the environment shows the next episode's beginning.
        if episode.id_ == self._episode and not episode.is_done:
            self._add(frame_of(_first(env)))

    @override
    def on_episode_end(self, *, episode: Any, **kwargs: Any) -> None:
        if episode.id_ == self._episode:
            self._episode = None
            self._stack.close()


def _nowhere(frame: Any) -> None:
    """No film is made yet."""


def _first(env: Any) -> Any:
    """The first environment of a runner's.

    Raises:
        PieceError: It is in a process of its own, or steps together with others.
    """
    sub_envs = getattr(env, "envs", None)
    if not sub_envs:
        raise PieceError(
            "an evaluation cannot be filmed",
            expected="environments that step one by one in the process of their runner",
            found=type(env).__name__,
            hint="evaluation_config={'gym_env_vectorize_mode': 'sync'}.",
        )
    return sub_envs[0]
