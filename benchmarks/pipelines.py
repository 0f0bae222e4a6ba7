"""What the pipelines of the new stack cost: against bare numpy and torch, and against Ray if there.

    python benchmarks/pipelines.py [--rounds 7] [--filter REGEX] [--json] [--ray-python PYTHON]

CPU time a call, the median of rounds that alternate between rlconnect, the same work written bare,
and (with `--ray-python`, a Python that has Ray) real Ray. `x3` behind a name: it takes three times
as long as rlconnect.
"""

import argparse
import json
import re
import sys

from measure import contest, new_stack


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a round of a case")
    parser.add_argument("--filter", default="", help="only cases that match")
    parser.add_argument("--clock", choices=["cpu", "wall"], default="cpu")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ray-python", help="a Python that has Ray (2.60 or so)")
    args = parser.parse_args()

    backends = {name: sys.executable for name in ("rlconnect", "numpy", "torch")}
    if args.ray_python:
        backends["ray"] = args.ray_python
    contestants = [
        contest.Contestant(name, python, "new_stack", ".", args.clock, args.seconds)
        for name, python in backends.items()
    ]
    results = {}
    for name in (name for name in new_stack.NAMES if re.search(args.filter, name)):
        results.update(held := contest.hold(contestants, [name], args.rounds))
        if not args.json:
            contest.show(held)
    for contestant in contestants:
        contestant.close()
    if args.json:
        rows = {
            name: {backend: contest.spread(values) for backend, values in by_backend.items()}
            for name, by_backend in results.items()
        }
        print(json.dumps({"machine": contest.machine(), "clock": args.clock, "seconds": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
