"""The errors of episodes that also are the builtin a caller of RLlib would catch."""

from __future__ import annotations

from ...core.errors import EpisodeError, UnknownNameError


class EpisodeIndexError(EpisodeError, IndexError):
    """A time step lies outside of the data, or new values do not fill the steps given."""


class EpisodeKeyError(UnknownNameError, KeyError):
    """No such agent, or no such model output, in this episode."""


class EpisodeItemError(EpisodeError, NotImplementedError):
    """A way to index or slice an episode that means nothing."""


class EpisodeStateError(EpisodeError, RuntimeError):
    """Something that cannot be done any more: the data was finalized, or the episode is done."""


class MultiAgentEnvError(EpisodeError):
    """A multi-agent environment returned data that contradicts itself."""
