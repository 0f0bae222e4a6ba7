"""A disk that moves and removes no file that is open or mapped, as Windows has it."""

import errno
import os
from pathlib import Path

import pytest
from rlconnect.core.vault.own import atomic, leftovers


def open_files():
    """What this process has open or mapped, as Linux tells."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return found | {line.split(maxsplit=5)[5] for line in lines if len(line.split()) > 5}


def _refusing(call):
    def guarded(*paths, **words):
        places = [os.path.realpath(path) for path in paths if isinstance(path, (str, os.PathLike))]
        for held in open_files():
            if any(held == place or held.startswith(f"{place}{os.sep}") for place in places):
                raise PermissionError(errno.EACCES, "another process is using it", str(paths[0]))
        return call(*paths, **words)

    return guarded


def as_on_windows(monkeypatch):
    """Rename and remove as Windows does: nothing open, nothing exchanged, no locks on folders."""
    if not Path("/proc/self/maps").exists():
        pytest.skip("this system does not tell what is open")
    for name in ("rename", "replace", "unlink", "remove"):
        monkeypatch.setattr(os, name, _refusing(getattr(os, name)))
    monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    monkeypatch.setattr(leftovers, "_lock", lambda path: None)
