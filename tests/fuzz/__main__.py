"""Attack everything that reads files or takes a state over, and tell what should not have happened.

    python -m tests.fuzz --hours 1 [--seed 7] [--kind pipeline] [--door cli] [--case 1234]

Decoded data of every kind of checkpoint is changed as data, written back in its encoding, and given
to every loader, setter and command. Each case ends in a value or in an error of ours; everything
else is a finding. Worker processes do it: one that dies, hangs or takes too much memory is a
finding too, and another one goes on. `test_fuzz.py` runs a few hundred of the same cases.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SILENCE = 60.0
"""Seconds after which a worker counts as hanging: this program's own patience, not a test's."""


class Worker:
    """A process that carries out cases, and what it said last."""

    def __init__(self, options, first, scratch):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        environment["PYTHONPATH"] = str(ROOT)
        words = (options.seed, first, scratch, options.memory, options.kind, options.door)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", *map(str, words)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
            text=True,
            bufsize=1,
            encoding="utf-8",
        )
        self.number = first
        self.has_begun = False

    def answer(self):
        """What it says next; a finding if it says nothing any more."""
        pipe = self.process.stdout
        patience = SILENCE if self.has_begun else 4 * SILENCE  # loading torch takes its time
        if not select.select([pipe], [], [], patience)[0]:
            return {"kind": "time-out", "place": f"case {self.number}"}
        line = pipe.readline()
        if not line.endswith("\n"):
            if not self.has_begun:
                raise SystemExit("the worker did not come up")
            return {"kind": "crash", "place": f"exit code {self.process.wait()}"}
        said = json.loads(line)
        self.number, self.has_begun = said["number"], True
        return said if "kind" in said else None

    def end(self):
        """Stop it."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Tally:
    """What was found, each thing once, and how often."""

    def __init__(self, seed):
        self.seed = seed
        self.ends = Counter()
        self.counts = Counter()
        self.first = {}

    def add(self, number, said):
        """Count one answer; tells a new finding."""
        self.ends[said["kind"]] += 1
        if said["kind"] in ("value", "typed", "unwritten"):
            return
        key = (said["kind"], said.get("place", ""))
        self.counts[key] += 1
        if key not in self.first:
            self.first[key] = (number, said)
            print(f"FOUND {self._told(key)}", flush=True)

    def _told(self, key):
        number, said = self.first[key]
        return (
            f"{key[0]}: {key[1]}\n      {said.get('what', '')}\n      {said.get('where', '')}\n"
            f"      again: python -m tests.fuzz --seed {self.seed} --case {number}"
        )

    def summary(self):
        """All of it in words; the last line holds the figures."""
        lines = [f"{count:6} x {self._told(key)}" for key, count in self.counts.most_common()]
        total = sum(self.ends.values()) - self.ends["unwritten"]
        kinds = Counter(kind for kind, _ in self.counts)
        found = ", ".join(f"{self.ends[k]} {k} ({kinds[k]} places)" for k in kinds) or "none"
        figures = (
            f"seed {self.seed}: {total:,} cases, {self.ends['value']:,} values, "
            f"{self.ends['typed']:,} typed errors, findings: {found}"
        )
        return "\n".join([*lines, figures])


def fuzz(options, scratch):
    """Carry out cases until the time is over."""
    tally = Tally(options.seed)
    end = shown = time.monotonic()
    end += 3600 * options.hours + 60 * options.minutes
    worker = Worker(options, 0, scratch)
    try:
        while time.monotonic() < end:
            said = worker.answer()
            if said is None:
                continue
            tally.add(worker.number, said)
            if said["kind"] in ("crash", "time-out"):
                worker.end()
                worker = Worker(options, worker.number + 1, scratch)
            if time.monotonic() - shown > 60:
                shown = time.monotonic()
                ends = ", ".join(f"{end_} {n:,}" for end_, n in tally.ends.most_common())
                print(f"{sum(tally.ends.values()):,} cases: {ends}", flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        worker.end()
    return tally


def one_case(options, scratch):
    """Carry out one case in this process, its traceback and all."""
    import traceback

    from tests.fuzz import cases

    place = cases._place

    def told(error):
        traceback.print_exception(error)
        return place(error)

    cases._place = told
    outcome = cases.Cases(options.seed, scratch, None, options.kind, options.door or None).run(
        options.case
    )
    print(f"{outcome.kind}: {outcome.what}\n{outcome.where}\n{outcome.place}")
    return outcome.is_finding


def main():
    """Attack for a while."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hours", type=float, default=0.0)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the time, unless given")
    parser.add_argument("--kind", default="", help="only samples and states of this name")
    parser.add_argument("--door", default="", help="only doors of this name")
    parser.add_argument("--case", type=int, help="only this one, with its traceback")
    parser.add_argument("--memory", type=int, default=1024, help="MiB that a case may take")
    options = parser.parse_args()
    if not options.hours and not options.minutes:
        options.hours = 1.0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        if options.case is not None:
            return int(one_case(options, scratch))
        print(f"seed {options.seed}", flush=True)
        tally = fuzz(options, scratch)
    print(tally.summary())
    return 1 if tally.counts else 0


if __name__ == "__main__":
    sys.exit(main())
