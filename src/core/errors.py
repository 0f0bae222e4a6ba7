"""Every error rlconnect raises: what was expected, what was found, what to do.

    RlconnectError
    +-- SpaceError (ValueError)            a value or space does not fit another space
    +-- PieceError (ValueError)            a connector, preprocessor or adapter cannot work
    +-- PipelineError (ValueError)         an edit or call aims at something that is not there
    +-- ConfigError (ValueError)           a setting is unknown or contradicts another
    +-- WeightsError (ValueError)          weights do not fit the network to hold them
    +-- EpisodeError (ValueError)          episode data that cannot have happened
    +-- UnknownNameError (LookupError)     no such name in a registry, policy or column list
    +-- DuplicateNameError (ValueError)    the same name for two different things
    +-- MissingExtraError (ImportError)    an optional dependency is not installed
    +-- CheckpointError (ValueError)       everything that can go wrong with files
        +-- CheckpointNotFoundError (FileNotFoundError)  nothing lies at that path
        +-- CheckpointAccessError (PermissionError)      it lies there, we may not read it
        +-- NotACheckpointError            it is readable and it is no checkpoint
        +-- UnknownFormatError             a checkpoint of a version nobody described
        +-- MissingPartError               a file or entry the checkpoint needs is gone
        +-- UnknownClassError (UnknownNameError)  it names a class or function that nobody gave
        +-- CorruptCheckpointError         cut, flipped or contradicting bytes
        +-- UnsafeCheckpointError          data built to harm, refused
            +-- UnsafeContentWarning (UserWarning)       read without harm, but others would run it
        +-- LimitExceededError             more memory, depth or work than allowed
        +-- CheckpointWriteError (OSError) writing failed; the old file is untouched

Each error carries its facts as attributes (`error.facts`, `error.hint`, ...) and pickles. One that
is about data of a file begins with the place in it, `error.place`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .text.visible import visible_lines


class RlconnectError(Exception):
    """Base of every error raised on purpose by rlconnect.

    Args:
        message: One line that names the piece, key, file or column concerned.
        expected: What would have been right, in words a user knows.
        found: What was there instead.
        hint: What to do next; a command or call where there is one.
        **facts: Machine-readable values, readable as attributes.

    Example:
        >>> error = RlconnectError("no such policy", expected="'a'", found="'b'", hint="list them.")
        >>> print(error)
        no such policy: expected 'a', found 'b'.
          hint: list them.
    """

    def __init__(
        self, message: str, *, expected: str = "", found: str = "", hint: str = "", **facts: Any
    ) -> None:
        super().__init__(message)
        self.message, self.expected, self.found, self.hint = message, expected, found, hint
        self.facts = facts
        for name, value in facts.items():
            setattr(self, name, value)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def set_place(self, place: str) -> None:
        """Say where in a file the data lies that this is about."""
        self.facts["place"] = place
        self.place = place

    @property
    def summary(self) -> str:
        """The error in one line, without its hint."""
        words = {"expected": self.expected, "found": self.found}
        parts = ", ".join(f"{word} {value}" for word, value in words.items() if value)
        text = f"{self.message}: {parts}." if parts else self.message
        place = str(self.facts.get("place") or "")  # in a file: see `core.data.damage`
        outer, _, last = place.rpartition(" > ")
        if last and text.startswith(last):
            place = outer
        return f"{place}: {text}" if place else text

    def __str__(self) -> str:
        summary = visible_lines(self.summary)
        return f"{summary}\n  hint: {visible_lines(self.hint)}" if self.hint else summary

    def __reduce__(self) -> Any:
        named = {"expected": self.expected, "found": self.found, "hint": self.hint}
        return partial(type(self), self.message, **named, **self.facts), ()


class SpaceError(RlconnectError, ValueError):
    """A value or a space does not fit another space."""


class PieceError(RlconnectError, ValueError):
    """One connector, preprocessor or adapter cannot do its work."""


class PipelineError(RlconnectError, ValueError):
    """A pipeline edit or call aims at something that is not there."""


class ConfigError(RlconnectError, ValueError):
    """A setting is unknown or contradicts another."""


class WeightsError(RlconnectError, ValueError):
    """Weights do not fit the network that should hold them."""


class EpisodeError(RlconnectError, ValueError):
    """Episode data that cannot have happened."""


class UnknownNameError(RlconnectError, LookupError):
    """No such name in a registry, a checkpoint or a list of columns."""


class DuplicateNameError(RlconnectError, ValueError):
    """One name for two different things."""


class MissingExtraError(RlconnectError, ImportError):
    """An optional dependency is not installed."""


class CheckpointError(RlconnectError, ValueError):
    """Anything that can go wrong with a checkpoint file or folder."""


class CheckpointNotFoundError(CheckpointError, FileNotFoundError):
    """Nothing lies at the given path."""


class CheckpointAccessError(CheckpointError, PermissionError):
    """Something lies at the path, but it may not be read."""


class ProgramNotAllowedError(CheckpointError, PermissionError):
    """The path contains an exported program, which is code, and running it was not allowed."""


class NotACheckpointError(CheckpointError):
    """The path is readable and holds no checkpoint."""


class UnknownFormatError(CheckpointError):
    """A checkpoint of a version or layout that is not known."""


class MissingPartError(CheckpointError):
    """A file or an entry that the checkpoint needs is gone."""


class UnknownClassError(CheckpointError, UnknownNameError):
    """A checkpoint names a class or function that rlconnect does not have and nobody has given.

    `class_name` is the first such name, `missing` are all of them. `weights` holds what could be
    read beside a module: the arrays by name, one such table per id of a multi-module.
    """


class CorruptCheckpointError(CheckpointError):
    """Bytes that are cut, flipped or contradict each other."""


class UnsafeCheckpointError(CheckpointError):
    """Data that can only have been built to do harm; refused."""


class UnsafeContentWarning(UnsafeCheckpointError, UserWarning):
    """A file was read without harm that would run programs if an ordinary unpickler opened it.

    A warning; `warnings.simplefilter("error", UnsafeContentWarning)` refuses such files.
    """


class ChosenCheckpointWarning(UserWarning):
    """A folder of a trial stands for the newest checkpoint in it."""


class UnusedSettingWarning(UserWarning):
    """A setting changes nothing, since another one counts."""


class LimitExceededError(CheckpointError):
    """Reading would take more memory, depth or work than allowed."""


class CheckpointWriteError(CheckpointError, OSError):
    """Writing failed; what was there before is untouched."""
