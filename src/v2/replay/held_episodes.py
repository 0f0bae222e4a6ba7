"""Episodes in columns: how they come, grow and go."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from ...core.columns import Columns
from ...core.data.checked import count
from ...core.data.damage import at
from ...core.errors import ConfigError, EpisodeError
from ...core.types import Array, Nest
from ..episodes.episode_columns import HAS, OUTPUT, EpisodeColumns
from ..episodes.single_agent import SingleAgentEpisode
from .buffer_counts import BufferCounts
from .step_rows import StepRows

SLOT, PLACE = "slot", "place"
"""Columns of the number of a step's episode in the buffer, and of its place in the episode."""


@dataclass(eq=False)
class HeldEpisode:
    """An episode in a buffer.

    Attributes:
        id_: Its id.
        slot: Its number in the buffer.
        rows: Of its steps, and at the end that of its last observation.
        first: Which of its steps the first row is; more than 0 once its beginning is gone.
        t_started: At which step of the real episode step 0 is.
        settings: Its spaces, and ids of agent and module.
        is_done: Whether it has ended.
    """

    id_: str
    slot: int
    t_started: int
    settings: dict[str, Any]
    first: int = 0
    is_done: bool = False
    rows: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return max(len(self.rows) - 1, 0)

    def row_numbers(self, start: int = 0, stop: int | None = None) -> Array:
        """Some of its rows, as places in columns."""
        return np.array(self.rows[start:stop], np.int64)


