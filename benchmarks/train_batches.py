"""What a train batch costs: against bare numpy and torch, and against Ray if there.

    python benchmarks/train_batches.py [--rounds 5] [--filter REGEX] [--json] [--ray-python PYTHON]

Episodes of 200 steps go through PPO's learner pipeline: one step more each, columns, a time axis
where there is a state, tensors, values, advantages. `free` leaves out the network: its values are
zeros. The limit ("torch") concatenates the same numbers, asks the same network in pieces that fit
the cache and looks back over all episodes side by side. CPU time a call, the median of rounds.
"""

import argparse
import json
import re
import sys
import tempfile

from measure import contest, train_batches


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a round of a case")
    parser.add_argument("--filter", default="", help="only cases that match")
    parser.add_argument("--clock", choices=["cpu", "wall"], default="cpu")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ray-python", help="a Python that has Ray (2.60 or so)")
    args = parser.parse_args()

    backends = {"rlconnect": sys.executable, "torch": sys.executable}
    if args.ray_python:
        backends["ray"] = args.ray_python
    with tempfile.TemporaryDirectory() as folder:
        contestants = [
            contest.Contestant(name, python, "train_batches", folder, args.clock, args.seconds)
            for name, python in backends.items()
        ]
        if not args.json:
            print(f"{args.rounds} rounds on {contest.machine()}")
        results = {}
        for name in train_batches.NAMES:
            if re.search(args.filter, name):
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
