"""Episodes as batches of the old stack, and what is to tell of many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core import nest
from ..legacy.batches.sample_batch import SampleBatch
from ..v2.episodes.multi_agent import MultiAgentEpisode
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
    return SampleBatch(
        {
            "obs": nest.taken(seen, slice(0, steps)),
            "new_obs": nest.taken(seen, slice(1, None)),
            "actions": episode.get_actions(slice(0, steps)),
            "rewards": np.asarray(episode.get_rewards(slice(0, steps))),
            "terminateds": ends[0],
            "truncateds": ends[1],
            "infos": list(episode.get_infos(slice(0, steps))),
            "eps_id": np.full(steps, int(own) if is_number(own) else number),
            "agent_index": np.zeros(steps, np.int64),
            "t": np.arange(steps, dtype=np.int64) + episode.t_started,
            **{
                name: episode.get_extra_model_outputs(name, slice(0, steps))
                for name in episode.extra_model_outputs
            },
        }
    )


def is_number(id_: str) -> bool:
    """Whether the id of an episode is one that the old stack may have given."""
    return id_.isdecimal() and len(id_) < 19 and str(int(id_)) == id_


def facts_of_episodes(
    episodes: Iterable[SingleAgentEpisode | MultiAgentEpisode], written_by: str | None
) -> dict[str, Any]:
    """Columns and counts."""
    columns: dict[str, None] = dict.fromkeys(("obs", "actions", "rewards", "infos"))
    ids: set[str] = set()
    rows = 0
    for episode in episodes:
        rows += len(episode)
        ids.add(episode.id_)
        parts = (
            [episode]
            if isinstance(episode, SingleAgentEpisode)
            else episode.agent_episodes.values()
        )
        for part in parts:
            columns.update(dict.fromkeys(part.extra_model_outputs))
    counts = {"rows": rows, "episodes": len(ids)}
    return {"written_by": written_by, "columns": [*columns], "counts": counts}
