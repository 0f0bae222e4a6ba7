"""What several learners gain: an update by one and by two, and what a model says of more.

    python benchmarks/learners.py --rounds 20

Times are the least of the rounds: on a busy machine the one that was disturbed least. What is said
of 8 to 64 learners is a prediction, not a measurement: compute shared evenly, and a ring that adds
up gradients over the links of this machine, `2 (N - 1)` messages of `1 / N` of them.
"""

import argparse
from time import perf_counter

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.v2 import PPOConfig

ROWS = 2048
OBS, ACT = Box(-1.0, 1.0, (32,), np.float32), Discrete(4)
SIZES = (256, 2**22)
"""Numbers in a sum: few tell the latency, many the bytes a second."""


def batch_of(rows):
    """A train batch of PPO's, of noise."""
    return {
        "default_policy": {
            "obs": torch.randn(rows, *OBS.shape),
            "actions": torch.randint(4, (rows,)),
            "action_logp": torch.full((rows,), -1.4),
            "action_dist_inputs": torch.zeros(rows, 4),
            "advantages": torch.randn(rows),
            "value_targets": torch.randn(rows),
        }
    }


def group_of(count, width):
    """So many learners, one thread each."""
    config = (
        PPOConfig()
        .environment(observation_space=OBS, action_space=ACT)
        .learners(num_learners=count, num_cpus_per_learner=1)
        .rl_module(model_config={"fcnet_hiddens": [width, width]})
        .debugging(seed=1)
    )
    return config.build_learner_group(spaces={"default_policy": (OBS, ACT)})


def sums(learner, sizes, rounds):
    """The least seconds of adding up so many numbers with the others, by size."""
    found = {}
    for size in sizes:
        numbers, times = torch.zeros(size), []
        for _ in range(rounds):
            begun = perf_counter()
            learner._peers.added(numbers)
            times.append(perf_counter() - begun)
        found[size] = min(times)
    return found


def updates(groups, minibatch, rounds):
    """The least seconds of an update of all rows in minibatches of so many, by learners."""
    batch, found = batch_of(ROWS), {count: [] for count in groups}
    for _ in range(rounds):
        for count, group in groups.items():
            begun = perf_counter()
            group.update(batch=batch, minibatch_size=minibatch // max(count, 1))
            found[count].append(perf_counter() - begun)
    return {count: min(times) for count, times in found.items()}


def main():
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--widths", type=int, nargs="*", default=[64, 256, 1024])
    parser.add_argument("--minibatch", type=int, default=512, help="rows of all learners together")
    given = parser.parse_args()
    torch.set_num_threads(1)
    steps = ROWS // given.minibatch
    for width in given.widths:
        groups = {count: group_of(count, width) for count in (0, 1, 2)}
        try:
            params = sum(each.size for each in groups[0].get_weights()["default_policy"].values())
            small, large = (
                groups[2]
                .foreach_learner(sums, sizes=SIZES, rounds=10 * given.rounds)[0]
                .get()
                .values()
            )
            time = {rows: updates(groups, rows, given.rounds) for rows in (given.minibatch, ROWS)}
        finally:
            for group in groups.values():
                group.shutdown()
        alone, one, two = time[given.minibatch].values()
        rate = SIZES[1] * 4 / max(large - small, 1e-9)
        per_step = max(0.0, (alone - time[ROWS][0]) / max(steps - 1, 1))
        per_row = (alone - per_step * steps) / ROWS
        print(f"{width} wide, {params:,} weights, {ROWS:,} rows, {given.minibatch} a step")
        print(
            f"  update here / by 1 / by 2: {alone * 1e3:.1f} / {one * 1e3:.1f} / {two * 1e3:.1f} ms"
        )
        print(f"  1 -> 2 learners: {one / two:.2f} times as quick, efficiency {one / two / 2:.2f}")
        print(
            f"  a row {per_row * 1e6:.1f} us, a step {per_step * 1e6:.0f} us; a sum "
            f"{small * 1e6:.0f} us and {rate / 2**20:,.0f} MiB/s by 2"
        )
        for count in (2, 8, 16, 32, 64):
            ring = 2 * (count - 1) * (small / 2 + params * 4 / count / rate)
            step = per_step + per_row * given.minibatch / count + ring
            gain = (per_step + per_row * given.minibatch) / step
            grown = per_step + per_row * given.minibatch
            weak = grown / (grown + ring)
            print(
                f"  predicted {count:2} learners: the same minibatch {gain:5.2f} times as quick "
                f"({gain / count:.2f}); one of {given.minibatch} for each {weak:.2f}"
            )


if __name__ == "__main__":
    main()
