"""Open a checkpoint of an old Ray, without Ray, and use what is in it.

    python examples/01_inspect_a_checkpoint.py
    python examples/01_inspect_a_checkpoint.py PATH

Everything is plain, frozen data: names, spaces, connectors, statistics, numpy arrays.
"""

import argparse
from pathlib import Path

import numpy as np
import rlconnect

SAMPLE = Path(__file__).parent / "checkpoints" / "ppo-pendulum-ray-2.7"


def describe(checkpoint):
    """What the checkpoint says about itself, and about each policy or module in it."""
    ray = checkpoint.ray_version or "an unknown release"
    print(f"{checkpoint.algorithm} {checkpoint.kind}, layout {checkpoint.version}, by Ray {ray}")
    for name, record in checkpoint.acting.items():
        print(f"\n{name}\n  observes {record.observation_space}\n  acts in  {record.action_space}")
        for kind in ("agent_connectors", "action_connectors"):
            if pipeline := getattr(record, kind, None):
                print(f"  {pipeline.name}: {', '.join(piece.name for piece in pipeline.flat())}")
        for array_name, array in record.weights.items():
            print(f"  {array_name:<42} {array.dtype} {array.shape}")
    for reference in checkpoint.foreign:
        print(f"\nnames its author's {reference.name} ({reference.kind}) in {reference.where}")
    for problem in checkpoint.problems:
        print(f"\n{problem.kind}: {problem}")


def think(policy, observation):
    """The sample policy's own network, written out: a filter, two tanh layers, a linear one."""
    (filter_,) = policy.filters
    features = (observation - filter_.mean[0]) / (filter_.std[0] + 1e-8)
    weights = {name.replace("._model.0", ""): array for name, array in policy.weights.items()}
    for layer in ("_hidden_layers.0", "_hidden_layers.1"):
        features = np.tanh(features @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"])
    mean, log_std = features @ weights["_logits.weight"].T + weights["_logits.bias"]
    return mean, np.exp(log_std)


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("path", nargs="?", default=SAMPLE, help="a checkpoint (default: a sample)")
path = parser.parse_args().path
checkpoint = rlconnect.open_checkpoint(path)
describe(checkpoint)
if path == SAMPLE:
    mean, spread = think(checkpoint.policies["default_policy"], np.array([1.0, 0.0, 0.0]))
    print(f"\nstanding upright it pushes with {mean:+.3f} ± {spread:.3f} (of -1 to 1)")
