"""What a learner is given, as columns of tensors by module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...core import nest
from ...core.arrays.tensors import as_tensors
from ...core.columns import Columns
from ...core.errors import ConfigError, EpisodeError, PieceError
from ..modules.multi_rl_module import UnknownModuleError
from ..replay.steps import Steps, train_batch
from .minibatches import Batch, row_count


@dataclass(frozen=True)
class TrainBatch:
    """Columns by module, and how many steps of environments they stem from."""

    columns: Batch
    env_steps: int


def from_given(given: Any, device: Any) -> TrainBatch:
    """A batch that somebody else has made.

    Args:
        given: Columns by module id; a dict, or an object with `policy_batches` and `env_steps()`
            as the old stack's MultiAgentBatch is.
        device: Where tensors go.

    Raises:
        ConfigError: It is neither.
    """
    by_module = getattr(given, "policy_batches", given)
    if not isinstance(by_module, Mapping) or not all(
        isinstance(columns, Mapping) for columns in by_module.values()
    ):
        raise ConfigError(
            "update(batch=...)",
            expected="a dict of columns by module id",
            found=type(given).__name__,
            hint="for columns of one module: {'default_policy': columns}.",
        )
    columns = {
        module_id: {
            name: column if name == Columns.INFOS else as_tensors(column, device)
            for name, column in columns_of.items()
        }
        for module_id, columns_of in by_module.items()
    }
    count = getattr(given, "env_steps", None)
    rows = [row_count(columns_of) for columns_of in columns.values() if columns_of]
    return TrainBatch(columns, int(count()) if callable(count) else max(rows, default=0))


def concatenated(batches: Iterable[TrainBatch]) -> TrainBatch:
    """Several batches as one, rows after rows."""
    joined: dict[str, list[dict[str, Any]]] = {}
    steps = 0
    for batch in batches:
        steps += batch.env_steps
        for module_id, columns in batch.columns.items():
            joined.setdefault(module_id, []).append(columns)
    return TrainBatch(
        {module_id: _joined(module_id, parts) for module_id, parts in joined.items()}, steps
    )


def _joined(module_id: str, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if len({frozenset(part) for part in parts}) > 1:
        raise ConfigError(
            f"the batches of module {module_id!r} have different columns",
            expected=", ".join(map(str, parts[0])),
            found=" and ".join(", ".join(map(str, part)) for part in parts[1:]),
        )
    return {
        name: nest.map_structure(lambda *leaves: torch.cat(leaves), *[part[name] for part in parts])
        for name in parts[0]
    }


def from_episodes(
    episodes: Sequence[Any], connector: Any, rl_module: Any, metrics: Any
) -> TrainBatch:
    """The batch that the learner pipeline makes of episodes.

    Raises:
        EpisodeError: There is no episode.
    """
    if not episodes:
        raise EpisodeError("update(episodes=[]) has nothing to learn from", expected="an episode")
    if isinstance(episodes, Steps):
        columns = train_batch(episodes, connector, rl_module, metrics)
        return TrainBatch(columns, len(episodes))
    columns = connector(
        rl_module=rl_module, batch={}, episodes=list(episodes), shared_data={}, metrics=metrics
    )
    return TrainBatch(columns, sum(map(len, episodes)))


def checked(batch: TrainBatch, rl_module: Any) -> TrainBatch:
    """The batch without modules that have no rows.

    Raises:
        UnknownModuleError: It has columns of a module that is not there.
        ConfigError: The columns of a module have different lengths.
    """
    columns = {
        module_id: columns_of for module_id, columns_of in batch.columns.items() if columns_of
    }
    for module_id, columns_of in columns.items():
        if module_id not in rl_module:
            raise UnknownModuleError.of(module_id, rl_module.keys())
        rows = row_count(columns_of)
        for name, column in columns_of.items():
            if name == Columns.INFOS:
                continue
            for leaf in (column,) if isinstance(column, torch.Tensor) else nest.flatten(column):
                if isinstance(leaf, torch.Tensor) and leaf.shape[:1] != (rows,):
                    raise ConfigError(
                        f"column {name!r} of module {module_id!r} does not fit the others",
                        expected=f"{rows} rows",
                        found=f"shape {tuple(leaf.shape)}",
                    )
    return TrainBatch(
        {
            module_id: columns_of
            for module_id, columns_of in columns.items()
            if row_count(columns_of)
        },
        batch.env_steps,
    )


def needed(batch: Mapping[str, Any], columns: Iterable[str], who: str, module_id: str) -> None:
    """Check that columns are there.

    Raises:
        PieceError: One is missing; the message names all that are.
    """
    missing = [column for column in columns if column not in batch]
    if missing:
        raise PieceError(
            f"{who} needs columns that the batch of module {module_id!r} does not have",
            expected=", ".join(map(repr, missing)),
            found=", ".join(map(repr, batch)),
            hint="learner.learner_connector makes them of episodes: a piece is missing there, or "
            "the episodes were sampled without a module.",
        )
