"""What sessions live through becomes a dataset, written beside the loop."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

import numpy as np

from ..bridge.lived_episodes import LivedEpisode, episode_writer, write_what_can_be
from ..core import nest
from ..core.errors import ConfigError
from .errors import ServeError
from .sessions import Session
from .versions import Turn, Version, row_numbers

log = logging.getLogger("rlconnect.serve")

_EPISODES_A_FILE: Final = 100
_LONGEST: Final = 10_000
"""Steps after which what was lived is written, and the episode goes on in another file."""
_MOST_BYTES: Final = 256 << 20
"""Held in memory; more, and what open episodes lived so far is written."""
_SECONDS: Final = 5.0
"""After which episodes that are over are written, however few."""
_NO_NAME: Final = re.compile(r"[^\w-]+")


class Recorder:
    """Keeps the episodes of sessions, one for each row of a batch.

    What happens is only handed over in the server's loop; a thread makes episodes of it.

    Args:
        folder: Where to; what lies there stays.

    Attributes:
        episodes: How many were written.
        failed: How many could not be.

    Raises:
        ConfigError: Nothing can be written there.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"cannot record into {folder}: {error.strerror or error}", expected="a folder"
            ) from None
        self.episodes = self.failed = 0
        self._start = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{os.urandom(2).hex()}"
        self._writers: dict[str, Any] = {}
        self._open: dict[Session, dict[int, LivedEpisode]] = {}
        self._over: dict[str, list[Any]] = {}
        self._count, self._due, self._lived = 0, 0.0, 0
        self._events: SimpleQueue[Any] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def watch(self, version: Version) -> None:
        """Record what a version does from here on."""
        version.observers.append(partial(self._acted, version))
        version.enders.append(self._ended)

    def close(self) -> None:
        """Write what there is, and end."""
        self._events.put(None)
        self._thread.join()

    # In the loop.

    def keep(
        self, version: Version, episodes: Sequence[Any], size: int, done: Callable[[], object]
    ) -> None:
        """Keep episodes that a client played by itself."""
        self._events.put((version, episodes, size, done))

    def _acted(self, version: Version, turn: Turn) -> None:
        sessions = [
            None if step.session is None or step.session.is_over else step.session
            for step in turn.steps
        ]
        if any(sessions):
            self._events.put((version, turn, sessions))

    def _ended(self, session: Session) -> None:
        self._events.put(session)

    # In the thread.

    def _run(self) -> None:
        while True:
            try:
                wait = max(0.0, self._due - time.monotonic()) if self._count else None
                event = self._events.get(timeout=wait)
            except Empty:
                self._write()
                continue
            try:
                if event is None:
                    for session in [*self._open]:
                        self._leave(session)
                    self._write()
                    return
                if isinstance(event, Session):
                    self._leave(event)
                elif callable(event[-1]):
                    self._take(*event)
                else:
                    self._live(*event)
                    if self._lived > _MOST_BYTES // 2:
                        self._unload()
            except Exception:
                log.exception("what a session lived through could not be recorded")
            if self._count >= _EPISODES_A_FILE or (self._count and time.monotonic() >= self._due):
                self._write()

    def _live(self, version: Version, turn: Turn, sessions: list[Session | None]) -> None:
        at = 0
        for step, count, session in zip(turn.steps, turn.counts, sessions, strict=True):
            first, at = at, at + count
            if session is None:
                continue
            rewards = _numbers(step.reward, count)
            terminated = _numbers(step.told.get("terminated"), count)
            truncated = _numbers(step.told.get("truncated"), count)
            infos = step.told.get("info") if step.is_batch else [step.told.get("info")]
            if not isinstance(infos, list) or len(infos) != count:
                infos = [None] * count
            episodes = self._open.setdefault(session, {})
            for row in range(count):
                obs, action = _row(turn.rows, first + row), _row(turn.actions, first + row)
                info = infos[row] if isinstance(infos[row], dict) else None
                is_over = bool(terminated[row] or truncated[row])
                episode = episodes.get(row)
                if episode is not None:
                    size = episode.size
                    episode.step(obs, rewards[row], info)
                    self._lived += episode.size - size
                    if is_over:
                        del episodes[row]
                        self._keep(
                            version.name,
                            episode,
                            terminated=bool(terminated[row]),
                            truncated=bool(truncated[row]),
                        )
                    elif len(episode) >= _LONGEST:
                        self._keep(version.name, episode)
                elif not is_over:
                    episode = episodes[row] = LivedEpisode(
                        (version.player.observation_space, version.player.action_space),
                        {"policy": version.name, "version": version.number, "session": session.id},
                        obs,
                        info,
                    )
                    self._lived += episode.size
                if episode is not None and not is_over:
                    episode.act(action)

    def _take(
        self, version: Version, episodes: Sequence[Any], size: int, done: Callable[[], object]
    ) -> None:
        """Keep episodes that are whole already."""
        try:
            for episode in episodes:
                origin = {"policy": version.name, "version": version.number}
                episode.custom_data = {**episode.custom_data, **origin}
                self._put(version.name, episode)
            self._lived += size
            if self._lived > _MOST_BYTES // 2:
                self._unload()
        finally:
            done()

    def _leave(self, session: Session) -> None:
        """Keep what there is of a session that is over."""
        for episode in self._open.pop(session, {}).values():
            if len(episode):
                self._keep(session.key[0], episode)

    def _unload(self) -> None:
        """Write what is over, and if that is not enough, pieces of what goes on."""
        self._lived = 0
        going_on = [
            (session.key[0], episode)
            for session, episodes in self._open.items()
            for episode in episodes.values()
            if len(episode)
        ]
        if sum(episode.size for _, episode in going_on) > _MOST_BYTES // 2:
            for name, episode in going_on:
                self._keep(name, episode)
        self._write()

    def _keep(self, name: str, episode: LivedEpisode, **ended: bool) -> None:
        self._put(name, episode.taken(**ended))

    def _put(self, name: str, episode: Any) -> None:
        if not self._count:
            self._due = time.monotonic() + _SECONDS
        self._count += 1
        self._over.setdefault(name, []).append(episode)

    def _write(self) -> None:
        over, self._over, self._count = self._over, {}, 0
        for name, episodes in over.items():
            folder = f"{_NO_NAME.sub('-', name)}-{self._start}"
            wrong: Sequence[Exception]
            try:
                if folder not in self._writers:
                    self._writers[folder] = episode_writer(self._folder, folder)
                wrong = write_what_can_be(self._writers[folder], episodes)
                lost = len(episodes) if wrong and isinstance(wrong[0], OSError) else len(wrong)
            except Exception as error:
                wrong, lost = [error], len(episodes)
            self.failed += lost
            self.episodes += len(episodes) - lost
            if wrong:
                log.error("%d episodes of %s could not be recorded: %s", lost, name, wrong[0])


def _numbers(value: Any, count: int) -> list[float]:
    """A number for each row; 0 where the request has no usable one."""
    try:
        return row_numbers(value, count, "", 0.0)
    except ServeError:
        return [0.0] * count


def _row(rows: Any, at: int) -> Any:
    """One row of columns, apart from the others."""
    return nest.map_structure(np.array, nest.taken(rows, at))
