"""Items of a batch that is still being built: add them, walk them, regroup them.

Before it is batched, a column is a list of items, or a dict of such lists by
`(episode id,)` or `(episode id, agent id, module id)`. These are ConnectorV2's static helpers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ...core import nest
from ...core.arrays.batching import BatchedNdArray
from ...core.errors import PieceError, UnknownNameError
from ...core.types import Nest
from ..episodes.single_agent import SingleAgentEpisode

_ALONE: Final = frozenset({SingleAgentEpisode})


class UnknownColumnError(UnknownNameError, PieceError, KeyError):
    """A batch has no column of that name."""


def key_of(episode: Any) -> tuple[Any, ...]:
    """Return the key of an episode's items in a column.

    Example:
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> key_of(SingleAgentEpisode(id_="e0"))
        ('e0',)
    """
    if episode.agent_id is None:
        return (episode.id_,)
    return (episode.multi_agent_episode_id, episode.agent_id, episode.module_id)


def is_multi_agent(episode: Any) -> bool:
    """Whether an episode is one of several agents."""
    # The class is asked first: an episode's own property would hand its journal out.
    kind = type(episode)
    if kind is SingleAgentEpisode:  # Looking for what is not there takes long.
        return False
    return hasattr(kind, "agent_episodes") or hasattr(episode, "agent_episodes")


def single_agent_episode_iterator(
    episodes: Sequence[Any],
    agents_that_stepped_only: bool = True,
    zip_with_batch_column: Sequence[Any] | Mapping[Any, Any] | None = None,
) -> Iterator[Any]:
    """Walk episodes of one agent; those of several are taken apart in the order of the agents.

    Args:
        episodes: Of one or several agents.
        agents_that_stepped_only: Whether to pass over agents without data in the last step.
        zip_with_batch_column: A column built from the same episodes; the iterator then gives
            pairs of an episode and its next item.

    Raises:
        PieceError: The column has another length than there are episodes, or too few items.
    """
    if type(episodes) is list and _ALONE.issuperset(map(type, episodes)):
        walked = iter(episodes)
    else:
        walked = _walk(episodes, agents_that_stepped_only)
    if zip_with_batch_column is None:
        return walked
    if isinstance(zip_with_batch_column, Mapping):
        return _zip_by_key(walked, zip_with_batch_column)
    listed = list(walked)
    if len(listed) != len(zip_with_batch_column):
        raise PieceError(
            "zip_with_batch_column has another length than there are episodes",
            expected=f"{len(listed)} items",
            found=f"{len(zip_with_batch_column)}",
        )
    return iter(list(zip(listed, zip_with_batch_column, strict=True)))


def _walk(episodes: Sequence[Any], agents_that_stepped_only: bool) -> Iterator[Any]:
    for episode in episodes:
        if not is_multi_agent(episode):
            yield episode
        elif agents_that_stepped_only:
            agents = episode.agent_episodes
            for agent in episode.get_agents_that_stepped():
                yield agents[agent]
        else:
            yield from list(episode.agent_episodes.values())


def _zip_by_key(episodes: Iterator[Any], column: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    places: dict[Any, int] = {}
    for episode in episodes:
        key = key_of(episode)
        place = places.get(key, 0)
        places[key] = place + 1
        items = column.get(key, ())
        if place >= len(items):
            raise PieceError(
                f"zip_with_batch_column has too few items for episode {key}",
                expected=f"at least {place + 1}",
                found=f"{len(items)}",
            )
        yield episode, items[place]


def add_batch_item(
    batch: dict[str, Any],
    column: str,
    item_to_add: Any,
    single_agent_episode: Any = None,
) -> None:
    """Append one item to a column.

    Args:
        batch: Changed in place.
        column: Its name; a missing column is created.
        item_to_add: The item.
        single_agent_episode: The episode of the item; without it, the column is a plain list.

    Raises:
        PieceError: The batch is ordered by module ids already, or the column is an array.
    """
    if single_agent_episode is None:
        _items(batch, column, None).append(item_to_add)
        return
    key = key_of(single_agent_episode)
    if len(key) == 3 and key[2] in batch:
        raise PieceError(
            f"add_batch_item() cannot add to column {column!r}: the batch holds module id "
            f"{key[2]!r} at its top",
            expected="a batch of columns",
            hint="put the piece that calls it before AgentToModuleMapping.",
        )
    _items(batch, column, key).append(item_to_add)


def _items(batch: dict[str, Any], column: str, key: tuple[Any, ...] | None) -> list[Any]:
    """The list that an item goes to."""
    items = batch.setdefault(column, [] if key is None else {})
    is_mixed = key is not None and not isinstance(items, dict)
    if isinstance(items, dict) and key is not None:
        items = items.setdefault(key, [])
    if is_mixed or not isinstance(items, list):
        expected = "one list" if key is None else f"a dict with a list for {key}"
        raise PieceError(
            f"column {column!r} takes no single items",
            expected=expected,
            found=type(items).__name__,
            hint="add items before BatchIndividualItems, and all of them with or all without "
            "their episode.",
        )
    return items


def add_n_batch_items(
    batch: dict[str, Any],
    column: str,
    items_to_add: Any,
    num_items: int,
    single_agent_episode: Any = None,
) -> None:
    """Append several items to a column.

    Args:
        batch: Changed in place.
        column: Its name.
        items_to_add: A list of items; or one nest of arrays with all items along the first axis,
            which is kept whole until everything is batched.
        num_items: How many there are; checked for a list.
        single_agent_episode: Whose items they are.

    Raises:
        PieceError: A list has another length.
    """
    if not isinstance(items_to_add, list):
        add_batch_item(batch, column, as_batched(items_to_add), single_agent_episode)
        return
    if len(items_to_add) != num_items:
        raise PieceError(
            f"items_to_add for column {column!r} do not fit num_items",
            expected=f"num_items={num_items}",
            found=f"{len(items_to_add)} items",
        )
    for item in items_to_add:
        add_batch_item(batch, column, item, single_agent_episode)


def as_batched(items: Nest) -> Nest:
    """A nest of arrays, marked as holding items along the first axis; nothing is copied."""
    return nest.map_structure(BatchedNdArray, items)


def foreach_batch_item_change_in_place(
    batch: dict[str, Any],
    column: str | list[str] | tuple[str, ...],
    func: Callable[..., Any],
) -> None:
    """Replace every item of one or several columns by what a function makes of it.

    Args:
        batch: Changed in place.
        column: One name, or several.
        func: Gets the item (a tuple of items for several columns) and the ids of episode, agent
            and module, None where there is none; gives the new item (one for each column).

    Raises:
        UnknownColumnError: The batch has no such column.
        PieceError: The columns are built differently, or `func` gives too few items.
    """
    is_single = isinstance(column, str)
    names: list[str] = [column] if isinstance(column, str) else list(column)
    for name in names:
        if name not in batch:
            raise UnknownColumnError(
                f"the batch has no column {name!r}", found=f"columns {sorted(map(str, batch))}"
            )
    first = batch[names[0]]
    if isinstance(first, list):
        _change([batch[name] for name in names], names, is_single, func, (None, None, None))
        return
    if not isinstance(first, Mapping):
        raise PieceError(
            f"column {names[0]!r} has no single items",
            expected="a list, or a dict of lists by episode",
            found=type(first).__name__,
            hint="put the piece before BatchIndividualItems.",
        )
    for key in list(first):
        ids = (*key, None, None)[:3] if isinstance(key, tuple) else (key, None, None)
        try:
            lists = [batch[name][key] for name in names]
        except (KeyError, TypeError):
            raise PieceError(
                f"columns {names} have items of different episodes", found=str(key)
            ) from None
        _change(lists, names, is_single, func, ids)


def _change(
    lists: list[Any],
    names: list[str],
    is_single: bool,
    func: Callable[..., Any],
    ids: tuple[Any, Any, Any],
) -> None:
    if is_single:
        lists[0][:] = [func(item, *ids) for item in lists[0]]
        return
    lengths = {len(items) for items in lists}
    if len(lengths) > 1:
        raise PieceError(
            f"columns {names} have different numbers of items", found=str(sorted(lengths))
        )
    for place, items in enumerate(zip(*lists, strict=True)):
        new = func(items, *ids)
        if not isinstance(new, (tuple, list)) or len(new) != len(lists):
            raise PieceError(
                f"func must give one item for each of the columns {names}",
                expected=f"a tuple of {len(lists)}",
                found=f"{type(new).__name__}",
            )
        for one, item in zip(lists, new, strict=True):
            one[place] = item


def switch_batch_from_column_to_module_ids(
    batch: Mapping[str, Mapping[Any, Any]],
) -> dict[Any, dict[str, Any]]:
    """Swap the two upper levels of a batch: from column and module id to module id and column.

    Example:
        >>> switch_batch_from_column_to_module_ids({"obs": {"m": [1]}, "actions": {"m": [2]}})
        {'m': {'obs': [1], 'actions': [2]}}
    """
    switched: dict[Any, dict[str, Any]] = {}
    for column, by_module in batch.items():
        for module_id, items in by_module.items():
            switched.setdefault(module_id, {})[column] = items
    return switched
