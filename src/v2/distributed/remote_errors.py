"""Errors of other processes, raised here as if they were local."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.data.damage import blame_user, user_frames
from ..envs.failures import EnvProcessError, told


class RemoteError(NamedTuple):
    """An error with its causes, on its way to another process.

    Args:
        errors: The pickled errors, the outermost first.
        frames: For each, the lines of the traceback in the user's code.
        text: The whole traceback.
    """

    errors: list[bytes]
    frames: list[list[str]]
    text: str

    @classmethod
    def of(cls, error: BaseException) -> RemoteError:
        """Return the form of an error that can be sent."""
        errors: list[bytes] = []
        frames: list[list[str]] = []
        each: BaseException | None = error
        while each is not None:
            errors.append(_pickled(each))
            theirs = [(step.tb_frame, step.tb_lineno) for step in user_frames(each.__traceback__)]
            lines = traceback.StackSummary.extract(iter(theirs)).format()
            frames.append([line for text in lines for line in text.splitlines()])
            each = each.__cause__
        return cls(errors, frames, "".join(traceback.format_exception(error)))

    def unpacked(self) -> Exception:
        """Return the error with its causes; the last cause shows the remote traceback."""
        cause: Exception = EnvProcessError("traceback of the other process", found=self.text)
        for pickled, lines in zip(reversed(self.errors), reversed(self.frames), strict=True):
            error: Exception = pickle.loads(pickled)
            error.__cause__ = cause
            if lines:
                blame_user(error, lines)
            cause = error
        return cause


def _pickled(error: BaseException) -> bytes:
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:  # its class has other arguments, or is not importable
        return pickle.dumps(EnvProcessError(told(error)))
    return pickled


def attempted(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or its error as a `RemoteError`."""
    try:
        return call()
    except Exception as error:
        return RemoteError.of(error)


def received(result: Any) -> Any:
    """Return a result of `attempted`, or raise its error."""
    if isinstance(result, RemoteError):
        raise result.unpacked()
    return result
