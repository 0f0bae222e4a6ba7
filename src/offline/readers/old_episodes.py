"""Batches of the old stack as episodes: rows brought together by episode and agent.

An episode ends where its last row says so, or where a batch no longer continues it; batches cut an
episode (`batch_mode="truncate_episodes"`) and go on in the next one. So no more is held than
what the last batch left open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.data.budget import corrupt
from ...core.data.damage import at
from ...core.errors import RlconnectError
from ...core.types import Array
from ...legacy.batches.batch_columns import is_per_sequence, join_columns, map_column
from ...legacy.batches.multi_agent_batch import DEFAULT_POLICY_ID, MultiAgentBatch
from ...legacy.batches.sample_batch import SampleBatch
from ...v2.episodes.multi_agent import MultiAgentEpisode
from ...v2.episodes.single_agent import SingleAgentEpisode
from ..damaged import Damage
from ..recordings import PROBABILITIES, Recording, Recordings

Episode = SingleAgentEpisode | MultiAgentEpisode
_Columns = Mapping[str, Any]
_Agent = tuple[str, int]  # the policy's id and the agent's number

_NO_OUTPUTS: Final = frozenset(
    {"obs", "new_obs", "actions", "rewards", "terminateds", "truncateds", "dones", "infos"}
    | {"eps_id", "agent_index", "unroll_id", "t", "seq_lens", "new_infos"}
)

NEXT_INFOS: Final = "new_infos"
"""Infos after each step, of which RLlib's own column loses the last one."""

_MOST_WAITING: Final = 100
"""Steps of the environment for each row of an agent, beyond which they are not believed."""


@dataclass
class _Stretch:
    """Rows of one agent that follow each other."""

    agent: _Agent
    columns: dict[str, Any]
    infos_come_after: bool

    def __len__(self) -> int:
        return len(self.columns["rewards"])

    def follows(self, other: _Stretch, may_skip: bool) -> bool:
        """Whether it goes on where another one stopped, or `may_skip` steps and go on later."""
        if other.is_done:
            return False
        if "t" not in self.columns or "t" not in other.columns:
            return True
        steps = int(self.columns["t"][0]) - int(other.columns["t"][-1])
        return steps > 0 if may_skip else steps == 1

    @property
    def is_done(self) -> bool:
        return _last(self.columns, "terminateds") or _last(self.columns, "truncateds")


@dataclass
class _Open:
    """An episode that may go on."""

    agents: dict[_Agent, list[_Stretch]] = field(default_factory=dict)

    @property
    def first_step(self) -> int | None:
        """The earliest time step of its rows."""
        columns = [rows[0].columns for rows in self.agents.values()]
        return min((int(each["t"][0]) for each in columns if "t" in each), default=None)

    @property
    def last_step(self) -> int | None:
        """The latest time step of its rows, None when all of it is over."""
        if all(rows[-1].is_done for rows in self.agents.values()):
            return None
        columns = [rows[-1].columns for rows in self.agents.values()]
        return max((int(each["t"][-1]) for each in columns if "t" in each), default=None)


