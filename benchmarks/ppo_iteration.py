"""One iteration of PPO on CartPole: against the same maths by hand, and against Ray if there.

    python benchmarks/ppo_iteration.py [--rounds 5] [--json] [--ray-python PYTHON]

8 environments, 2,048 steps, 4 epochs of minibatches of 256. The limit ("torch") is
`ppo_yardstick.py`. CPU time an iteration, the median of rounds in turn.
"""

import argparse
import json
import sys
import tempfile

from measure import contest, ppo_iteration


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clock", choices=["cpu", "wall"], default="cpu")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ray-python", help="a Python that has Ray (2.60 or so)")
    args = parser.parse_args()

    backends = {"rlconnect": sys.executable, "torch": sys.executable}
    if args.ray_python:
        backends["ray"] = args.ray_python
    with tempfile.TemporaryDirectory() as folder:
        contestants = [
            contest.Contestant(name, python, "ppo_iteration", folder, args.clock, 0.1)
            for name, python in backends.items()
        ]
        results = contest.hold(contestants, ppo_iteration.NAMES, args.rounds)
        for contestant in contestants:
            contestant.close()
    if args.json:
        rows = {
            name: {backend: contest.spread(values) for backend, values in by_backend.items()}
            for name, by_backend in results.items()
        }
        print(json.dumps({"machine": contest.machine(), "clock": args.clock, "seconds": rows}))
    else:
        print(f"{args.rounds} rounds on {contest.machine()}")
        contest.show(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
