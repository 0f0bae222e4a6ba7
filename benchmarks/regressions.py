"""What became slower since the last release: the rows of the table, then and now in turns.

    python benchmarks/regressions.py [--against REVISION] [--rounds 5] [--only REGEX]

The sources of the revision (by default the newest tag) are taken out of git into a folder beside
the cases of today; both run them with this interpreter, round by round. It fails where a row took
more than 10 % longer in every round. Whole processes (`load`) are not among the rows.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from measure import contest, old_policies
from table import HERE, ROWS

ROOT = HERE.parent
LOST = 1.1
MODULES = {"legacy": "old_stack", "pipelines": "new_stack"}
"""Where the cases of a script lie, if not under its own name."""


def git(*arguments):
    """What git says; None where it refuses."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True)
    return None if done.returncode else done.stdout


def newest_release():
    """The newest tag before this revision; None where there is none."""
    tag = git("describe", "--tags", "--abbrev=0")
    return None if tag is None else tag.decode().strip()


def taken_out(revision, folder):
    """Put the sources of a revision where `import rlconnect` finds them.

    Raises:
        SystemExit: Git does not know it.
    """
    packed = git("archive", revision, "src")
    if packed is None:
        raise SystemExit(f"git knows no revision {revision!r} of {ROOT}.")
    with tarfile.TarFile(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    (Path(folder) / "src").rename(Path(folder) / "rlconnect")


def ratios(case, script, folder, then, rounds):
    """How many times as long a case takes now, round by round; None where it ran on one side."""
    places = {"now": None, "then": {"PYTHONPATH": str(then)}}
    sides = {
        name: contest.Contestant(
            "rlconnect", sys.executable, MODULES.get(script, script), folder, "cpu", 0.2, extra
        )
        for name, extra in places.items()
    }
    found = []
    for turn in range(rounds + 1):
        order = list(sides.items())[:: 1 if turn % 2 else -1]
        seconds = {name: side.ask(case) for name, side in order}
        if None in seconds.values():
            return None
        found.append(seconds["now"] / seconds["then"])
    for side in sides.values():
        side.close()
    return found[1:]  # the first warms


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", help="a revision; by default the newest tag")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only rows that match")
    args = parser.parse_args()
    against = args.against or newest_release()
    if against is None:
        print("no release to compare with: there is no tag; --against REVISION names one.")
        return 0
    lost = []
    with tempfile.TemporaryDirectory() as then, tempfile.TemporaryDirectory() as place:
        taken_out(against, then)
        old_policies.write(place, "rlconnect", sys.executable)
        print(f"times of {against}, the least and the most of {args.rounds} rounds in turns:")
        for name, script, case in ROWS:
            if script == "load" or not re.search(args.only, name):
                continue
            found = ratios(case, script, Path(place), then, args.rounds)
            if found is None:
                print(f"  {name:<42} only one of both could run it", flush=True)
                continue
            is_lost = min(found) > LOST
            lost += [name] * is_lost
            told = f"{min(found):.2f} .. {max(found):.2f}"
            print(f"  {name:<42} {told}{'  slower' if is_lost else ''}", flush=True)
    if lost:
        print(f"more than 10 % slower in each round: {', '.join(lost)}", file=sys.stderr)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
