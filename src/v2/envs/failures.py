"""Environments that raise or hang."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core.errors import RlconnectError
from ...core.text.visible import visible


class EnvStepError(RlconnectError, RuntimeError):
    """An environment raised, hung or died, and is not to be made anew.

    `index` is its place in the vector; what it raised is the cause of this error.
    """

    is_of_user = True


class EnvProcessError(RlconnectError, RuntimeError):
    """The process of an environment does not answer, or has ended."""


def step_error(index: int, what: str, found: str) -> EnvStepError:
    """The error for an environment that failed for good."""
    return EnvStepError(
        f"environment {index} failed in {what}",
        found=found,
        hint="config.fault_tolerance(restart_failed_sub_environments=True) makes it anew and goes "
        "on with a new episode.",
        index=index,
    )


def as_floats(rewards: Iterable[Any]) -> list[float]:
    """Return the rewards of environments as floats.

    Raises:
        EnvStepError: One is no number.
    """
    numbers = []
    for index, reward in enumerate(rewards):
        try:
            numbers.append(float(reward))
        except (TypeError, ValueError):
            raise EnvStepError(
                f"environment {index} returned a reward from step() that is no number",
                expected="a number",
                found=visible(repr(reward), 100),
                hint="return 0.0 if nothing was earned.",
                index=index,
            ) from None
    return numbers


def told(error: BaseException) -> str:
    """What an environment raised, in a line."""
    return visible(f"{type(error).__name__}: {error}".strip().replace("\n", " "), 2000)
