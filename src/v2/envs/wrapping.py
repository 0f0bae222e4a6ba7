"""Environments inside wrappers of gymnasium's, by name.

    TimeLimit(CartPole-v1, max_episode_steps=100)
    FrameStackObservation(FlattenObservation(MyEnv-v0), stack_size=4)

The environment comes first, then the wrapper's settings as TOML writes them. Only wrappers of this
table can be named: they take plain settings, write no files, open no window, and hold no averages
that a policy would need to act.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import gymnasium as gym

from ...core import nest
from ...core.data.toml import parse_toml
from ...core.errors import ConfigError

WRAPPERS: Final = (
    "AtariPreprocessing",
    "ClipAction",
    "ClipReward",
    "DelayObservation",
    "FilterObservation",
    "FlattenObservation",
    "FrameStack",
    "FrameStackObservation",
    "GrayScaleObservation",
    "GrayscaleObservation",
    "MaxAndSkipObservation",
    "RepeatAction",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "StickyAction",
    "TimeAwareObservation",
    "TimeLimit",
)
"""The names of wrappers; some are of older or newer releases of gymnasium alone."""

_DEEPEST: Final = 16
_HUGE: Final = 10**9


class Wrapped(NamedTuple):
    """What a name says: a wrapper, what is inside it, and the wrapper's settings."""

    wrapper: str
    inner: str
    settings: str

    def around(self, env: Any) -> Any:
        """An environment in the wrapper.

        Raises:
            ConfigError: The wrapper does not take the settings, or the installed gymnasium has
                none of that name.
        """
        what = f"wrapper {self.wrapper!r}"
        kind = getattr(gym.wrappers, self.wrapper, None)
        if kind is None:
            raise ConfigError(f"{what} is not in gymnasium {gym.__version__}")
        try:
            return kind(env, **self.told())
        except TypeError as error:
            raise ConfigError(f"{what} does not take these settings", found=str(error)) from None

    def told(self) -> Mapping[str, Any]:
        """The settings.

        Raises:
            ConfigError: They are no TOML.
        """
        try:
            told: Mapping[str, Any] = parse_toml(f"of = {{ {self.settings} }}")["of"]
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"wrapper {self.wrapper!r}: its settings are no TOML",
                expected="NAME=VALUE, ...",
                found=f"{self.settings!r}: {error}",
            ) from None
        return told

    def times(self) -> float:
        """How many times larger or slower than what is inside it may be, at most."""
        if self.wrapper == "TimeLimit":
            return 1.0
        numbers = (each for each in nest.flatten(dict(self.told())) if isinstance(each, int))
        return math.prod(max(1.0, abs(min(each, _HUGE))) for each in numbers)

    def named(self, inner: str) -> str:
        """The name with another environment inside."""
        rest = f", {self.settings}" if self.settings else ""
        return f"{self.wrapper}({inner}{rest})"


def wrapped(name: str) -> Wrapped | None:
    """What a name says of a wrapper; None where it names none of the table.

    Example:
        >>> wrapped("TimeLimit(CartPole-v1, max_episode_steps=9)")
        Wrapped(wrapper='TimeLimit', inner='CartPole-v1', settings='max_episode_steps=9')
        >>> wrapped("CartPole-v1")
    """
    wrapper, bracket, rest = name.strip().partition("(")
    if not bracket or wrapper not in WRAPPERS or not rest.endswith(")"):
        return None
    if name.count("(") > _DEEPEST:
        return None
    rest, depth = rest[:-1], 0
    for place, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            return Wrapped(wrapper, rest[:place].strip(), rest[place + 1 :].strip())
    return Wrapped(wrapper, rest.strip(), "")
