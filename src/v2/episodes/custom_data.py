"""What users keep with an episode, of one agent or of many."""

from __future__ import annotations

from typing import Any

from ...core.errors import EpisodeError


class CustomData:
    """A dict that travels with an episode, and the calls it took the place of."""

    __slots__ = ()

    _custom_data: dict[Any, Any]

    @property
    def custom_data(self) -> dict[Any, Any]:
        """Whatever users keep with the episode; it travels along, but not into slices."""
        return self._custom_data

    def add_temporary_timestep_data(self, *_: Any, **__: Any) -> None:
        """Gone from RLlib, as from here.

        Raises:
            EpisodeError: Always; it names what took its place.
        """
        raise EpisodeError(
            "add_temporary_timestep_data() is gone",
            hint="keep such data in custom_data: episode.custom_data[key] = value.",
        )

    def get_temporary_timestep_data(self, *_: Any, **__: Any) -> None:
        """Gone from RLlib, as from here.

        Raises:
            EpisodeError: Always; it names what took its place.
        """
        raise EpisodeError(
            "get_temporary_timestep_data() is gone",
            hint="keep such data in custom_data: episode.custom_data[key].",
        )
