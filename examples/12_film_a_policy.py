"""Film what a policy plays.

    python examples/12_film_a_policy.py --out cartpole.gif

An `.mp4` works, too. Extras: `rlconnect[video]`, and `gymnasium[classic-control]` to draw CartPole.
"""

import argparse
from pathlib import Path

import rlconnect

SAMPLE = Path(__file__).parent / "checkpoints" / "ppo-cartpole-ray-2.60"

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--checkpoint", default=SAMPLE, help="a folder (default: a sample)")
parser.add_argument("--env", default="CartPole-v1")
parser.add_argument("--out", default="cartpole.gif")
args = parser.parse_args()

played = rlconnect.rollout(args.checkpoint, args.env, episodes=1, video=args.out)
print(f"{args.out}: {played.lengths[0]} steps, return {played.mean:g}")
