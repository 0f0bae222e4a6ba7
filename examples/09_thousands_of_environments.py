"""Let an old policy act in thousands of environments that live on the GPU, adapted to them.

    python examples/09_thousands_of_environments.py --envs 65536 --device cuda

The simulator gives six features where the policy knows four, and takes another number for an
action. Observations and actions are tensors on one device; nothing is copied to the host.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import rlconnect
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.adapters import DropFeatures, MapActions
from rlconnect.bridge import compile_actor

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--envs", type=int, default=1024)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args = parser.parse_args()


def moved(state, action):
    """CartPole's next states: many at once, as tensors."""
    _, v, angle, spin = state.unbind(1)
    push = (torch.where(action == 2, 10.0, -10.0) + 0.05 * spin**2 * angle.sin()) / 1.1
    torque = 9.8 * angle.sin() - angle.cos() * push
    turn = torque / (0.5 * (4 / 3 - 0.1 * angle.cos() ** 2 / 1.1))
    return state + 0.02 * torch.stack([v, push - 0.05 * turn * angle.cos() / 1.1, spin, turn], 1)


adapted = rlconnect.adapt(
    Path(__file__).parent / "checkpoints" / "ppo-cartpole-ray-2.60",
    observation_space=Box(-np.inf, np.inf, (6,), np.float32),
    action_space=Discrete(3),
    obs=DropFeatures([4, 5]),
    action=MapActions([0, 2], size=3),
)
backend = "cudagraph" if args.device.startswith("cuda") else "eager"
actor = rlconnect.Actor.from_policy(adapted)
program = compile_actor(actor, batch=args.envs, device=args.device, backend=backend)
rows = {"size": (args.envs, 4), "device": args.device}
state, noise = 0.1 * torch.rand(**rows) - 0.05, torch.randn(args.envs, 2, device=args.device)
age, falls, began = torch.zeros_like(state[:, 0]), 0, time.perf_counter()
for _ in range(args.steps):
    action, _ = program(torch.cat([state, noise], 1))
    state, age = moved(state, action), age + 1
    over = (state[:, 0].abs() > 2.4) | (state[:, 2].abs() > 0.2095) | (age == 500)
    state = torch.where(over[:, None], 0.1 * torch.rand(**rows) - 0.05, state)
    age = torch.where(over, 0.0, age)
    falls = falls + over.sum()
falls, actions = int(falls), args.envs * args.steps  # waits for the device
spent = time.perf_counter() - began
print(f"{args.device}, {backend}: {actions / spent:,.0f} actions/s over {args.envs:,} environments")
print(f"{actions:,} actions, {falls} poles fell or stood for 500 steps")
