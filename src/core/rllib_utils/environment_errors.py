"""What environments raise to say how they failed; old environments import and raise these."""

from __future__ import annotations


class StepFailedRecreateEnvError(Exception):
    """A step failed in a way that only a new environment mends: `reset()` will not do.

    Raise it in `step()`.
    """


class EnvError(Exception):
    """An environment does not keep to its interface."""


class UnsupportedSpaceException(Exception):
    """A space that this code cannot handle."""


class NotSerializable(Exception):
    """Something that cannot be written as plain data."""
