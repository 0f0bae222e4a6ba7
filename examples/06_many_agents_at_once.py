"""Step a policy for many environments in one call: each keeps a memory of its own.

    python examples/06_many_agents_at_once.py [--slots 64] [--steps 200]

`batch_policy_inference` gives the answers `local_policy_inference` would give one by one.
"""

import argparse
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
from rlconnect.legacy import Policy, batch_policy_inference, local_policy_inference

SAMPLE = Path(__file__).parent / "checkpoints" / "ppo-cartpole-ray-2.60"

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--checkpoint", default=SAMPLE, help="a folder (default: a sample)")
parser.add_argument("--slots", type=int, default=64)
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()

together, alone = (Policy.from_checkpoint(args.checkpoint)["default_policy"] for _ in range(2))
envs = [gym.make("CartPole-v1") for _ in range(args.slots)]
observations = [env.reset(seed=seed)[0] for seed, env in enumerate(envs)]
slots, agents = range(args.slots), ["me"] * args.slots
times, finished = np.zeros(2), 0
for _ in range(args.steps):
    start = time.perf_counter()
    batch = batch_policy_inference(together, slots, agents, observations, explore=False)
    middle = time.perf_counter()
    single = [
        local_policy_inference(alone, slot, "me", observations[slot], explore=False)[0]
        for slot in slots
    ]
    times += middle - start, time.perf_counter() - middle
    logits, same = (
        [fetches["action_dist_inputs"] for *_, fetches in each] for each in (batch, single)
    )
    assert np.allclose(logits, same, atol=1e-6)
    for slot, (env, (action, _, _)) in enumerate(zip(envs, batch, strict=True)):
        observations[slot], _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            finished += 1
            observations[slot], _ = env.reset()
            together.reset_connectors(slot)
            alone.reset_connectors(slot)

answers = args.slots * args.steps
print(f"{answers} answers for {args.slots} environments, {finished} episodes finished")
for how, seconds in zip(("together", "one by one"), times, strict=True):
    print(f"{how:<12} {seconds / answers * 1e6:7.1f} us an answer")
