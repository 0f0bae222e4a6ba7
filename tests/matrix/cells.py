"""Every installation that is promised, one after the other: `make matrix`.

Each cell is an environment of its own: install, demo, suite, the scoreboards where they lie beside
the repository, and the exchange of checkpoints with every other cell. What a cell cannot have (its
interpreter is not on this machine) is skipped by name. Needs nothing but Python and pip.

    python tests/matrix/cells.py                      all cells
    python tests/matrix/cells.py lowest newest-3.13   only these
    python tests/matrix/cells.py --only install,suite -- tests/core -x
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STEPS = ("install", "demo", "suite", "parity", "conformance", "write", "read")
SCOREBOARDS = {
    "parity": Path("reference", "legacy", "parity.py"),
    "conformance": Path("conformance", "v2", "compare.py"),
}
_LOWER = re.compile(r"^([A-Za-z0-9_.-]+)>=([^,;\s]+)(?:\s*;.*)?$")
_NAME = re.compile(r"^[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Cell:
    """One installation.

    Args:
        python: The interpreter's version.
        extras: Of the project, beside what it always needs.
        pins: Requirements that hold its versions down.
        is_lowest: Whether every direct dependency is at the bound that pyproject.toml states.
        constraints: A file of pins, from the repository's root.
        has_torch: Whether torch is installed.
        is_strict: Whether every warning is an error, as in `make test`.
        answered_otherwise: Cases of the scoreboards that its versions answer themselves, and not
            as the newest ones that recorded them: gymnasium's spaces, arithmetic of a user's code.
    """

    python: str
    extras: tuple[str, ...] = ("test", "export", "offline")
    pins: tuple[str, ...] = ()
    is_lowest: bool = False
    constraints: str = ""
    has_torch: bool = True
    is_strict: bool = False
    answered_otherwise: tuple[str, ...] = ()


_OLD_NUMPY = ("module_to_env.case_round_trip_user_piece",)  # `2 - action` widens an int32
_OLD_CARTPOLE = (  # bounds of 3.4e38, which are infinite since gymnasium 1.0
    "rl_module.case_config_spec",
    "seed_examples.case_construct_env_to_module_with_env",
    "seed_examples.case_construct_env_to_module_with_spaces",
)

CELLS = {
    "lowest": Cell(
        "3.10",
        extras=("test", "offline"),
        is_lowest=True,
        answered_otherwise=(*_OLD_NUMPY, *_OLD_CARTPOLE),
    ),
    "numpy-1": Cell(
        "3.11",
        pins=(
            "numpy==1.26.4",
            "gymnasium==1.0.0",
            "torch==2.9.1",
            "onnxscript==0.6.2",
            "pyarrow==21.0.0",  # newer ones want numpy 2
        ),
        answered_otherwise=_OLD_NUMPY,
    ),
    "pinned": Cell("3.11", constraints="constraints.txt", is_strict=True),
    "newest-3.12": Cell("3.12"),
    "newest-3.13": Cell("3.13", is_strict=True),
    "no-torch": Cell("3.11", extras=("test",), has_torch=False),
}


def requirements(cell: Cell) -> list[str]:
    """What a cell installs beside the project itself, direct dependencies by name."""
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *(line for name in cell.extras for line in extras[name])]
    if not cell.has_torch:
        wanted = [line for line in wanted if _name(line) != "torch"]
    if cell.is_lowest:
        wanted = [lowest(line) for line in wanted]
    return [*wanted, *cell.pins]


def lowest(requirement: str) -> str:
    """A requirement at its lower bound.

    Example:
        >>> lowest("tomli>=2; python_version < '3.11'")
        "tomli==2; python_version < '3.11'"
    """
    if not _LOWER.match(requirement):
        raise SystemExit(f"{requirement!r} states no lower bound of the form name>=version")
    return requirement.replace(">=", "==", 1)


def answered_otherwise(lines: list[str]) -> set[str]:
    """The cases that fail in a scoreboard's log; the log itself where it ended before its count.

    Example:
        >>> answered_otherwise(["FAIL spaces.case_box: values differ", "9 passed, 1 failed"])
        {'spaces.case_box'}
    """
    failed = {line.split()[1].rstrip(":") for line in lines if line.startswith("FAIL ")}
    is_whole = bool(lines) and lines[-1].endswith(f" passed, {len(failed)} failed")
    return failed if is_whole else {"an unfinished log"}


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found.group().lower() if found else ""


def interpreter(version: str) -> str | None:
    """A Python of that version: on the path, of pyenv, or this one; None if there is none."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    names = [f"python{version}", *sorted(map(str, root.glob(f"{version}.*/bin/python")))]
    if os.name == "nt":
        names.append("python")
    for name in [*names, sys.executable]:
        path = shutil.which(name)
        asked = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
        if path and _output(path, "-c", asked) == version:
            return path
    return None


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
    return done.stdout.strip() if done.returncode == 0 else ""


