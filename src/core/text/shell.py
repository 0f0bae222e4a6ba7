"""Commands as a shell takes them: one line, quoted, to be pasted as they are printed."""

from __future__ import annotations

import os
import shlex


def command(verb: str, *words: str | os.PathLike[str]) -> str:
    """A command of ours.

    Example:
        >>> command("inspect", "a run/checkpoint_1", "--weights")
        "rlconnect inspect 'a run/checkpoint_1' --weights"
    """
    return shlex.join(["rlconnect", verb, *(str(os.fspath(word)) for word in words)])


def shell_path(path: str) -> str:
    """A path as a shell takes it: quoted, and never mistaken for an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)
