"""Let several processes measure the same cases in turn, and tell who took how long.

Each contestant is a process of `worker.py` with a backend of its own: rlconnect, the physical
limit in bare numpy and in bare torch, and real Ray where a Python that has it is given. Rounds
alternate between them, so that a slow moment of the machine hits all alike.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
THREADS = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
PACKAGES = ("rlconnect", "numpy", "torch", "gymnasium")


class Contestant:
    """One worker process.

    Args:
        backend: What it measures: "rlconnect", "ray", "numpy" or "torch".
        python: The interpreter to run it with.
        cases: Name of the module of cases.
        folder: Where the checkpoints lie.
        clock: "cpu" or "wall".
        seconds: How long one round of one case lasts.
        environment: Further variables of its environment.
    """

    def __init__(self, backend, python, cases, folder, clock, seconds, environment=None):
        self.backend = backend
        self._process = subprocess.Popen(
            [python, str(HERE / "worker.py"), cases, backend, str(folder), clock, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if backend == "ray" else None,
            text=True,
            env={**os.environ, **THREADS, **(environment or {})},
            encoding="utf-8",
        )

    def ask(self, name):
        """Seconds a call, or None where this backend has no such case."""
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the worker for {self.backend} died at {name}.")
        answer = json.loads(line)
        if "error" in answer:
            print(f"{self.backend} {name}: {answer['error']}", file=sys.stderr)
        return answer.get("seconds")

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def hold(contestants, names, rounds):
    """Rounds of every case by every contestant: name -> backend -> seconds of each round."""
    found = {}
    for name in names:
        times = {}
        for round_ in range(rounds + 1):
            for contestant in contestants:
                if round_ and contestant.backend not in times:
                    continue  # it has no such case
                seconds = contestant.ask(name)
                if seconds is not None:
                    times.setdefault(contestant.backend, []).append(seconds)
        found[name] = {backend: values[1:] for backend, values in times.items()}  # the first warms
    return found


def spread(values):
    """Median and the middle half."""
    low, middle, high = (
        statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    )
    return {"median": middle, "low": low, "high": high, "rounds": len(values)}


def machine():
    """The machine and what runs on it."""
    found = {"machine": platform.machine(), "cores": os.cpu_count()}
    found["python"] = platform.python_version()
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def told(seconds):
    """A duration in a readable unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.2f} us"


def show(results):
    """Print rows: ours with its spread, then how the others compare."""
    for name, by_backend in results.items():
        ours = spread(by_backend["rlconnect"])
        middle = f"({told(ours['low'])} .. {told(ours['high'])})"
        parts = [f"{name:<48} {told(ours['median']):>9} {middle:<22}"]
        for backend, values in by_backend.items():
            if backend != "rlconnect":
                ratio = statistics.median(values) / ours["median"]
                parts.append(f"{backend} {told(statistics.median(values))} = x{ratio:.2f}")
        print("  ".join(parts), flush=True)


def arguments(about, rounds):
    """The options every contest has.

    Args:
        about: The script's docstring; its first line describes it.
        rounds: How many rounds there are unless somebody says.
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a round of a case")
    parser.add_argument("--filter", default="", help="only cases that match")
    parser.add_argument("--clock", choices=["cpu", "wall"], default="cpu")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ray-python", help="a Python that has Ray (2.60 or so)")
    return parser.parse_args()


def run(args, cases, names, limits, folder):
    """Measure cases on rlconnect, on the limits and on Ray if there, and print what came out.

    Args:
        args: What `arguments` gave.
        cases: Name of the module of cases.
        names: The cases.
        limits: The backends that write the same work bare: "numpy", "torch".
        folder: Where the checkpoints lie.
    """
    backends = {name: sys.executable for name in ("rlconnect", *limits)}
    if args.ray_python:
        backends["ray"] = args.ray_python
    contestants = [
        Contestant(name, python, cases, folder, args.clock, args.seconds)
        for name, python in backends.items()
    ]
    if not args.json:
        print(f"{args.rounds} rounds on {machine()}")
    results = {}
    for name in (name for name in names if re.search(args.filter, name)):
        results.update(held := hold(contestants, [name], args.rounds))
        if not args.json:
            show(held)
    for contestant in contestants:
        contestant.close()
    if args.json:
        rows = {
            name: {backend: spread(values) for backend, values in by_backend.items()}
            for name, by_backend in results.items()
        }
        print(json.dumps({"machine": machine(), "clock": args.clock, "seconds": rows}))