class EpisodeGatherer:
    """Brings rows of batches together to episodes.

    `make` makes an episode of one agent of its id and rows; `make_several` several, of their ids,
    the columns of their rows and where each ends.
    """

    def __init__(
        self,
        damage: Damage,
        make: Callable[[str, list[_Stretch]], Any] | None = None,
        make_several: Callable[[list[str], _Columns, Array], Any] | None = None,
    ) -> None:
        self._damage, self._make, self._make_several = damage, make or _one, make_several
        self._open: dict[Any, _Open] = {}
        self._last_key: Any = None
        self._last_end: int | None = None
        self._repeats = 0

    def gather(self, batches: Iterable[tuple[Any, bool]]) -> Iterator[Any]:
        """Episodes in the order they end.

        Each batch comes with whether its infos are those of the steps taken from its rows.
        """
        is_multi = False
        for batch, infos_come_after in batches:
            several: list[Any] = []
            is_multi = isinstance(batch, MultiAgentBatch) and set(batch.policy_batches) != {
                DEFAULT_POLICY_ID
            }
            parts = batch.policy_batches if isinstance(batch, MultiAgentBatch) else {"": batch}
            touched: dict[Any, None] = {}
            for policy, part in parts.items():
                stretches, several = self._stretches(policy, part, infos_come_after, is_multi)
                for key, stretch in stretches:
                    held = self._open.get(key)
                    if held is not None:
                        known = held.agents.get(stretch.agent)
                        if known is not None and not stretch.follows(known[-1], is_multi):
                            yield from self._close(key, is_multi)
                    opened = self._open.setdefault(key, _Open())
                    opened.agents.setdefault(stretch.agent, []).append(stretch)
                    touched[key] = None
            for key in [key for key in self._open if key not in touched]:
                yield from self._close(key, is_multi)
            if not is_multi:
                for key in [key for key in touched if self._is_done(key)]:
                    yield from self._close(key, is_multi)
            for self._last_key, made in several:
                self._last_end, self._repeats = None, 0
                yield made
        for key in list(self._open):
            yield from self._close(key, is_multi)

    def _is_done(self, key: Any) -> bool:
        held = self._open.get(key)
        return held is not None and all(s[-1].is_done for s in held.agents.values())

    def _stretches(
        self, policy: str, batch: SampleBatch, infos_come_after: bool, is_multi: bool
    ) -> tuple[list[tuple[Any, _Stretch]], list[Any]]:
        """What belongs to one agent in one episode, each with its episode; and whole episodes."""
        try:
            with at("a batch"):
                held = batch.as_read()
                columns = {name: held[name] for name in held if not is_per_sequence(name)}
                bounds = _bounds(columns)
                whole, several = range(0), list[Any]()
                if self._make_several is not None and not is_multi:
                    whole, several = self._several(self._make_several, columns, bounds)
                cuts = [*pairwise(bounds[: whole.start + 1]), *pairwise(bounds[whole.stop :])]
                return list(_stretches(policy, columns, cuts, infos_come_after)), several
        except RlconnectError as error:
            self._damage.note("", None, error)
            return [], []

    def _whole_ones(self, columns: _Columns, bounds: list[int]) -> range:
        """Which stretches, in a row, are episodes that begin and end in this batch alone."""
        if "eps_id" not in columns:
            return range(0)
        starts, ends = np.array(bounds[:-1]), np.array(bounds[1:]) - 1
        keys = columns["eps_id"][starts].tolist()
        is_done = np.zeros(len(ends), bool)
        for name in ("terminateds", "truncateds"):
            if name in columns:
                is_done |= np.asarray(columns[name][ends], bool)
        known = {*self._open, self._last_key}
        is_whole = is_done & [key not in known for key in keys]
        places = np.flatnonzero(is_whole).tolist()
        if not places or len(set(keys)) != len(keys):
            return range(0)
        found = range(places[0], places[-1] + 1)
        return range(0) if len(found) != len(places) or is_done[found.stop :].any() else found

    def _several(
        self,
        make: Callable[[list[str], _Columns, Array], Any],
        columns: _Columns,
        bounds: list[int],
    ) -> tuple[range, list[Any]]:
        """Which stretches are whole episodes, and these; none where one by one is to tell more."""
        whole = self._whole_ones(columns, bounds)
        if not whole:
            return range(0), []
        rows = slice(bounds[whole.start], bounds[whole.stop])
        own = {name: _taken(column, rows) for name, column in columns.items()}
        stops = np.array(bounds[whole.start + 1 : whole.stop + 1]) - rows.start
        keys = own["eps_id"][stops - 1].tolist()
        try:
            with at("episodes"):
                return whole, [(keys[-1], make(list(map(str, keys)), own, stops))]
        except RlconnectError:
            return range(0), []

    def _close(self, key: Any, is_multi: bool) -> Iterator[Any]:
        held = self._open.pop(key)
        id_ = self._id_of(key, held)
        try:
            with at(f"episode {id_}"):
                if is_multi or len(held.agents) > 1:
                    episode: Any = _several(id_, held.agents)
                else:
                    (stretches,) = held.agents.values()
                    episode = self._make(id_, stretches)
        except RlconnectError as error:
            self._damage.note("", None, error)
            return
        yield episode

    def _id_of(self, key: Any, held: _Open) -> str:
        """The episode's id; those that a careless writer gave one id in a row are numbered."""
        first, last = held.first_step, held.last_step
        if key != self._last_key:
            self._repeats = 0
        elif self._last_end is None or first is None or first <= self._last_end:
            self._repeats += 1  # else it is a later piece of the same one
        self._last_key, self._last_end = key, last
        return f"{key}_{self._repeats}" if self._repeats else str(key)


