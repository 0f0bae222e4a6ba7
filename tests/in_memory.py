"""A folder in memory for what tests write: on a disk, removing one takes milliseconds."""

import atexit
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOM = 2 << 30
"""Bytes that have to be free; a run of all tests leaves some 150 MB."""


def write_in_memory(shared: str = "/dev/shm") -> None:
    """Have this process and those it starts write temporary files there until it ends.

    Not where the caller says another place, there is little room, or programs may not lie there.
    """
    if "TMPDIR" in os.environ or not os.access(shared, os.W_OK) or not hasattr(os, "statvfs"):
        return
    facts = os.statvfs(shared)
    if facts.f_bavail * facts.f_frsize < ROOM:
        return
    folder = tempfile.mkdtemp(prefix="rlconnect-tests-", dir=shared)
    atexit.register(_remove, folder, os.getpid())
    if _can_run_programs(Path(folder)):
        os.environ["TMPDIR"], tempfile.tempdir = folder, None


def _can_run_programs(folder: Path) -> bool:
    program = folder / "program"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o700)
    try:
        return subprocess.run([program], check=False).returncode == 0
    except OSError:
        return False


def _remove(folder: str, pid: int) -> None:
    if os.getpid() == pid:  # A process that was forked ends, too.
        shutil.rmtree(folder, ignore_errors=True)
