"""Recorded observations that a command was given: arrays, saved episodes, or RLlib's samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ..core.errors import ConfigError

_OURS: Final = (".npy", ".npz", ".msgpack")


def observations_in(data: Path | None) -> Any:
    """What `verify(observations=...)` takes for a file or folder of `--data`; None for none.

    Raises:
        CheckpointError: Nothing can be read there.
        ConfigError: It holds episodes of several agents.
    """
    if data is None or data.suffix in _OURS or (data.is_dir() and any(data.glob("*.msgpack"))):
        return data
    from ..offline import open_dataset

    courses = []
    for episode in open_dataset(data).episodes():
        if hasattr(episode, "agent_episodes"):
            raise ConfigError(
                f"{data} holds episodes of several agents",
                hint="give those of one agent, as an .npz of its observations.",
            )
        courses.append([episode.get_observations(place) for place in range(len(episode) + 1)])
    return courses
