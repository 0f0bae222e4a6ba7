"""The columns of a train batch, each made for all episodes of a module at once.

What the learner's pieces do one episode after the other is here one concatenation, one padding or
one array of flags per column. Where that cannot give what the pieces would, it is `NotColumnar`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any, Final, overload

import numpy as np
from typing_extensions import override

from ....core import nest
from ....core.arrays.batching import batch as batched
from ....core.arrays.padding import PaddingPlan
from ....core.columns import DEFAULT_MODULE_ID, Columns
from ....core.types import Array, Nest
from ...episodes.gather import concat_column
from ...episodes.single_agent import SingleAgentEpisode
from ..batch_items import key_of, single_agent_episode_iterator
from ..common.add_states import initial_state
from ..stateful_modules import is_multi, is_stateful, max_seq_len, stateful_module
from ..table import NotColumnar


class RowIds(Sequence[Any]):
    """The episode ids of rows that lie episode by episode.

    A list of them would stay in memory while advantages are computed, when a batch needs most.

    Args:
        ids: One id an episode.
        counts: How many rows each has.

    Example:
        >>> RowIds(["e0", "e1"], [2, 1])
        ['e0', 'e0', 'e1']
    """

    __slots__ = ("_counts", "_ends", "_ids")

    def __init__(self, ids: Sequence[Any], counts: Sequence[int]) -> None:
        self._ids, self._counts = ids, counts
        self._ends = list(accumulate(counts))

    @override
    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @override
    def __iter__(self) -> Iterator[Any]:
        return iter(self.listed())

    def listed(self) -> list[Any]:
        """The list they stand for."""
        ids: list[Any] = []
        for episode_id, count in zip(self._ids, self._counts, strict=True):
            ids += [episode_id] * count
        return ids

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    @override
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self.listed()[index]
        return self._ids[bisect_right(self._ends, range(len(self))[index])]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.listed() == [*other]

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __repr__(self) -> str:
        return repr(self.listed())


_NO_ROWS: Final = "episodes have no steps, other classes, or items of other shapes"

_STATES: Final = (Columns.STATE_IN, Columns.STATE_OUT)
_FLAGS: Final = (
    (Columns.TERMINATEDS, attrgetter("is_terminated")),
    (Columns.TRUNCATEDS, attrgetter("is_truncated")),
)


@dataclass(eq=False)
class Group:
    """The episodes of one module, in order.

    Attributes:
        module_id: None for the module of a single agent.
        episodes: Each with at least one step.
        columns: What was made so far: rows of all steps, one episode after the other.
        padding: How the steps fill rows, once a stateful module's have been cut.
    """

    module_id: Any
    episodes: list[Any]
    columns: dict[str, Nest] = field(default_factory=dict)
    padding: PaddingPlan | None = None

    @cached_property
    def lens(self) -> list[int]:
        """Steps of each episode, once all have those they shall have."""
        return [*map(len, self.episodes)]

    @cached_property
    def ends(self) -> Array:
        """The place of each episode's last step."""
        return np.cumsum(self.lens) - 1

    def read(self, column: str, **without: bool) -> Nest:
        """A column of all episodes.

        Raises:
            NotColumnar: It makes none.
        """
        joined = concat_column(self.episodes, column, **without)
        if joined is None or joined[1] != self.lens:
            raise NotColumnar(_NO_ROWS)
        return joined[0]