def _bounds(columns: _Columns) -> list[int]:
    """Where the rows of one agent in one episode begin, and where the last ones end."""
    rows = len(columns["rewards"])
    cut = np.zeros(rows, bool)
    cut[:1] = True
    if "eps_id" in columns:
        cut[1:] |= columns["eps_id"][1:] != columns["eps_id"][:-1]
    if "agent_index" in columns:
        agents = np.floor(np.asarray(columns["agent_index"]))
        cut[1:] |= agents[1:] != agents[:-1]
    if "t" in columns:
        cut[1:] |= columns["t"][1:] <= columns["t"][:-1]
    for name in ("terminateds", "truncateds"):
        if name in columns:
            cut[1:] |= np.asarray(columns[name][:-1], bool)
    return [*np.flatnonzero(cut).tolist(), rows]


def _stretches(
    policy: str, columns: _Columns, cuts: Iterable[tuple[int, int]], infos_come_after: bool
) -> Iterator[tuple[Any, _Stretch]]:
    """The rows between cuts, each with their episode."""
    for start, stop in cuts:
        own = {name: _taken(column, slice(start, stop)) for name, column in columns.items()}
        number = int(own["agent_index"][0]) if "agent_index" in own else 0
        key = own["eps_id"][0].item() if "eps_id" in own else 0
        yield key, _Stretch((policy, number), own, infos_come_after)


def _taken(column: Any, rows: slice) -> Any:
    if type(column) is np.ndarray:
        return column[rows]
    return map_column(lambda array: array[rows], column)


def _last(columns: Mapping[str, Any], name: str) -> bool:
    return name in columns and bool(columns[name][-1])


def _joined(stretches: list[_Stretch]) -> dict[str, Any]:
    if len(stretches) == 1:
        return stretches[0].columns
    shared = set.intersection(*(set(s.columns) for s in stretches))
    return {
        name: join_columns(name, [s.columns[name] for s in stretches])
        for name in stretches[0].columns
        if name in shared
    }


def _observations(columns: Mapping[str, Any]) -> Any:
    """All observations and the last new one; zeros where new ones were not recorded."""

    def extended(array: Array, last: Array) -> Array:
        return np.concatenate([array, last[-1:].astype(array.dtype, copy=False)])

    new = columns.get("new_obs")
    if new is None:
        new = nest.mapped(lambda array: np.zeros_like(array[-1:]), columns["obs"])
    return map_column(extended, columns["obs"], new)


def _infos(columns: Mapping[str, Any], come_after: bool) -> list[Any]:
    rows = len(columns["rewards"])
    held = [info if isinstance(info, dict) else {} for info in columns.get("infos", [{}] * rows)]
    if come_after:
        return [{}, *held]
    after = columns.get(NEXT_INFOS, [{}] * rows)
    later = zip(after, [*held[1:], {}], strict=True)
    return [held[0], *(own if isinstance(own, dict) and own else info for own, info in later)]


def _outputs(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: column
        for name, column in columns.items()
        if name not in _NO_OUTPUTS and not name.startswith("prev_")
    }


def _one(id_: str, stretches: list[_Stretch]) -> SingleAgentEpisode:
    columns = _joined(stretches)
    return SingleAgentEpisode(
        id_,
        observations=_observations(columns),
        actions=columns["actions"],
        rewards=columns["rewards"],
        infos=_infos(columns, stretches[0].infos_come_after),
        extra_model_outputs=_outputs(columns),
        terminated=_last(columns, "terminateds"),
        truncated=_last(columns, "truncateds"),
        t_started=int(columns["t"][0]) if "t" in columns else 0,
        len_lookback_buffer=0,
    )


def recording_of_rows(id_: str, stretches: list[_Stretch]) -> Recording:
    """The rows of one agent as arrays."""
    columns = _joined(stretches)
    return Recording(
        id_,
        _observations(columns),
        columns["actions"],
        np.asarray(columns["rewards"], np.float64),
        _last(columns, "terminateds"),
        {name: columns[name] for name in PROBABILITIES if name in columns},
    )


