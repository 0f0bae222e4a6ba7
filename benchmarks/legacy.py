"""What a step of the old stack costs: against bare numpy and torch, and against Ray if there.

    python benchmarks/legacy.py [--rounds 7] [--filter REGEX] [--json] [--ray-python PYTHON]

CPU time a call, the median of rounds that alternate between rlconnect, the same forward pass
written bare in numpy and in torch, and (with `--ray-python`, a Python that has Ray) real Ray on
the very same checkpoints. `x3` behind a name: it takes three times as long as rlconnect.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from measure import contest, old_policies, old_stack


def check_equal(folder):
    """The batch gives the answers of single steps, before anything is timed."""
    from rlconnect.legacy import batch_policy_inference, local_policy_inference

    for name in old_stack.STEPPED:
        together, alone = (old_stack.loaded("rlconnect", folder, name) for _ in range(2))
        observations = old_stack.seen(name, 16)
        ids, same = range(16), ["agent"] * 16
        found = batch_policy_inference(together, ids, same, observations, explore=False)
        for env_id, obs, mine in zip(ids, observations, found, strict=True):
            ((*_, its),) = local_policy_inference(alone, env_id, "agent", obs, explore=False)
            assert np.allclose(mine[2]["action_dist_inputs"], its["action_dist_inputs"], atol=1e-6)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a round of a case")
    parser.add_argument("--filter", default="", help="only cases that match")
    parser.add_argument("--clock", choices=["cpu", "wall"], default="cpu")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ray-python", help="a Python that has Ray (2.60 or so)")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        maker = ("ray", args.ray_python) if args.ray_python else ("rlconnect", sys.executable)
        old_policies.write(place, *maker)
        check_equal(folder)
        backends = {name: sys.executable for name in ("rlconnect", "numpy", "torch")}
        if args.ray_python:
            backends["ray"] = args.ray_python
        contestants = [
            contest.Contestant(name, python, "old_stack", folder, args.clock, args.seconds)
            for name, python in backends.items()
        ]
        names = [name for name in old_stack.NAMES if re.search(args.filter, name)]
        if not args.json:
            print(f"{args.rounds} rounds on {contest.machine()}")
        results = {}
        for name in names:
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
