"""Open a checkpoint of an old Ray, without Ray, and use what is in it.

    python examples/01_inspect_a_checkpoint.py
    python examples/01_inspect_a_checkpoint.py PATH

Everything is plain, frozen data: names, spaces, connectors, statistics, numpy arrays. Nothing of
the file is run to get at it.
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
        print(f"\n{name}")
        print(f"  observes {record.observation_space}")
        print(f"  acts in  {record.action_space}")
        for pipeline in (
            getattr(record, "agent_connectors", None),
            getattr(record, "action_connectors", None),
        ):
            if pipeline is not None:
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
    for layer in ("_hidden_layers.0", "_hidden_layers.1"):
        weight, bias = (policy.weights[f"{layer}._model.0.{part}"] for part in ("weight", "bias"))
        features = np.tanh(features @ weight.T + bias)
    mean, log_std = (
        features @ policy.weights["_logits._model.0.weight"].T
        + (policy.weights["_logits._model.0.bias"])
    )
    return float(mean), float(np.exp(log_std))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", default=SAMPLE, help="a checkpoint (default: a sample)")
    path = parser.parse_args().path

    checkpoint = rlconnect.open_checkpoint(path)
    describe(checkpoint)

    if path == SAMPLE:
        upright = np.array([1.0, 0.0, 0.0])
        mean, spread = think(checkpoint.policies["default_policy"], upright)
        print(f"\nstanding upright it pushes with {mean:+.3f} ± {spread:.3f} (of -1 to 1)")


if __name__ == "__main__":
    main()
