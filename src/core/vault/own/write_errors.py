"""One error for a disk that refuses a save, with a hint what to do about it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from safetensors import SafetensorError

from ...errors import CheckpointError, CheckpointWriteError

_HINTS: Final = {
    errno.ENOSPC: "free some space on that disk, or save elsewhere.",
    errno.EDQUOT: "free some of your quota, or save elsewhere.",
    errno.EACCES: "ask for write permission on the parent folder, or save elsewhere.",
    errno.EPERM: "ask for write permission on the parent folder, or save elsewhere.",
    errno.EROFS: "that disk is read-only; save elsewhere.",
    errno.ENOTDIR: "a part of the path is a file; choose another path.",
    errno.EISDIR: "a folder lies there; choose another name.",
    errno.ENOENT: "make the folder it is to lie in, or choose another path.",
    errno.ENAMETOOLONG: "choose a shorter name.",
    errno.EBUSY: "save to a folder inside it: a disk is mounted there, or a program holds it.",
}
_MOST_NAMED: Final = 3


def _is_encodable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def refusals(target: Path) -> Iterator[None]:
    """Turn errors of the disk into one of ours; an older save at `target` is untouched."""
    text = os.fspath(target)
    if "\0" in text or not (text.isprintable() or _is_encodable(text)):
        raise CheckpointWriteError(f"{text!r} cannot be a path", path=text)
    try:
        yield
    except CheckpointError:  # some are errors of files, too
        raise
    except (OSError, SafetensorError) as error:
        code = getattr(error, "errno", None)
        if not code:  # safetensors gives it as text; older releases spell it otherwise
            match = re.search(r"\(os error (\d+)\)|Os \{ code: (\d+)", str(error))
            code = int(match[1] or match[2]) if match else None
        reason = os.strerror(code).lower() if code else str(error)
        hint = hint_for(code) or "what was there before is untouched; try again."
        open_files = _open_files(target) if isinstance(error, PermissionError) else []
        if open_files:
            names = ", ".join(map(repr, open_files[:_MOST_NAMED]))
            hint = f"let go of {names}, which a program has open or mapped; else {hint}"
        raise CheckpointWriteError(
            f"cannot save to {target}: {reason}.",
            hint=hint,
            path=str(target),
            code=code,
        ) from error


def _open_files(target: Path) -> list[str]:
    """Files of a folder that the system moves nowhere, not even to where they are, by name."""
    names = []
    for each in [target] if os.path.isfile(target) else sorted(target.rglob("*")):
        try:
            if os.path.isfile(each) and not os.path.islink(each):
                os.rename(each, each)
        except FileNotFoundError:
            continue
        except OSError:
            names.append(each.name)
    return names


def refusal(target: Path, why: str, hint: str) -> CheckpointWriteError:
    """The error for a place that we will not write to."""
    return CheckpointWriteError(f"cannot save to {target}: {why}.", hint=hint, path=str(target))


def hint_for(code: int | None) -> str:
    """The hint for an error number; empty if there is none."""
    return _HINTS.get(code or 0, "")
