"""Steps that a teacher labels and a student learns from, against the bare networks that this takes.

    python benchmarks/teach_labels.py [--steps 1_000_000] [--envs 256] [--epochs 1] [--rows]

`rlconnect.teach` in CartPole-v1 by a policy of Ray 2.7: environments, labels, memory, batches and
all; with `--rows` the environments are gymnasium's own vector, which steps rows of one array. Bare
is torch alone on tensors that are there already: as many forward passes of the same teacher and the
same student over as many rows, and as many forward and backward passes of the student with its
optimiser. CPU time; what happens once (comparing returns, building) is in neither.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # Threads that wait burn CPU time, too.

import rlconnect
import torch
from rlconnect.v2 import PPOConfig

OLD = Path(__file__).parents[1] / "examples/checkpoints/ppo-cartpole-ray-2.7"
MINIBATCH = 512


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=1, help="how often a step is learnt from")
    parser.add_argument("--round", type=int, default=8192, help="steps between two lessons")
    parser.add_argument("--rows", action="store_true", help="environments as rows of one array")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = {"fcnet_hiddens": [256, 256], "vf_share_layers": False}
    config = PPOConfig().environment("CartPole-v1").rl_module(model_config=model)
    if args.rows:
        config.env_runners(gym_env_vectorize_mode="vector_entry_point")
    marks: list[tuple[int, float]] = []
    taught = rlconnect.teach(
        config,
        OLD,
        until=1.0,
        steps=args.steps + args.round,
        round_steps=args.round,
        num_envs=args.envs,
        epochs=args.epochs,
        minibatch_size=MINIBATCH,
        episodes=2,
        progress=lambda lesson: marks.append((lesson.steps, process_time())),
    )
    (first, began), (last, ended) = marks[0], marks[-1]
    ours = (ended - began) / (last - first)
    teacher = rlconnect.migrate(OLD).triple().module
    least = bare(teacher, taught.student.module, last - first, args)
    print(f"{last - first:,} labelled steps, {args.envs} environments, {args.epochs} epochs")
    print(f"teach {ours * 1e6:.1f} us a step, bare {least * 1e6:.1f} us, {ours / least:.2f} times")


def bare(teacher: Any, student: Any, steps: int, args: argparse.Namespace) -> float:
    """Seconds of CPU a step that the networks alone take."""
    seen, many = torch.randn(args.envs, 4), torch.randn(MINIBATCH, 4)
    told, worth = torch.randn(MINIBATCH, 2), torch.randn(MINIBATCH)
    optimizer = torch.optim.Adam(student.parameters(), 1e-3)
    began = process_time()
    for _ in range(steps // args.round):
        with torch.no_grad():
            for _ in range(args.round // args.envs):
                teacher.forward_inference({"obs": seen})
                teacher.compute_values({"obs": seen})
                student.forward_exploration({"obs": seen})
        for _ in range(args.epochs * args.round // MINIBATCH):
            out = student.forward_train({"obs": many})
            kind = student.get_train_action_dist_cls()
            mine = kind.from_logits(out["action_dist_inputs"])
            values = student.compute_values({"obs": many}, out.get("embeddings"))
            loss = kind.from_logits(told).kl(mine).mean()
            loss = loss + torch.nn.functional.smooth_l1_loss(values, worth)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return (process_time() - began) / (steps // args.round * args.round)


if __name__ == "__main__":
    main()
