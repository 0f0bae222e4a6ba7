"""Run an exported policy without rlconnect, torch or Ray: numpy and onnxruntime are all it takes.

    rlconnect export examples/checkpoints/ppo-pendulum-ray-2.7 --out pendulum.onnx
    python examples/08_run_an_exported_policy.py --artifact pendulum.onnx

The file takes the environment's own observations and gives actions for it: filter, network and
action range are inside. By default the one that lies beside the examples is run.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import onnxruntime

SAMPLE = Path(__file__).parent / "checkpoints" / "ppo-pendulum.onnx"

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--artifact", type=Path, default=SAMPLE)
parser.add_argument("--pendulums", type=int, default=64)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()

manifest = json.loads(Path(f"{args.artifact}.json").read_text(encoding="utf-8"))
session = onnxruntime.InferenceSession(str(args.artifact), providers=["CPUExecutionProvider"])
print(f"{args.artifact.name}: {' -> '.join(manifest['pieces'])}")

rng = np.random.default_rng(0)
angle, speed = rng.uniform(-np.pi, np.pi, args.pendulums), rng.uniform(-1, 1, args.pendulums)
total = np.zeros(args.pendulums)
for _ in range(args.steps):
    seen = np.stack([np.cos(angle), np.sin(angle), speed], axis=1).astype(np.float32)
    (torque,) = session.run(["action"], {"obs": seen})
    push = np.clip(torque[:, 0], -2, 2)
    total -= ((angle + np.pi) % (2 * np.pi) - np.pi) ** 2 + 0.1 * speed**2 + 0.001 * push**2
    speed = np.clip(speed + (15 * np.sin(angle) + 3 * push) * 0.05, -8, 8)
    angle = angle + speed * 0.05
print(f"{args.pendulums} pendulums, {args.steps} steps: mean return {total.mean():.0f}")
