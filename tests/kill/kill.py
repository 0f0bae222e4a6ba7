"""Kill saves of every kind, and cut the power: what lies there is wholly the old or the new save.

    python -m tests.kill.kill --kills 200              at random moments
    python -m tests.kill.kill --each                   at each thing a save asks of the system
    python -m tests.kill.kill --power 100              power lost at each step, replayed so often
    python -m tests.kill.kill --kinds algorithm,module ...

`make kills` runs the first. Ends with 1 if a save was torn or something was left behind; the naive
saver beside them has to be torn, or the harness saw nothing.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

from tests.kill.kinds import KINDS, NaiveTree
from tests.kill.power_loss import Disk

EVENTS = ("open", "os.", "shutil.")


def in_child(work):
    """Do something in a forked process that ends without any clean-up; give its id."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException as error:
            print(f"child failed: {error!r}", file=sys.stderr, flush=True)
            os._exit(3)
        os._exit(0)
    return child


def save_for_ever(kind):
    """Save one and the other until the end."""
    while True:
        for label in "BA":
            kind.save(label)


def save_until(kind, label, event):
    """Save once, and die at the given thing it asks of the system."""
    seen = 0

    def count(name, args):
        nonlocal seen
        if name.startswith(EVENTS):
            seen += 1
            if seen == event:
                os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = lambda handle: count("os.fsync", ())
    sys.addaudithook(count)
    kind.save(label)


class Tally:
    """What was found after kills."""

    def __init__(self):
        self.kills = self.torn = self.unreadable = self.litter = 0
        self.seen = {"A": 0, "B": 0}
        self.left = 0

    def look(self, kind, allowed="AB"):
        """Load what lies there."""
        self.kills += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                label = kind.label()
            kind.check_note()
            if label not in allowed:
                raise AssertionError(f"{label} where {allowed} is promised")
            self.seen[label] += 1
        except AssertionError as error:
            self.torn += 1
            self.say(kind, error)
        except Exception as error:
            self.unreadable += 1
            self.say(kind, error)

    def say(self, kind, error):
        """Tell the first few."""
        if self.torn + self.unreadable <= 3:
            print(f"  {type(kind).__name__}: {type(error).__name__}: {str(error)[:200]}")

    def end(self, kind):
        """Save once more, and look for what is left behind."""
        kind.save("A")
        if not kind.is_clean():
            self.litter += 1
            print("  left behind:", sorted(os.listdir(kind.folder)))

    @property
    def is_whole(self):
        """Whether nothing was torn."""
        return not (self.torn or self.unreadable or self.litter)


def kill_at_random(kind, kills, rng):
    """Kill a process that saves without end."""
    tally = Tally()
    kind.save("A")
    kind.put_note()
    start = time.perf_counter()
    for label in "BA":
        kind.save(label)
    duration = time.perf_counter() - start
    for _ in range(kills):
        child = in_child(lambda: save_for_ever(kind))
        time.sleep(rng.uniform(0.002, 1.5) * duration)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        tally.left += not kind.is_clean()
        tally.look(kind)
        if rng.random() < 0.1:
            tally.end(kind)
    tally.end(kind)
    return tally


def kill_at_each(kind, most=2000):
    """Kill one save at each event, one after the other."""
    tally = Tally()
    kind.save("A")
    kind.put_note()
    for event in range(1, most):
        kind.save("A")
        child = in_child(lambda event=event: save_until(kind, "B", event))
        _, status = os.waitpid(child, 0)
        is_done = not os.WIFSIGNALED(status)
        tally.left += not kind.is_clean()
        tally.look(kind, "B" if is_done else "AB")
        if is_done:
            break
    tally.end(kind)
    return tally


def lose_power(kind, rng, replays, most=10_000):
    """Replay what was on the disk at each step of a save; unflushed names and bytes at random."""
    tally = Tally()
    kind.save("A")
    kind.put_note()
    with Disk(kind.folder) as disk:
        kind.save("B")
        disk.step("the end")
    home = kind.folder, kind.target
    moments = [(step, n) for step in range(len(disk.steps)) for n in range(replays)]
    if len(moments) > most:
        moments = sorted(rng.sample(moments, most))
    for step, _ in moments:
        with tempfile.TemporaryDirectory() as folder:
            kind.folder = Path(folder) / "disk"
            kind.target = kind.folder / kind.name
            disk.replay(step, kind.folder, rng)
            tally.left += not kind.is_clean()
            tally.look(kind, "B" if step == len(disk.steps) - 1 else "AB")
            if rng.random() < 0.05:
                tally.end(kind)
        kind.folder, kind.target = home
    return tally


def run(kind_class, way, rng):
    """One kind in one way, in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="kill-"))
    place = folder / "disk"
    place.mkdir()
    try:
        return way(kind_class(place), rng)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments=None):
    """Run what was asked for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--power", type=int, default=0, metavar="REPLAYS")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    os.fsync = lambda handle: None  # A killed process loses nothing it wrote; it takes long.
    names = [name.strip() for name in given.kinds.split(";") if name.strip()] or list(KINDS)
    ways = {}
    if given.kills:
        ways["killed"] = lambda kind, rng: kill_at_random(kind, given.kills, rng)
    if given.each:
        ways["at each"] = lambda kind, rng: kill_at_each(kind)
    if given.power:
        ways["power"] = lambda kind, rng: lose_power(kind, rng, given.power)
    is_whole = True
    head = ("kind", "way", "kills", "old/new", "torn", "unreadable", "left over", "after a save")
    line = "{:<20} {:<8} {:>6} {:>10} {:>6} {:>10} {:>10} {:>12}"
    print(line.format(*head), flush=True)
    for name in [*names, "naive (control)"]:
        for way, work in ways.items():
            kind_class = NaiveTree if name.startswith("naive") else KINDS[name]
            tally = run(kind_class, work, random.Random(given.seed))
            seen = f"{tally.seen['A']}/{tally.seen['B']}"
            counts = tally.kills, seen, tally.torn, tally.unreadable, tally.left, tally.litter
            print(line.format(name, way, *counts), flush=True)
            if tally.is_whole == (kind_class is NaiveTree):
                is_whole = False
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
