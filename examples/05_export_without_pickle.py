"""Save an old policy in a form that outlives any Python: JSON and safetensors, no pickle.

    python examples/05_export_without_pickle.py [--checkpoint PATH]

The export acts bit for bit like the original, and a change of one connector is one line of a diff.
"""

import argparse
import difflib
import tempfile
from pathlib import Path

import numpy as np
from rlconnect.legacy import Policy, local_policy_inference

SAMPLE = Path(__file__).parent / "checkpoints" / "ppo-pendulum-ray-2.7"


def swing(policy):
    """The actions for a pendulum that swings around once."""
    angles = np.linspace(0.0, 2.0 * np.pi, 9)
    policy.reset_connectors("pendulum")
    for angle in angles:
        obs = np.array([np.cos(angle), np.sin(angle), 0.5], np.float32)
        ((action, _, _),) = local_policy_inference(policy, "pendulum", "me", obs, explore=False)
        yield float(action[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", default=SAMPLE, help="a folder (default: a sample)")
    (policy,) = Policy.from_checkpoint(parser.parse_args().checkpoint).values()

    with tempfile.TemporaryDirectory() as place:
        before, after = Path(place, "before"), Path(place, "after")
        policy.export_checkpoint(before)
        for file in sorted(before.iterdir()):
            print(f"{file.name:<20} {file.stat().st_size:>7} bytes")

        again = Policy.from_checkpoint(before)
        again.agent_connectors.remove("ClipRewardAgentConnector")
        again.export_checkpoint(after)
        one, two = (
            (p / "document.json").read_text(encoding="utf-8").splitlines() for p in (before, after)
        )
        print("without the clipping of rewards:")
        for line in difflib.unified_diff(one, two, n=1, lineterm=""):
            print("   ", line)

        print("acts the same to the last bit:", list(swing(again)) == list(swing(policy)))


if __name__ == "__main__":
    main()
