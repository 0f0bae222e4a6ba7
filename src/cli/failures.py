"""How a command that failed says so: two lines, one JSON document, or the frames of a user's code.

    2  the command could not: an `error:` and a `hint:` on standard error
    3  code of the user's (an environment, a module named by --import) failed: its own frames only

With `--json` the same stands on standard output as one object, too.
"""

from __future__ import annotations

import re
import shlex
import traceback
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any, Final

from ..core.data.damage import is_of_user, remote_frames, user_frames
from ..core.errors import CheckpointError, RlconnectError
from .command_line import given_words
from .hints import hint_of, see_help
from .options import MISTAKE, USER_FAILED
from .printing import print_json

TRACEBACK: Final = "RLCONNECT_TRACEBACK"
_LONGEST_LINE: Final = 1200
_EXTRA: Final = re.compile(r"unexpected extra argument(?:\(?s\)?)? \((.+)\)")
_PRINTING: Final = ("click", "rich", "typer")
_ENVIRONMENTS: Final = ("gymnasium.envs", "gymnasium.wrappers", "gymnasium.utils", "pettingzoo")


@dataclass(frozen=True)
class Failure:
    """Why a command failed.

    Args:
        error: What went wrong, in one line.
        type: The class of the error.
        hint: What to do next.
        expected: What would have been right.
        found: What was there instead.
        frames: Where in the user's own code it came up, the innermost last.
        code: The exit code.
    """

    error: str
    type: str
    hint: str
    expected: str = ""
    found: str = ""
    frames: tuple[str, ...] = ()
    code: int = MISTAKE

    def tell(self, *, as_json: bool) -> int:
        """Print it and give the exit code."""
        from rich.text import Text

        from ..core.text.visible import visible
        from .theme import errors_console

        if as_json:
            print_json(asdict(self))
        out = errors_console()
        for line in self.frames:
            out.print(Text(visible(line, _LONGEST_LINE)))
        for word, style, text in (("error", "bad", self.error), ("hint", "label", self.hint)):
            line = visible(_shortened(" ".join(text.split())), most=_LONGEST_LINE * 10)
            out.print(Text.assemble((f"{word}:", style), f" {line}"))
        return self.code


def known(error: RlconnectError) -> Failure:
    """An error of ours."""
    is_file = isinstance(error, CheckpointError)
    otherwise = "list what can be read: rlconnect scan ." if is_file else see_help()
    hint = hint_of(error) or otherwise
    if getattr(error, "is_of_user", False) and error.__cause__ is not None:
        theirs = of_user(error.__cause__)
        if theirs is not None:  # Told as such, with the place in their code.
            return replace(theirs, error=error.summary, type=type(error).__name__)
    return Failure(error.summary, type(error).__name__, hint, error.expected, error.found)


def usage(error: Any) -> Failure:
    """A wrong command line in typer's words, and where to read how it is written."""
    command = error.ctx.command_path if error.ctx else "rlconnect"
    said = str(error.format_message())
    extra = _EXTRA.search(said)
    hint = f"see how it is written: {command} --help"
    return Failure(said, "UsageError", (extra and repeated_option(extra[1].split()[0])) or hint)


def repeated_option(word: str) -> str:
    """How to write what was typed as `--set a=1 b=2`, given `b=2`; empty for other words."""
    words = list(given_words())
    before = words[: words.index(word)] if word in words else []
    at = max((place for place, each in enumerate(before) if each.startswith("-")), default=-1)
    values = [*before[at + 1 :], word]
    if at < 0 or len(values) == 1 or not all("=" in each for each in values):
        return ""
    repeated = [part for value in values for part in (before[at], value)]
    return f"repeat the option for each: {shlex.join(repeated)}"


def unwritten(error: OSError) -> Failure:
    """Output that goes nowhere."""
    from ..core.vault.own.write_errors import hint_for

    reason = (error.strerror or type(error).__name__).lower()
    hint = hint_for(error.errno) or "look at where it goes to, and try again."
    return Failure(f"the output cannot be written: {reason}", type(error).__name__, hint)


def of_user(error: BaseException) -> Failure | None:
    """A failure of a user's own code, or of an environment; None for one of ours."""
    trace = _below_typer(error.__traceback__)
    theirs = [frame for frame in user_frames(trace) if _home(frame) not in _PRINTING]
    if not (theirs or is_of_user(error, None) or _in_environment(trace)):
        return None
    stack = traceback.StackSummary.extract((frame.tb_frame, frame.tb_lineno) for frame in theirs)
    lines = [line for text in stack.format() for line in text.splitlines()]
    lines += remote_frames(error)
    if isinstance(error, SyntaxError):
        error_lines = traceback.format_exception_only(type(error), error)
        lines += [line for text in error_lines[:-1] for line in text.splitlines()]
    return Failure(
        f"code of yours, or its environment, failed: {type(error).__name__}: {error}",
        type(error).__name__,
        f"mend it there; {TRACEBACK}=1 shows every frame.",
        frames=tuple(lines),
        code=USER_FAILED,
    )


def of_ours(error: BaseException) -> Failure:
    """A defect of rlconnect itself."""
    name = type(error).__name__
    hint = f"please report it; {TRACEBACK}=1 shows where it came up."
    return Failure(f"rlconnect itself failed, {name}: {error}", name, hint)


def _below_typer(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins with the command itself."""
    below = trace
    while trace is not None:
        if _home(trace) in ("click", "typer"):
            below = trace.tb_next
        trace = trace.tb_next
    return below


def _home(trace: TracebackType) -> str:
    """The package whose code a step of a traceback lies in."""
    return str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0]


def _in_environment(trace: TracebackType | None) -> bool:
    """Whether an environment's own checks refused what the environment did."""
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__")).startswith(_ENVIRONMENTS):
            return True
        trace = trace.tb_next
    return False


def _shortened(text: str) -> str:
    """A line without its middle, if it is too long to read."""
    half = _LONGEST_LINE // 2
    return text if len(text) <= _LONGEST_LINE else f"{text[:half]}…{text[-half:]}"
