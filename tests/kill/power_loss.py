"""A model of what is on a disk when the power fails, recorded while a real save runs.

After each thing a save asks of the system the folder is looked at: entries of each directory,
bytes of each file. `fsync` of a file makes its bytes durable, `fsync` of a directory its entries.
What came later is on the disk or is not: each directory keeps its flushed entries or any later
ones, each file its flushed bytes, the later ones, half of them or none.
"""

import os
import stat
from functools import partial

from rlconnect.core.vault.own import atomic

CALLS = ("rename", "replace", "mkdir", "link", "symlink", "unlink", "rmdir", "open", "chmod")


class Disk:
    """Records a folder as a context; `replay` writes what a power loss may have left.

    Args:
        folder: What is recorded, with all below it; it is on the disk as it is now.
    """

    def __init__(self, folder):
        self.folder = folder
        self.root = os.stat(folder).st_ino
        self.kept = {}  # an open handle each, so that no number is used twice
        self.durable = {}
        self.later = {}
        self.steps = []

    def __enter__(self):
        self._look()
        for number, versions in self.later.items():
            self.durable[number] = versions[-1]
            self.later[number] = []
        self._save_step("begin")
        self._real = {name: getattr(os, name) for name in (*CALLS, "fsync")}
        for name in CALLS:
            setattr(os, name, partial(self._call, name))
        os.fsync = self._fsync
        self._exchange, atomic.exchange = atomic.exchange, partial(self._swap, atomic.exchange)
        return self

    def __exit__(self, *error):
        for name, function in self._real.items():
            setattr(os, name, function)
        atomic.exchange = self._exchange
        for handle in self.kept.values():
            os.close(handle)

    def step(self, what):
        """Take down how things are."""
        self._look()
        self._save_step(what)

    def replay(self, step, target, rng):
        """Write a folder as a power loss after a step may have left it."""
        self._write(self.root, target, *self.steps[step][1:], rng)

    def _call(self, name, *args, **kwargs):
        found = self._real[name](*args, **kwargs)
        if name != "open" or args[1] & os.O_CREAT:
            self.step(name)
        return found

    def _swap(self, exchange, *paths):
        found = exchange(*paths)
        self.step("exchange")
        return found

    def _fsync(self, handle):
        self._look()
        number = os.fstat(handle).st_ino
        if self.later.get(number):
            self.durable[number] = self.later[number][-1]
            self.later[number] = []
        self._save_step("fsync")

    def _save_step(self, what):
        later = {number: list(versions) for number, versions in self.later.items()}
        self.steps.append((what, dict(self.durable), later))

    def _look(self):
        pending = [str(self.folder)]
        while pending:
            place = pending.pop()
            self._take(place, self._content(place, pending))

    def _content(self, place, pending):
        mode = os.lstat(place).st_mode
        if stat.S_ISDIR(mode):
            entries = {}
            for name in sorted(os.listdir(place)):
                inner = os.path.join(place, name)
                entries[name] = os.lstat(inner).st_ino
                pending.append(inner)
            return ("folder", entries)
        if stat.S_ISLNK(mode):
            return ("link", os.readlink(place))
        with open(place, "rb") as file:
            return ("file", file.read())

    def _take(self, place, content):
        number = os.lstat(place).st_ino
        if number not in self.kept:
            opened = getattr(self, "_real", {}).get("open", os.open)
            self.kept[number] = opened(place, os.O_PATH | os.O_NOFOLLOW)
        versions = self.later.setdefault(number, [])
        last = versions[-1] if versions else self.durable.get(number)
        if last != content:
            versions.append(content)

    def _write(self, number, target, durable, later, rng):
        flushed = durable.get(number)
        unflushed = later.get(number, [])
        choices = [flushed, *unflushed]
        kind, content = rng.choice([each for each in choices if each] or [("file", b"")])
        if kind == "link":
            os.symlink(content, target)
        elif kind == "file":
            if unflushed and (kind, content) != flushed:
                content = content[: rng.choice([0, len(content) // 2, len(content)])]
            target.write_bytes(content)
        else:
            if flushed is None:  # A folder that was never flushed may have lost its entries.
                content = rng.choice([{}, content])
            target.mkdir()
            for name, inner in content.items():
                self._write(inner, target / name, durable, later, rng)
