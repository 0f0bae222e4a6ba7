"""What `import rlconnect` costs, over Python alone and over Python with numpy.

    python benchmarks/import_time.py [--rounds 21] [--json]

Each round starts every variant once, in turn, so that a slow moment of the machine hits all alike;
what is printed is the median and the middle half. The aim: at most 150 ms over Python plus numpy.
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time

AIM_MS = 150.0
VARIANTS = {
    "python": "pass",
    "numpy": "import numpy",
    "rlconnect": "import numpy, rlconnect",
    "open_checkpoint": "import numpy, rlconnect; rlconnect.open_checkpoint",
    "torch": "import numpy, torch",
}


def once(code: str) -> float:
    """Milliseconds from starting an interpreter to its end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (time.perf_counter() - start) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    for code in VARIANTS.values():  # fill the file caches
        once(code)
    times = {name: [] for name in VARIANTS}
    for _ in range(arguments.rounds):
        for name, code in VARIANTS.items():
            times[name].append(once(code))

    median = {name: statistics.median(values) for name, values in times.items()}
    over = {name: median[name] - median["numpy"] for name in VARIANTS}
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    if arguments.json:
        result = {"machine": machine, "rounds": arguments.rounds, "median_ms": median}
        print(json.dumps({**result, "over_numpy_ms": over, "aim_ms": AIM_MS}))
        return 0
    print(f"{arguments.rounds} rounds on {machine}")
    for name, values in times.items():
        low, _, high = statistics.quantiles(values, n=4)
        print(
            f"{name:16} {median[name]:7.1f} ms  ({low:.1f} .. {high:.1f})"
            f"  {over[name]:+7.1f} ms over numpy, x{median[name] / median['numpy']:.2f}"
        )
    verdict = "within" if over["rlconnect"] <= AIM_MS else "OVER"
    print(f"import rlconnect: {over['rlconnect']:+.1f} ms, {verdict} the aim of {AIM_MS:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
