"""Let an old policy act in thousands of environments that live on the GPU, adapted to them.

    python examples/09_thousands_of_environments.py --envs 65536 --device cuda

The simulator gives six features where the policy knows four, and takes another number for an
action. Observations and actions are tensors on one device; nothing is copied to the host.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.bridge import Actor, adapt
from rlconnect.bridge.compiled.program import compile_actor
from rlconnect.core.adapters import DropFeatures, MapActions
from rlconnect.legacy import Policy

SAMPLE = Path(__file__).parent / "checkpoints" / "ppo-cartpole-ray-2.60"


class CartPoles:
    """CartPole as tensors: many at once, each reset where it falls; two features are noise."""

    def __init__(self, count, device):
        self.noise = torch.randn(count, 2, device=device)
        self.state = torch.empty(count, 4, device=device).uniform_(-0.05, 0.05)
        self.age = torch.zeros(count, device=device)

    def seen(self):
        return torch.cat([self.state, self.noise], 1)

    def step(self, action):
        x, v, angle, spin = self.state.unbind(1)
        force = torch.where(action == 2, 10.0, -10.0)
        sine, cosine = angle.sin(), angle.cos()
        push = (force + 0.05 * spin**2 * sine) / 1.1
        turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        slide = push - 0.05 * turn * cosine / 1.1
        moved = [x + 0.02 * v, v + 0.02 * slide, angle + 0.02 * spin, spin + 0.02 * turn]
        self.age += 1
        fell = (moved[0].abs() > 2.4) | (moved[2].abs() > 0.2095) | (self.age >= 500)
        fresh = torch.empty_like(self.state).uniform_(-0.05, 0.05)
        self.state = torch.where(fell[:, None], fresh, torch.stack(moved, 1))
        self.age = torch.where(fell, 0.0, self.age)
        return fell


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--envs", type=int, default=1024)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()

policy = Policy.from_checkpoint(SAMPLE)
policy = policy["default_policy"] if isinstance(policy, dict) else policy
six, three = Box(-np.inf, np.inf, (6,), np.float32), Discrete(3)
adapted = adapt(
    policy,
    observation_space=six,
    action_space=three,
    obs=DropFeatures([4, 5]),
    action=MapActions([0, 2], size=3),
)
backend = "cudagraph" if args.device.startswith("cuda") else "eager"
program = compile_actor(
    Actor.from_policy(adapted), batch=args.envs, device=args.device, backend=backend
)
envs = CartPoles(args.envs, args.device)
began, falls = time.perf_counter(), torch.zeros((), device=args.device)
for _ in range(args.steps):
    action, _ = program(envs.seen())
    falls += envs.step(action).sum()
falls = int(falls)  # waits for the device
spent = time.perf_counter() - began
actions = args.envs * args.steps
print(f"{args.device}, {backend}: {actions / spent:,.0f} actions/s over {args.envs:,} environments")
print(f"{actions:,} actions, {falls} poles fell or stood for 500 steps")