class Runner:
    """Runs the steps of one cell, each into a log of its own.

    Args:
        name: The cell's.
        place: Where environments, logs and checkpoints go.
        workers: How many processes the suite takes.
        paths: What the suite is given besides.
    """

    def __init__(self, name: str, place: Path, workers: int, paths: list[str]) -> None:
        self.name, self.cell = name, CELLS[name]
        self.place, self.workers, self.paths = place, workers, paths
        self.home = place / name
        self.results: dict[str, str] = {}
        bin_ = "Scripts" if os.name == "nt" else "bin"
        self.python = str(self.home / "env" / bin_ / "python")

    def step(self, name: str) -> bool:
        """Run one step; whether the next ones make sense."""
        began = time.monotonic()
        act: Callable[[], Iterator[list[str]]] = getattr(self, f"_{name}")
        log = self.home / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        code, skipped = 0, True
        with log.open("w", encoding="utf-8") as out:
            for command in act():
                skipped = False
                done = subprocess.run(
                    command, cwd=self._folder(name), env=self._env(), stdout=out, stderr=out
                )
                code = code or done.returncode
                if code:
                    break
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if name in SCOREBOARDS and answered_otherwise(lines) <= {*self.cell.answered_otherwise}:
            code = 0
        last = lines[-1].strip("= ") if lines else ""
        told = "skipped" if skipped else f"{'ok' if code == 0 else f'FAILED ({code})'}  {last}"
        self.results[name] = told
        seconds = time.monotonic() - began
        print(f"{self.name:12} {name:12} {seconds:6.0f} s  {told[:110]}", flush=True)
        return code == 0 or name != "install"

    def _folder(self, name: str) -> Path:
        board = SCOREBOARDS.get(name)
        return ROOT if board is None else _shared() / board.parent

    def _env(self) -> dict[str, str]:
        own = {
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "PYTHONDONTWRITEBYTECODE": "1",
            "RLC_PYTHON": self.python,
        }
        return {**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **own}

    def _install(self) -> Iterator[list[str]]:
        python = interpreter(self.cell.python)
        assert python is not None
        if not Path(self.python).exists():
            yield [python, "-m", "venv", "--clear", str(self.home / "env")]
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        held = ["-c", str(ROOT / self.cell.constraints)] if self.cell.constraints else []
        newest = [] if held or self.cell.is_lowest else ["--upgrade"]
        yield [*pip, *held, *newest, *requirements(self.cell)]
        # Installed from a copy: building leaves files beside pyproject.toml.
        copy = self.home / "source"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, copy)
        yield [*pip, "--no-deps", "--force-reinstall", str(copy)]

    def _demo(self) -> Iterator[list[str]]:
        if self.cell.has_torch:
            yield [self.python, "examples/demo.py"]
        else:
            yield [self.python, "-m", "rlconnect", "scan", "examples/checkpoints"]

    def _suite(self) -> Iterator[list[str]]:
        lenient = [] if self.cell.is_strict else ["-o", "filterwarnings=default"]
        workers = ["-n", str(self.workers)] if self.workers > 1 else []
        yield [
            self.python, "-m", "pytest", "-p", "no:cacheprovider", "-W",
            "ignore::pytest.PytestUnknownMarkWarning", *lenient, *workers, *self.paths,
        ]  # fmt: skip

    def _parity(self) -> Iterator[list[str]]:
        return self._scoreboard("parity")

    def _conformance(self) -> Iterator[list[str]]:
        return self._scoreboard("conformance")

    def _scoreboard(self, name: str) -> Iterator[list[str]]:
        board = SCOREBOARDS[name]
        if self.cell.has_torch and (_shared() / board).is_file():
            yield [self.python, board.name]

    def _write(self) -> Iterator[list[str]]:
        shutil.rmtree(self.home / "written", ignore_errors=True)
        yield [self.python, "tests/matrix/exchange.py", "write", str(self.home / "written")]

    def _read(self) -> Iterator[list[str]]:
        for other in sorted({*self.place.glob("*/written"), *self.place.glob("*/*/written")}):
            yield [self.python, "tests/matrix/exchange.py", "read", str(other)]


def _shared() -> Path:
    return Path(os.environ.get("SHARED", ROOT.parent / "shared"))


def main() -> int:
    """Run the cells; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="*", metavar="CELL", help=f"of {', '.join(CELLS)}")
    parser.add_argument("--only", default=",".join(STEPS), help="steps, with commas between")
    parser.add_argument("--place", type=Path, default=ROOT / "build" / "matrix")
    parser.add_argument("--workers", type=int, default=2)
    own, paths = sys.argv[1:], list[str]()
    if "--" in own:  # what stands behind it is the suite's
        own, paths = own[: own.index("--")], own[own.index("--") + 1 :]
    args = parser.parse_args(own)
    wrong = {*args.cells} - {*CELLS} | {*args.only.split(",")} - {*STEPS}
    if wrong:
        parser.error(f"nothing is called {', '.join(sorted(wrong))}")
    steps = [name for name in STEPS if name in args.only.split(",")]
    place = args.place.resolve()
    runners, missing = [], []
    for name in args.cells or CELLS:
        if interpreter(CELLS[name].python) is None:
            missing.append(f"{name}: skipped, no Python {CELLS[name].python} here")
            continue
        runner = Runner(name, place, args.workers, paths)
        runners.append(runner)
        for step in steps:
            if step != "read" and not runner.step(step):
                break
    for runner in runners:  # when all have written
        if "read" in steps:
            runner.step("read")
    print()
    failed = 0
    for runner in runners:
        for step, told in runner.results.items():
            failed += "FAILED" in told
            print(f"{runner.name:12} {step:12} {told[:120]}")
    for line in missing:
        print(line)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
