"""What stands for a mapping function that a file only names."""

from __future__ import annotations

from typing import Any

from ....core.errors import UnknownNameError


class LostMapping:
    """A mapping function that was never loaded: it says so when somebody asks it.

    Args:
        name: What the file calls it.

    Example:
        >>> LostMapping("__main__.<lambda>")("walker")
        Traceback (most recent call last):
            ...
        rlconnect.core.errors.UnknownNameError: which module plays agent 'walker'? ...
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, agent_id: Any, episode: Any = None, **kwargs: Any) -> Any:
        """Say that nobody knows.

        Raises:
            UnknownNameError: Always.
        """
        raise UnknownNameError(
            f"which module plays agent {agent_id!r}? {self.name!r} knew, and code is not loaded",
            expected="a function from agents to modules, or a dict",
            hint="load with policy_mapping_fn=, in a terminal --map AGENT=MODULE for each agent.",
        )
