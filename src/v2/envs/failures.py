"""Environments that raise or hang."""

from __future__ import annotations

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


def not_a_reward(index: int, found: str) -> EnvStepError:
    """Return the error for a reward that is not a number."""
    return EnvStepError(
        f"environment {index} returned a reward from step() that is no number",
        expected="a number",
        found=found,
        hint="return 0.0 if nothing was earned.",
        index=index,
    )


def told(error: BaseException) -> str:
    """What an environment raised, in a line."""
    return visible(f"{type(error).__name__}: {error}".strip().replace("\n", " "), 2000)
