"""Whether the suite notices mistakes: a fixed sample of mutations of `src`, each put in alone.

`make mutate` works in copies of the tree. A mutation goes to the tests that mirror its file or name
what it is in, then to those of its layer, then to all others, until one fails. What survives is
shown as a diff. Mutations that no test can tell from the original stand in `equal.txt`, with the
reason, and are not drawn.
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from tests.house.imports import SRC, modules
from tests.house.mutations import Mutation, mutations, sample

ROOT = SRC.parent
EQUAL = Path(__file__).parent / "equal.txt"
BUILD = ROOT / "build" / "mutate"
READERS_OF_TEXT = ("tests/house/", "tests/trust/test_house.py", "tests/test_layers.py")
"""Tests that look at sources, not at what these do."""
STEP = 12
"""Files of tests that one run of pytest takes."""


class Verdict(NamedTuple):
    """How one mutation fared: the test that failed or "", and how many files were run."""

    mutation: Mutation
    caught_by: str
    tried: int


def known_equal() -> dict[str, str]:
    """Mutations that change nothing anyone can see, and why."""
    rows = [
        line
        for line in EQUAL.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    return {row.rpartition(" | ")[0]: row.rpartition(" | ")[2] for row in rows}


def drawn(count: int, seed: int) -> list[Mutation]:
    """The sample."""
    every = [
        each
        for module, path in modules()
        for each in mutations(path.read_text(encoding="utf-8"), module)
    ]
    return sample(every, count, seed, known_equal())


def in_order(mutation: Mutation, files: Mapping[str, str]) -> list[list[str]]:
    """Files of tests that may notice, in three groups: near, of the same layer, all others.

    Args:
        mutation: What was done.
        files: The files of tests and their text.
    """
    words = mutation.module.split(".")
    called = {word.strip("_") for word in mutation.function.split(".")} - {"init", "call"}
    names = re.compile(rf"\b({'|'.join(map(re.escape, called | {words[-1]}))})\b")
    groups: list[list[tuple[float, str]]] = [[], [], []]
    for test, text in files.items():
        if test.startswith(READERS_OF_TEXT):
            continue
        parts = Path(test).with_suffix("").parts[1:]
        same = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, parts, strict=False))
        )
        own = words[-1].strip("_") in parts[-1]
        said = len(names.findall(text))
        near = own or said or (same > 1 and same == len(words) - 1)
        group = 0 if near and same else 1 if same or near else 2
        groups[group].append((-10 * own - 5 * same - min(said, 9), test))
    return [[test for _, test in sorted(group)] for group in groups]


def copy_of_tree(folder: Path) -> Path:
    """A copy of what git holds or would, with `rlconnect` as a link to its `src`."""
    listing = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    names = subprocess.run(
        listing, cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout
    for name in names.strip("\0").split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    (folder / "lib").mkdir()
    (folder / "lib" / "rlconnect").symlink_to(folder / "src", target_is_directory=True)
    return folder


def failing(folder: Path, tests: list[str]) -> str:
    """The first test that fails in a copy, "" if none does."""
    env = {**os.environ, "PYTHONPATH": str(folder / "lib"), "OMP_NUM_THREADS": "1"}
    env |= {"PYTHONDONTWRITEBYTECODE": "1"}
    line = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider"]
    wait = 120 + 30 * len(tests)
    try:
        done = subprocess.run(
            [*line, *tests],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=wait,
            encoding="utf-8",
        )
    except subprocess.TimeoutExpired:
        return f"{tests[0]} and {len(tests) - 1} more, which took longer than {wait} seconds"
    if done.returncode in {0, 5}:
        return ""
    rows = [row for row in done.stdout.splitlines() if row.startswith(("FAILED", "ERROR"))]
    return rows[0].split(" ")[1] if rows else f"{tests[0]}, which could not start"


def tried(mutation: Mutation, folder: Path, groups: int) -> Verdict:
    """Put a mutation in, run tests until one fails, take it out again."""
    path = folder / dict(modules())[mutation.module].relative_to(ROOT)
    found = sorted((folder / "tests").rglob("test_*.py"))
    files = {str(test.relative_to(folder)): test.read_text(encoding="utf-8") for test in found}
    source = path.read_text(encoding="utf-8")
    count = 0
    for group in in_order(mutation, files)[:groups]:
        todo = group
        while todo:
            some, todo = todo[:STEP], todo[STEP:]
            path.write_text(mutation.applied(source), encoding="utf-8")
            try:
                failed = failing(folder, some)
            finally:
                path.write_text(source, encoding="utf-8")
            # What fails without the mutation, too, has not noticed it.
            if failed and ("::" not in failed or not failing(folder, [failed])):
                return Verdict(mutation, failed, count)
            count += len(some)
    return Verdict(mutation, "", count)


def diff(mutation: Mutation) -> str:
    """The mutation as a diff of its file."""
    path = dict(modules())[mutation.module]
    source = path.read_text(encoding="utf-8")
    rows = difflib.unified_diff(
        source.splitlines(), mutation.applied(source).splitlines(), str(path.relative_to(ROOT)), n=3
    )
    return "\n".join(row for row in list(rows)[2:])


def main() -> int:
    """Draw, try, tell; 1 if fewer than asked for were caught."""
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many (60)")
    parser.add_argument("--seed", type=int, default=18, help="which ones (18)")
    parser.add_argument("--jobs", type=int, default=2, help="at a time (2)")
    parser.add_argument(
        "--groups", type=int, default=3, help="1: near tests, 2: and their layer's, 3: all (3)"
    )
    parser.add_argument("--at-least", type=float, default=0.95, help="caught, of all (0.95)")
    parser.add_argument("--only", default="", help="those whose name contains this")
    parser.add_argument("--list", action="store_true", help="show the sample, run nothing")
    asked = parser.parse_args()
    chosen = [each for each in drawn(asked.count, asked.seed) if asked.only in each.name]
    if asked.list:
        print("\n".join(f"{each.module}: {each.name}" for each in chosen))
        return 0
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        return 0 if report(chosen, Path(folder), asked) >= asked.at_least else 1


def report(chosen: list[Mutation], folder: Path, asked: argparse.Namespace) -> float:
    """Try them all, a line each; the share that was caught."""
    free: SimpleQueue[Path] = SimpleQueue()
    for number in range(asked.jobs):
        free.put(copy_of_tree(folder / str(number)))

    def one(mutation: Mutation) -> Verdict:
        place = free.get()
        try:
            return tried(mutation, place, asked.groups)
        finally:
            free.put(place)

    survivors = []
    with ThreadPoolExecutor(asked.jobs) as pool:
        for verdict in pool.map(one, chosen):
            how = f"caught by {verdict.caught_by}" if verdict.caught_by else "SURVIVED"
            print(f"{verdict.mutation.name}\n    {how} ({verdict.tried} files before)", flush=True)
            if not verdict.caught_by:
                survivors.append(verdict.mutation)
                print(diff(verdict.mutation), flush=True)
    share = 1 - len(survivors) / max(1, len(chosen))
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} caught, {share:.0%}")
    for mutation in survivors:
        print(f"survived: {mutation.module}: {mutation.name}")
    return share


if __name__ == "__main__":
    sys.exit(main())
