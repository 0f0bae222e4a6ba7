"""Whether rooms stand without what is above or beside them: `make apart`.

In a copy of the tree, `bridge` and all that is above it are deleted; `core`, `legacy` and `v2` pass
all their tests. With `--without v2/connectors/...py` a connector's file is deleted instead: then
its own tests fail, its rows in tables of tests, and what tries it on purpose.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.house.mutate import copy_of_tree

ABOVE = ("bridge", "cli", "compat", "ray_pieces", "serve")
BELOW = ("tests/core", "tests/legacy", "tests/v2")


def failures(folder: Path, tests: list[str], workers: int) -> Counter[str]:
    """How many tests of each file fail in a copy of the tree."""
    env = {**os.environ, "PYTHONPATH": str(folder / "lib"), "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*line, "-n", str(workers), *tests],
        cwd=folder,
        env={**env, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    rows = [row for row in done.stdout.splitlines() if row.startswith(("FAILED", "ERROR"))]
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stdout)
    return Counter(row.split(" ")[1].partition("::")[0] for row in rows)


def main() -> int:
    """Delete, run, tell; 1 if a test fails that is not a deleted file's own."""
    parser = argparse.ArgumentParser(prog="make apart", description=__doc__)
    parser.add_argument("--without", action="append", default=[], help="files or folders of src")
    parser.add_argument("--workers", type=int, default=2, help="at a time (2)")
    parser.add_argument("tests", nargs="*", default=BELOW, help=f"{' '.join(BELOW)}")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = copy_of_tree(Path(place))
        for name in asked.without or ABOVE:
            path = folder / "src" / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        failed = failures(folder, list(asked.tests), asked.workers)
    print(f"without {', '.join(asked.without or ABOVE)}: {failed.total()} tests fail")
    for file, count in sorted(failed.items()):
        print(f"    {count:>4} {file}")
    stems = {Path(name).stem for name in asked.without}
    return int(any(not any(stem in file for stem in stems) for file in failed))


if __name__ == "__main__":
    sys.exit(main())
