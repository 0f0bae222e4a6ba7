"""Train batches of the new stack from recorded data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ..v2.recorded.columns import by_episode, of_one_agent
from ..v2.recorded.episode_buffer import Pick
from ..v2.recorded.prelearner import OfflinePreLearner
from .dataset import Dataset


def train_batches(
    data: Dataset,
    config: Any,
    *,
    module_state: Mapping[str, Any] | None = None,
    picks: Sequence[Pick] | None = None,
) -> Iterator[dict[str, Any]]:
    """What the learner pipeline makes of all of the data, once through.

    Files of rows give each row once, as a step by itself. Of everything else, and of rows with
    `input_read_episodes`, steps are drawn (or sequences, for a module with a state), as many as a
    train batch has for as many episodes.

    Args:
        data: Recorded by one agent.
        config: Of an algorithm that learns from recorded data, such as `BCConfig`; it knows spaces.
        module_state: Weights of the modules by id; where targets are made of values they count.
        picks: What to draw, as `[episode id, first step, length]`, in place of a random draw.

    Yields:
        Tensors by module id and column.

    Raises:
        ConfigError: The data is of several agents, or lacks columns.
    """
    prelearner_class = config.prelearner_class or OfflinePreLearner
    prelearner = prelearner_class(config=config, module_state=module_state)
    size = config.input_read_batch_size or config.train_batch_size_per_learner
    if data.has_rows and not config.input_read_episodes:
        for columns in data.steps(size):
            yield _parts_by_name(prelearner.of_columns(by_episode(columns)))
        return
    episodes = map(of_one_agent, data.episodes())
    while chunk := list(islice(episodes, size)):
        yield _parts_by_name(prelearner.of_episodes(chunk, picks))


def _parts_by_name(column: Any) -> Any:
    """Dicts in place of tuples: a train batch of RLlib's is flat, with parts by their places."""
    if isinstance(column, (tuple, list)):
        column = {str(place): part for place, part in enumerate(column)}
    if isinstance(column, Mapping):
        return {name: _parts_by_name(part) for name, part in column.items()}
    return column