class TrainColumns:
    """A train batch in the making: what was in the batch already, and columns by module.

    Args:
        rl_module: The module, or several by id.
        batch: What pieces before have made; left as it is.
        episodes: Of one or several agents.
    """

    def __init__(self, rl_module: Any, batch: Mapping[str, Any], episodes: Sequence[Any]) -> None:
        self.rl_module = rl_module
        self.given = batch
        self.singles: list[Any] = list(single_agent_episode_iterator(episodes, False))
        groups: dict[Any, Group] = {}
        for single in self.singles:
            module_id = single.module_id if single.agent_id is not None else None
            if module_id not in groups:
                groups[module_id] = Group(module_id, [])
            groups[module_id].episodes.append(single)
        self.groups = list(groups.values())
        self.is_stacked = False

    def expect_columns(self, module_ids: Any, *, is_multi_agent: bool, is_renamed: bool) -> None:
        """Refuse episodes whose items do not lie in columns, or under keys of their own.

        Args:
            module_ids: Those there are, for several agents.
            is_multi_agent: Whether the episodes are of several agents.
            is_renamed: Whether all get other ids.

        Raises:
            NotColumnar: As said.
        """
        is_right = all(
            type(single) is SingleAgentEpisode
            and len(single)
            and (single.agent_id is not None) is is_multi_agent
            and (not is_multi_agent or single.module_id in module_ids)
            for single in self.singles
        )
        if not is_right or not self.singles or any(key in (module_ids or ()) for key in self.given):
            raise NotColumnar(_NO_ROWS)
        # Items one by one are held against the observations' by their keys, which may change yet.
        is_listed = not all(single.observations.finalized for single in self.singles)
        is_changing = not is_renamed and any("_" not in single.id_ for single in self.singles)
        if is_listed and (self.given or is_changing):
            raise NotColumnar(_NO_ROWS)
        if not is_renamed:
            keys = {key_of(single) for single in self.singles}
            numbered = {
                single.id_ if "_" in single.id_ else f"{single.id_}_{number}"
                for number, single in enumerate(self.singles)
            }
            if len(self.singles) > min(len(keys), len(keys if is_multi_agent else numbered)):
                raise NotColumnar(_NO_ROWS)

    def has(self, column: str) -> bool:
        """Whether the batch holds the column."""
        return column in self.given or any(column in group.columns for group in self.groups)

    def add(self, column: str, make: Callable[[Group], Nest]) -> None:
        """Add a column to each module's."""
        for group in self.groups:
            group.columns[column] = make(group)

    # What the pieces add

    def add_flags(self, *, is_prolonged: bool) -> None:
        """Add whether each step ended its episode; with a mask where there is a step more."""
        missing = [(name, flag) for name, flag in _FLAGS if is_prolonged or not self.has(name)]
        for group in self.groups:
            ends, steps = group.ends, int(group.ends[-1]) + 1
            if is_prolonged:
                group.columns[Columns.LOSS_MASK] = mask = np.ones(steps, bool)
                mask[ends] = False
                ends = ends - 1
            for name, flag in missing:
                group.columns[name] = column = np.zeros(steps, bool)
                column[ends] = [*map(flag, group.episodes)]

    def add_observations(self, column: str) -> None:
        """Add the observations before (`obs`) or after (`new_obs`) each step, unless there."""
        if not self.has(column):
            without = "without_last" if column == Columns.OBS else "without_first"
            self.add(column, lambda group: group.read(Columns.OBS, **{without: True}))

    def number_episodes(self) -> None:
        """Assign a new id to each episode, like the piece that adds observations."""
        if not self.has(Columns.OBS):
            for number, single in enumerate(self.singles):
                if "_" not in single.id_:
                    single.id_ += f"_{number}"

    def add_infos(self) -> None:
        """Add the infos that came with each observation but the last, unless there."""
        if not self.has(Columns.INFOS):
            self.add(
                Columns.INFOS,
                lambda group: [
                    infos
                    for episode in group.episodes
                    for infos in episode.get_infos(slice(0, len(episode)))
                ],
            )

    def add_columns(self) -> None:
        """Add actions, rewards, flags and the modules' outputs but states, unless there."""
        present = {column for group in self.groups for column in group.columns}
        for column in (Columns.ACTIONS, Columns.REWARDS):
            if not self.has(column):
                self.add(column, lambda group, column=column: group.read(column))  # type: ignore[misc]
        self.add_flags(is_prolonged=False)
        outputs = chain.from_iterable(single.extra_model_outputs for single in self.singles)
        for column in dict.fromkeys(outputs):
            if column in _STATES or column in self.given or column in present:
                continue
            if self.has(column):
                raise NotColumnar(_NO_ROWS)  # An output by the name of something else.
            for group in self.groups:
                if any(column in each.extra_model_outputs for each in group.episodes):
                    group.columns[column] = group.read(column)

    def add_items(self, column: str, batch: Mapping[str, Any]) -> None:
        """Add a column of arrays per episode, as a piece alone has made it in a batch of its own.

        Raises:
            NotColumnar: It goes on with a column that is there.
        """
        if self.has(column):
            raise NotColumnar(_NO_ROWS)
        by_episode = batch.get(column, {})
        for group in self.groups:
            parts = [part for each in group.episodes for part in by_episode.get(key_of(each), ())]
            if parts:
                group.columns[column] = batched(parts, individual_items_already_have_batch_dim=True)

    def cut_into_rows(self, piece: Any, shared_data: dict[str, Any]) -> None:
        """Give the columns of stateful modules a time axis, with what says where data is."""
        if not is_stateful(self.rl_module) or self.has(Columns.STATE_IN):
            return
        is_masked = shared_data.get("_added_loss_mask_for_valid_episode_ts")
        for group in self.groups:
            module = stateful_module(self.rl_module, group.module_id)
            if module is None:
                continue
            plan = group.padding = PaddingPlan.of_episodes(group.lens, max_seq_len(module, piece))
            for column, rows in group.columns.items():
                if column != Columns.INFOS:
                    group.columns[column] = nest.map_structure(plan.pad, rows)
                    shared_data[f"_zero_padded_for_mid={_name(group)}"] = True
            group.columns[Columns.SEQ_LENS] = plan.seq_lens
            if not is_masked:
                group.columns[Columns.LOSS_MASK] = plan.mask

    def add_states(self, piece: Any) -> bool:
        """Add the state before each row of stateful modules, and `next_state_in` for `new_obs`.

        Returns:
            Whether all episodes hold states in arrays, from their beginning on; else nothing is
            added.
        """
        stateful = [
            (group, module)
            for group in self.groups
            if (module := stateful_module(self.rl_module, group.module_id)) is not None
        ]
        if not all(
            Columns.STATE_OUT in single.extra_model_outputs
            and single.extra_model_outputs[Columns.STATE_OUT].finalized
            and (
                single.t_started == 0 or not single.extra_model_outputs[Columns.STATE_OUT].lookback
            )
            for group, _ in stateful
            for single in group.episodes
        ):
            return False
        has_next = self.has(Columns.NEXT_OBS)
        for group, module in stateful:
            step = max_seq_len(module, piece)
            first = initial_state(module)
            after = [each.extra_model_outputs[Columns.STATE_OUT] for each in group.episodes]
            starts = nest.map_structure(lambda _, start: start[None], after[0].raw, first)
            before = [
                part
                for column in after
                for part in (
                    starts,
                    nest.taken(column.raw, slice(column.lookback + step - 1, -1, step)),
                )
            ]
            group.columns[Columns.STATE_IN] = nest.joined(before)
            if has_next:
                following = [
                    nest.taken(column.raw, slice(column.lookback, None, step)) for column in after
                ]
                group.columns[Columns.NEXT_STATE_IN] = nest.joined(following)
        return True

    # What has been made

    def by_module(self, batch: dict[str, Any], *, is_multi_agent: bool) -> dict[str, Any]:
        """The columns beside those that were there already, in the order of the pieces.

        Args:
            batch: What became of the columns that were there; filled in place.
            is_multi_agent: Whether modules are told from each other.
        """
        for group in self.groups:
            if is_multi_agent:
                batch.setdefault(group.module_id, {}).update(group.columns)
            elif is_multi(self.rl_module):
                batch.setdefault(DEFAULT_MODULE_ID, {}).update(group.columns)
            else:
                batch.update(group.columns)
        return batch

    def ids_of_rows(self) -> RowIds:
        """The episode ids of the rows of observations: sequences of them, or steps."""
        ids: list[Any] = []
        counts: list[int] = []
        for group in self.groups:
            ids += [episode.id_ for episode in group.episodes]
            if group.padding is not None:
                counts += [-(-steps // group.padding.max_seq_len) for steps in group.lens]
            else:
                counts += map(int, group.lens)
        return RowIds(ids, counts)

    def agents_by_module(self) -> dict[Any, list[tuple[Any, Any]]]:
        """The ids of episode and agent of all agents, by module."""
        return {
            group.module_id: [(e.multi_agent_episode_id, e.agent_id) for e in group.episodes]
            for group in self.groups
        }


def _name(group: Group) -> Any:
    return DEFAULT_MODULE_ID if group.module_id is None else group.module_id
