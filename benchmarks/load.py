"""From nothing to the first action: a fresh process loads an old policy and acts once.

    python benchmarks/load.py [--rounds 9] [--json] [--ray-python PYTHON]

Measured on the whole process, seen from outside: wall and CPU time, peak memory, modules loaded.
Beside rlconnect: `numpy`, which only imports numpy and gymnasium and multiplies matrices; `torch`,
which imports torch for it; and real Ray (`--ray-python`), loading the very same checkpoint.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from measure import contest, old_policies

POLICIES = ("cartpole_mlp", "cartpole_lstm")
ACT = """
import sys, numpy as np
{imports}
policy = Policy.from_checkpoint(sys.argv[1])
policy = next(iter(policy.values())) if isinstance(policy, dict) else policy
obs = np.zeros(policy.observation_space.shape, np.float32)
local_policy_inference(policy, "env", "agent", obs, explore=False)
"""
IN_NUMPY = """
import numpy as np, gymnasium
x, w = np.zeros((1, 4), np.float32), np.zeros((4, 64), np.float32)
(np.tanh(x @ w) @ np.zeros((64, 2), np.float32)).argmax(-1)
"""
IN_TORCH = """
import numpy as np, gymnasium, torch
net = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
with torch.inference_mode():
    net(torch.zeros(1, 4)).argmax(-1).numpy()
"""
CODE = {
    "rlconnect": ACT.format(imports="from rlconnect.legacy import Policy, local_policy_inference"),
    "numpy": IN_NUMPY,
    "torch": IN_TORCH,
    "ray": ACT.format(
        imports="from ray.rllib.policy.policy import Policy\n"
        "from ray.rllib.utils.policy import local_policy_inference"
    ),
}
TELL = """
import json, os, resource, sys
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / 1024,
                  "modules": len(sys.modules)}), flush=True)
os._exit(0)
"""


def once(python, backend, checkpoint):
    """One fresh process: what it took."""
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-c", CODE[backend] + TELL, str(checkpoint)],
        capture_output=True,
        text=True,
        env={**os.environ, **contest.THREADS},
        encoding="utf-8",
    )
    wall = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{backend} failed:\n{done.stderr[-2000:]}")
    return {"wall": wall, **json.loads(done.stdout.splitlines()[-1])}


def measured(pythons, checkpoint, rounds):
    """Backend -> what is measured -> spread over the rounds; the first one warms the disk."""
    found = {backend: [] for backend in pythons}
    for _ in range(rounds + 1):
        for backend, python in pythons.items():
            found[backend].append(once(python, backend, checkpoint))
    return {
        backend: {key: contest.spread([each[key] for each in values[1:]]) for key in values[0]}
        for backend, values in found.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ray-python", help="a Python that has Ray (2.60 or so)")
    args = parser.parse_args()
    pythons = {name: sys.executable for name in ("rlconnect", "numpy", "torch")}
    maker = ("ray", args.ray_python) if args.ray_python else ("rlconnect", sys.executable)
    if args.ray_python:
        pythons["ray"] = args.ray_python

    results = {}
    if not args.json:
        print(f"{args.rounds} rounds on {contest.machine()}")
    with tempfile.TemporaryDirectory() as place:
        old_policies.write(place, *maker)
        for name in POLICIES:
            results[name] = measured(pythons, f"{place}/{name}", args.rounds)
            if args.json:
                continue
            for backend, facts in results[name].items():
                wall, cpu = facts["wall"], facts["cpu"]
                ratio = wall["median"] / results[name]["rlconnect"]["wall"]["median"]
                print(
                    f"{name:<14} {backend:<10} wall {wall['median']:6.3f} s "
                    f"({wall['low']:.3f} .. {wall['high']:.3f}) x{ratio:<6.2f} "
                    f"cpu {cpu['median']:6.3f} s  peak {facts['peak_mib']['median']:6.1f} MiB  "
                    f"{facts['modules']['median']:.0f} modules",
                    flush=True,
                )
    if args.json:
        print(json.dumps({"machine": contest.machine(), "results": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