class HeldEpisodes:
    """Episodes whose steps lie in columns, and which go, the oldest first, when there are too many.

    Stretches of one episode that come one after the other become one episode. Whole episodes go
    once there are more steps than the capacity. The last one stays even if it has more; where it
    goes on, its oldest steps go.

    Args:
        capacity: How many steps there may be.
        window: Over how many changes means are taken.
    """

    def __init__(self, capacity: int, window: int = 100) -> None:
        if capacity < 1:
            raise ConfigError("a replay buffer's capacity", expected="at least 1 step")
        self.capacity = capacity
        self._rows = StepRows(capacity + capacity // 16 + 16)
        self._held: dict[str, HeldEpisode] = {}
        self._by_slot: dict[int, HeldEpisode] = {}
        self._free_slots: list[int] = []
        self._ends = np.zeros(64, np.int64)  # by slot: the place behind the last step
        self._steps = 0
        self._added = self._evicted = 0
        self._counts = BufferCounts(window)

    # What it holds

    def __len__(self) -> int:
        """How many steps it holds."""
        return self._steps

    @property
    def episodes(self) -> list[SingleAgentEpisode]:
        """What it holds as episodes, the oldest first; they are made anew for each call."""
        return [self._episode_of(episode, 0, len(episode)) for episode in self._held.values()]

    @property
    def bytes_per_timestep(self) -> int:
        """What one step takes in memory; 0 as long as there was none.

        An episode takes one row more than it has steps, and room for `capacity` steps is there
        from the first one on. Infos are objects and not counted.
        """
        return self._rows.bytes_per_row + 8 if self._rows.columns else 0

    def get_num_episodes(self, module_id: str | None = None) -> int:
        """Give how many episodes it holds."""
        return len(self._held)

    def get_num_episodes_evicted(self, module_id: str | None = None) -> int:
        """Give how many episodes went for others."""
        return self._evicted

    def get_num_timesteps(self, module_id: str | None = None) -> int:
        """Give how many steps it holds."""
        return self._steps

    def get_added_timesteps(self, module_id: str | None = None) -> int:
        """Give how many steps were ever added."""
        return self._added

    # Coming and going

    def add(self, episodes: SingleAgentEpisode | Iterable[SingleAgentEpisode]) -> None:
        """Take episodes in, or the next stretches of episodes that are there; copies their data.

        Args:
            episodes: One or several.

        Raises:
            EpisodeError: A stretch does not go on where its episode stands, or steps are of
                another kind than those that are there.
        """
        listed = [episodes] if isinstance(episodes, SingleAgentEpisode) else list(episodes)
        self.add_columns(EpisodeColumns.of([each for each in listed if len(each)]))

    def drop(self, ids: Iterable[str]) -> None:
        """Let episodes go, as far as they are there."""
        for id_ in ids:
            if id_ in self._held:
                self._forget(self._held[id_])

    def add_columns(self, columns: EpisodeColumns) -> Array:
        """Do as `add` with columns of episodes; gives the rows of the steps that are new."""
        self._check_going_on(columns)
        self._rows.expect(
            {Columns.OBS: columns.observations, **columns.columns} if columns.ids else {}
        )
        already_held = {id_ for id_ in columns.ids if id_ in self._held}
        gone_episodes, gone_steps = self._evict(columns)
        lost = [place for place, id_ in enumerate(columns.ids) if id_ in gone_episodes]
        kept_columns = columns.without(lost) if lost else columns
        rows = self._store(kept_columns)
        if (
            len(self._held) == 1
            and self._steps > self.capacity
            and already_held & set(kept_columns.ids)
        ):
            self._shorten(*self._held.values())
        self._added += columns.steps
        self._evicted += len(gone_episodes)
        for what, number in (
            ("episodes_added", len(set(columns.ids) - already_held)),
            ("steps_added", columns.steps),
            ("episodes_evicted", len(gone_episodes)),
            ("steps_evicted", gone_steps),
        ):
            self._counts.log(what, number, has_lifetime=True)
        self._counts.note(("num_episodes_stored",), len(self._held))
        self._counts.note(("num_env_steps_stored",), self._steps)
        return rows

    def _check_going_on(self, columns: EpisodeColumns) -> None:
        stands: dict[str, tuple[int, bool]] = {}
        for id_, start, steps, is_done in zip(
            columns.ids, columns.started, columns.lens, columns.is_done, strict=True
        ):
            episode = self._held.get(id_)
            if id_ in stands:
                end, was_done = stands[id_]
            elif episode is not None:
                end, was_done = episode.t_started + episode.first + len(episode), episode.is_done
            else:
                end, was_done = start, False
            if start != end or was_done:
                raise EpisodeError(
                    f"episode {id_} does not go on where the replay buffer has it",
                    expected="a new id" if was_done else f"a stretch from step {end} on",
                    found=f"one from step {start} on",
                )
            stands[id_] = end + steps, is_done

    def _evict(self, columns: EpisodeColumns) -> tuple[set[str], int]:
        """Let the oldest episodes go until what is given has room; some of that may go, too."""
        over = self._steps + columns.steps - self.capacity
        dropped: set[str] = set()
        if over <= 0:
            return dropped, 0
        coming: dict[str, int] = {}
        for id_, steps in zip(columns.ids, columns.lens, strict=True):
            coming[id_] = coming.get(id_, 0) + steps
        episodes_left = len(self._held.keys() | coming.keys())
        gone_steps = 0
        for id_ in [*chain(self._held, (key for key in coming if key not in self._held))]:
            if over <= 0 or episodes_left <= 1:
                break
            episode = self._held.get(id_)
            steps = coming.get(id_, 0) + (0 if episode is None else len(episode))
            if episode is not None:
                self._forget(episode)
            dropped.add(id_)
            gone_steps += steps
            over -= steps
            episodes_left -= 1
        return dropped, gone_steps

    def _forget(self, episode: HeldEpisode) -> None:
        del self._held[episode.id_], self._by_slot[episode.slot]
        self._free_slots.append(episode.slot)
        self._steps -= len(episode)
        self._let_go(episode.row_numbers())

    def _shorten(self, episode: HeldEpisode) -> None:
        """Let the oldest steps of the only episode go."""
        over = self._steps - self.capacity
        rows = episode.row_numbers(0, over)
        del episode.rows[:over]
        episode.first += over
        self._steps -= over
        self._let_go(rows)

    def _let_go(self, rows: Array) -> None:
        """Free rows."""
        self._rows.free(rows)

    def _store(self, given: EpisodeColumns, free: Array | None = None) -> Array:
        """Write episodes into rows, free ones or some of them; gives those of the steps."""
        if not given.ids:
            return np.empty(0, np.int64)
        is_new = [id_ not in self._held for id_ in dict.fromkeys(given.ids)]
        fresh = self._rows.take(given.steps + sum(is_new)) if free is None else free
        seen: list[Array] = []  # rows of each stretch, that of its last observation included
        slots: list[int] = []
        places: list[Array] = []
        begin = 0
        for which, (id_, steps) in enumerate(zip(given.ids, given.lens, strict=True)):
            held = self._held.get(id_)
            if held is None:
                held = self._new_episode(id_, given.started[which], given.settings[which])
            count = steps + (not held.rows)
            own = fresh[begin : begin + count]
            begin += count
            place = held.first + len(held)
            is_going_on = bool(held.rows)
            if is_going_on:
                own = np.concatenate([[held.rows[-1]], own])
            held.rows.frombytes(own[is_going_on:].tobytes())
            held.is_done = given.is_done[which]
            self._ends[held.slot] = place + steps
            seen.append(own)
            slots.append(held.slot)
            places.append(np.arange(place, place + steps, dtype=np.int32))
        self._steps += given.steps
        rows, all_seen = _joined([own[:-1] for own in seen]), _joined(seen)
        self._rows.write(Columns.OBS, all_seen, given.observations)
        for name, column in given.columns.items():
            self._rows.write(name, rows, column)
        for name in [each for each in self._rows.columns if each.startswith(HAS)]:
            if name not in given.columns:  # What was in these rows before had it.
                self._rows.write(name, rows, np.zeros(len(rows), bool))
        self._rows.write(SLOT, rows, np.array(slots, np.int32).repeat(given.lens))
        self._rows.write(PLACE, rows, _joined(places))
        if given.infos is not None or Columns.INFOS in self._rows.columns:
            infos = np.empty(given.steps + len(seen), object)
            infos[:] = [{}] * len(infos) if given.infos is None else given.infos
            self._rows.write(Columns.INFOS, all_seen, infos)
        self._rows.after[rows] = _joined([own[1:] for own in seen])
        return rows

    def _new_episode(self, id_: str, t_started: int, settings: dict[str, Any]) -> HeldEpisode:
        slot = self._free_slots.pop() if self._free_slots else len(self._by_slot)
        if slot >= len(self._ends):
            self._ends = np.concatenate([self._ends, np.zeros_like(self._ends)])
        episode = HeldEpisode(id_, slot, t_started, settings)
        self._held[id_] = self._by_slot[slot] = episode
        return episode

    # As episodes and columns

    def _episode_of(
        self, held: HeldEpisode, start: int, stop: int, lookback: int = 0
    ) -> SingleAgentEpisode:
        """Some steps of an episode, with look-back, in arrays."""
        before = min(start, lookback)
        rows = held.row_numbers(start - before, stop + 1)
        steps = rows[:-1]
        columns: Any = self._rows.columns
        is_last = stop == len(held) and len(held) > 0
        return SingleAgentEpisode(
            held.id_,
            observations=self._rows.read(Columns.OBS, rows),
            infos=self._infos(rows) if Columns.INFOS in columns else None,
            actions=self._rows.read(Columns.ACTIONS, steps),
            rewards=self._rows.read(Columns.REWARDS, steps),
            terminated=is_last and bool(columns[Columns.TERMINATEDS][steps[-1]]),
            truncated=is_last and bool(columns[Columns.TRUNCATEDS][steps[-1]]),
            extra_model_outputs=self._outputs(steps),
            t_started=held.t_started + held.first + start,
            len_lookback_buffer=before,
            **held.settings,
        )

    def _outputs(self, rows: Array) -> dict[str, Nest]:
        """The module's outputs that all of the rows have."""
        columns: Any = self._rows.columns
        return {
            name.removeprefix(OUTPUT): self._rows.read(name, rows)
            for name in columns
            if name.startswith(OUTPUT) and columns[HAS + name][rows].all()
        }

    def _infos(self, rows: Array) -> list[Any]:
        # Rows from before the first infos hold none.
        column: Any = self._rows.columns[Columns.INFOS]
        return [each or {} for each in column[rows]]

    def get_state(self) -> dict[str, Any]:
        """Return the contents as columns, without episodes whose rewards are unusable."""
        spoilt = self._spoilt()
        slots = {each.slot for each in spoilt}
        episodes = [each for each in self._held.values() if each.slot not in slots]
        free = self._rows.get_state()
        for each in spoilt:
            free["freed"] = np.append(free["freed"], each.row_numbers().astype(np.intc))
        return {
            "columns": self._columns_of(episodes).get_state() if episodes else None,
            "places": [row for each in episodes for row in each.rows],
            "rows": free,
            "num_episodes_evicted": self._evicted,
            "num_timesteps_added": self._added,
        }

    def _spoilt(self) -> list[HeldEpisode]:
        """The episodes with a reward that is not finite; the first of them is told."""
        columns: Any = self._rows.columns
        if not self._held or np.isfinite(columns[Columns.REWARDS][: self._rows.used]).all():
            return []
        spoilt: list[HeldEpisode] = []
        for held in self._held.values():
            rewards = columns[Columns.REWARDS][held.row_numbers(0, -1)]
            bad = np.flatnonzero(~np.isfinite(rewards))
            if len(bad) and not spoilt:
                step = held.t_started + held.first + int(bad[0])
                warnings.warn(
                    "the replay buffer holds rewards that are not finite, the first "
                    f"({rewards[bad[0]]}) in step {step} of episode {held.id_}: look at the "
                    "environment's step(). Such episodes are left out of what is saved.",
                    UserWarning,
                    stacklevel=3,
                )
            spoilt += [held] if len(bad) else []
        return spoilt

    def _columns_of(self, held: Sequence[HeldEpisode]) -> EpisodeColumns:
        seen = np.concatenate([each.row_numbers() for each in held])
        rows = np.concatenate([each.row_numbers(0, -1) for each in held])
        columns = self._rows.columns
        kept = {
            name: self._rows.read(name, rows)
            for name in columns
            if name not in (Columns.OBS, Columns.INFOS, SLOT, PLACE)
        }
        return EpisodeColumns(
            ids=[each.id_ for each in held],
            started=[each.t_started + each.first for each in held],
            lens=[len(each) for each in held],
            is_done=[each.is_done for each in held],
            settings=[each.settings for each in held],
            observations=self._rows.read(Columns.OBS, seen),
            columns=kept,
            infos=self._infos(seen) if Columns.INFOS in columns else None,
        )

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave, or what that of RLlib's buffer did."""
        for episode in [*self._held.values()]:
            self._forget(episode)
        underscored = "_" if "episodes" in state else ""
        if underscored:
            with at("episodes"):
                self.add([SingleAgentEpisode.from_state(each) for each in state["episodes"]])
        else:
            with at("columns"):
                places = np.array(state["places"], np.int64)
                self._rows.set_state(state["rows"], places)
                if state["columns"] is not None:
                    self._store(EpisodeColumns.from_state(state["columns"]), places)
        self._counts.reduce()
        self._evicted = count(state[f"{underscored}num_episodes_evicted"])
        self._added = count(state[f"{underscored}num_timesteps_added"])


def _joined(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
