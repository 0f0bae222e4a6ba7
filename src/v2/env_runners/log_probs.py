"""Log-probabilities of episodes in which a module explored for some steps and not for others.

An exploring module gives one number a step, a greedy one of Box actions a 0 for each part. Items of
the other way, which come before, are given the shape of the later ones; what they add up to stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core.columns import Columns


def fit_log_probs(episodes: Iterable[Any]) -> None:
    """Let the log-probabilities of each episode stack.

    Args:
        episodes: Of single agents; changed in place.
    """
    for episode in episodes:
        column = episode.extra_model_outputs.get(Columns.ACTION_LOGP)
        if column is None or column.finalized or not isinstance(column.data, list):
            continue
        shape = np.shape(column.data[-1]) if column.data else ()
        for index, item in enumerate(column.data):
            if np.shape(item) != shape:
                column.data[index] = shared_out(item, shape)


def shared_out(value: Any, shape: tuple[int, ...]) -> Any:
    """What a log-probability adds up to, in equal shares.

    Example:
        >>> shared_out(-3.0, (2,)), float(shared_out(np.array([-1.0, -2.0]), ()))
        (array([-1.5, -1.5], dtype=float32), -3.0)
    """
    share = np.float32(np.sum(value) / max(1, int(np.prod(shape))))
    return np.full(shape, share) if shape else share