def recordings_of_rows(ids: list[str], columns: _Columns, stops: Array) -> Recordings:
    """The rows of several episodes of one agent each as arrays."""
    count, rows = len(ids), len(columns["rewards"])
    lengths = stops.copy()
    lengths[1:] -= stops[:-1]
    last = stops + np.arange(count)
    here = np.arange(rows) + np.repeat(np.arange(count), lengths)

    def seen(array: Array, new: Array | None = None) -> Array:
        if new is not None and new.shape != array.shape:
            raise corrupt("column 'new_obs' is of another shape than 'obs'")
        made = np.zeros((rows + count, *array.shape[1:]), array.dtype)
        made[here] = array
        if new is not None:
            made[last] = new[stops - 1]
        return made

    new = columns.get("new_obs")
    observations = nest.mapped(seen, columns["obs"], *([] if new is None else [new]))
    ended = columns.get("terminateds")
    return Recordings(
        ids,
        lengths,
        observations,
        columns["actions"],
        np.asarray(columns["rewards"], np.float64),
        np.zeros(count, bool) if ended is None else np.asarray(ended[stops - 1], bool),
        {name: columns[name] for name in PROBABILITIES if name in columns},
        [""] * count,
    )


def _several(id_: str, agents: Mapping[_Agent, list[_Stretch]]) -> MultiAgentEpisode:
    """The agents side by side in the environment's time, as far as it is recorded."""
    parts = {_agent_id(agent): (agent, _joined(rows)) for agent, rows in agents.items()}
    times = _times({name: columns for name, (_, columns) in parts.items()})
    steps = max(int(ends[-1]) for ends in times.values()) + 1
    seen: list[dict[Any, Any]] = [{} for _ in range(steps + 1)]
    infos: list[dict[Any, Any]] = [{} for _ in range(steps + 1)]
    did: list[dict[Any, Any]] = [{} for _ in range(steps)]
    got: list[dict[Any, Any]] = [{} for _ in range(steps)]
    outputs: list[dict[Any, Any]] = [{} for _ in range(steps)]
    ends: dict[str, dict[Any, bool]] = {"terminateds": {}, "truncateds": {}}
    for name, (agent, columns) in parts.items():
        observed = _observations(columns)
        told = _infos(columns, agents[agent][0].infos_come_after)
        extra = _outputs(columns)
        begin = int(times[name][0])
        for row, end in enumerate(times[name].tolist()):
            seen[begin][name], infos[begin][name] = _row(observed, row), told[row]
            did[begin][name] = _row(columns["actions"], row)
            outputs[begin][name] = {key: _row(column, row) for key, column in extra.items()}
            got[end][name] = columns["rewards"][row]
            begin = end + 1
        seen[begin][name], infos[begin][name] = _row(observed, -1), told[-1]
        for kind, by_agent in ends.items():
            by_agent[name] = _last(columns, kind)
    for by_agent in ends.values():
        by_agent["__all__"] = all(by_agent.values())
    return MultiAgentEpisode(
        id_,
        observations=seen,
        infos=infos,
        actions=did,
        rewards=got,
        extra_model_outputs=outputs,
        terminateds=ends["terminateds"],
        truncateds=ends["truncateds"],
        len_lookback_buffer=0,
        agent_module_ids={name: agent[0] for name, (agent, _) in parts.items() if agent[0]},
    ).to_numpy()


def _times(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Array]:
    """By agent, the step of the environment in which each of its rows ended.

    Column "t" tells it: an agent that waits for its next observation has a gap there. Without it,
    or where it tells of many more steps than there are rows, all agents step together.
    """
    rows = {name: len(columns["rewards"]) for name, columns in parts.items()}
    together = {name: np.arange(count) for name, count in rows.items()}
    if not all("t" in columns for columns in parts.values()):
        return together
    first = min(int(columns["t"][0]) for columns in parts.values())
    last = max(int(columns["t"][-1]) for columns in parts.values())
    if last - first >= _MOST_WAITING * sum(rows.values()):
        return together
    return {name: columns["t"] - first for name, columns in parts.items()}


def _agent_id(agent: _Agent) -> str:
    policy, number = agent
    return f"{policy}_{number}" if policy else f"agent_{number}"


def _row(column: Any, t: int) -> Any:
    return map_column(lambda array: array[t], column)
