r"""One checksum for all files of a checkpoint, which a shell computes, too.

In the folder: `find . -type f | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum`.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from .reading import READ_FLAGS

_BLOCK: Final = 1 << 20


def fingerprint_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file, or of the list of those of a folder's files; links are left out.

    Empty where nothing can be read there.
    """
    target = Path(path)
    try:
        if target.is_file():
            return digest_of(target)
        files = [Path(place, name) for place, _, names in os.walk(target) for name in names]
        lines = [
            f"{digest_of(file)}  ./{file.relative_to(target).as_posix()}\n"
            for file in files
            if stat.S_ISREG(os.lstat(file).st_mode)
        ]
    except OSError:
        return ""
    lines.sort(key=lambda line: os.fsencode(line.partition("  ")[2]))
    return hashlib.sha256(b"".join(map(os.fsencode, lines))).hexdigest() if lines else ""


def digest_of(file: Path) -> str:
    """The SHA-256 of one file."""
    digest = hashlib.sha256()
    with open(os.open(file, READ_FLAGS), "rb", buffering=0) as opened:
        while block := opened.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
