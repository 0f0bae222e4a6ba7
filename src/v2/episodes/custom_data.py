"""What users keep with an episode, of one agent or of many."""

from __future__ import annotations

from typing import Any

from ...core.errors import EpisodeError


class CustomData:
    """A dict that travels with an episode, and the calls it took the place of.

    Attributes:
        custom_data: Whatever users keep with the episode; it does not go into slices.
    """

    __slots__ = ()

    custom_data: dict[Any, Any]

    def add_temporary_timestep_data(self, *_: Any, **__: Any) -> None:
        """Gone from RLlib, as from here: raises an EpisodeError that names `custom_data`."""
        raise EpisodeError(
            "add_temporary_timestep_data() is gone",
            hint="keep such data in custom_data: episode.custom_data[key] = value.",
        )

    def get_temporary_timestep_data(self, *_: Any, **__: Any) -> None:
        """Gone from RLlib, as from here: raises an EpisodeError that names `custom_data`."""
        raise EpisodeError(
            "get_temporary_timestep_data() is gone",
            hint="keep such data in custom_data: episode.custom_data[key].",
        )
