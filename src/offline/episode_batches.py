"""Episodes as batches of the old stack, and what is to tell of many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core import nest
from ..legacy.batches.sample_batch import SampleBatch
from ..v2.episodes.single_agent import SingleAgentEpisode


def batch_of_episode(episode: SingleAgentEpisode, number: int) -> SampleBatch:
    """All steps of a numpy'd episode as a batch, in the columns of the old stack.

    Args:
        episode: At least one step long.
        number: Its `eps_id`, where its own id is no number.
    """
    steps = len(episode)
    seen = episode.get_observations(slice(0, steps + 1))
    ends = np.zeros((2, steps), bool)
    ends[:, -1:] = [[episode.is_terminated], [episode.is_truncated]]
    own = str(episode.id_)
    is_number = own.isdecimal() and len(own) < 19
    return SampleBatch(
        {
            "obs": nest.taken(seen, slice(0, steps)),
            "new_obs": nest.taken(seen, slice(1, None)),
            "actions": episode.get_actions(slice(0, steps)),
            "rewards": np.asarray(episode.get_rewards(slice(0, steps))),
            "terminateds": ends[0],
            "truncateds": ends[1],
            "infos": list(episode.get_infos(slice(0, steps))),
            "eps_id": np.full(steps, int(own) if is_number else number),
            "agent_index": np.zeros(steps, np.int64),
            "t": np.arange(steps) + episode.t_started,
            **{
                name: episode.get_extra_model_outputs(name, slice(0, steps))
                for name in episode.extra_model_outputs
            },
        }
    )


def facts_of_episodes(
    episodes: Iterable[SingleAgentEpisode], written_by: str | None
) -> dict[str, Any]:
    """Columns and counts."""
    columns: dict[str, None] = dict.fromkeys(("obs", "actions", "rewards", "infos"))
    ids: set[str] = set()
    rows = 0
    for episode in episodes:
        rows += len(episode)
        ids.add(episode.id_)
        columns.update(dict.fromkeys(episode.extra_model_outputs))
    counts = {"rows": rows, "episodes": len(ids)}
    return {"written_by": written_by, "columns": [*columns], "counts": counts}
