"""Learning curves of several seeds each: returns without exploring, as a picture.

    python benchmarks/learning/curves.py cartpole --seeds 5 --out curves.jsonl
    python benchmarks/learning/curves.py --draw docs/pictures --out curves.jsonl

Ten episodes after every so many steps; settings are those of the tasks' own files. LunarLander
needs the extra `box2d`. A line of `--out` is one run; runs that are there are not made again.
`--draw FOLDER` writes a picture of each task: the median of the seeds, and the range of all.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cartpole_dqn
import lunar_lander
import sac_pendulum
from rlconnect.core.pages.charts import alone, banded_curves

EPISODES = 10


class Task(NamedTuple):
    """What is learnt: settings, steps in all, steps between evaluations, and a return to reach."""

    title: str
    config: Callable[[], Any]
    steps: int
    between: int
    goal: float


TASKS = {
    "cartpole": Task("DQN, CartPole-v1", cartpole_dqn.config, 80_000, 4_000, 475.0),
    "pendulum": Task("SAC, Pendulum-v1", lambda: sac_pendulum.config(False), 5_000, 500, -200.0),
    "lander-ppo": Task("PPO, LunarLander-v3", lunar_lander.ppo, 600_000, 24_576, 200.0),
    "lander-dqn": Task("DQN, LunarLander-v3", lunar_lander.dqn, 100_000, 5_000, 200.0),
    "lander-sac": Task("SAC, LunarLander-v3, continuous", lunar_lander.sac, 100_000, 5_000, 200.0),
}


def run(name: str, seed: int) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    task = TASKS[name]
    config = task.config().debugging(seed=seed)
    config.reporting(min_sample_timesteps_per_iteration=task.between, min_time_s_per_iteration=0)
    config.evaluation(
        evaluation_interval=1,
        evaluation_duration=EPISODES,
        evaluation_config={"explore": False},
    )
    algo = config.build_algo()
    began = time.process_time()
    made: dict[str, Any] = {"task": name, "seed": seed, "steps": [], "returns": []}
    while not made["steps"] or made["steps"][-1] < task.steps:
        result = algo.train()
        made["steps"].append(result["num_env_steps_sampled_lifetime"])
        made["returns"].append(result["evaluation"]["env_runners"]["episode_return_mean"])
    algo.stop()
    return {**made, "cpu_seconds": time.process_time() - began}


def tell(name: str, runs: list[dict[str, Any]]) -> None:
    """Print how the runs of a task went."""
    task = TASKS[name]
    print(f"{task.title}: goal {task.goal:g}")
    for each in runs:
        pairs = zip(each["steps"], each["returns"], strict=True)
        first = next((step for step, value in pairs if value >= task.goal), None)
        print(
            f"  seed {each['seed']}: best {max(each['returns']):.0f}, last "
            f"{each['returns'][-1]:.0f}, goal after {first}, {each['cpu_seconds']:.0f} s of CPU"
        )
    last = [statistics.fmean(each["returns"][-3:]) for each in runs]
    if len(last) > 1:
        mean, spread = statistics.fmean(last), statistics.stdev(last)
        print(f"  mean of the last three evaluations: {mean:.1f}, deviation of seeds {spread:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("tasks", nargs="*", choices=[[], *TASKS])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("curves.jsonl"))
    parser.add_argument("--draw", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = args.out.read_text(encoding="utf-8").splitlines() if args.out.exists() else []
    runs = [json.loads(line) for line in lines]
    for name in args.tasks:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            if all((each["task"], each["seed"]) != (name, seed) for each in runs):
                runs.append(run(name, seed))
                with args.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(runs[-1]) + "\n")
    for name, task in TASKS.items():
        own = [each for each in runs if each["task"] == name]
        if own:
            tell(name, own)
        if own and args.draw:
            lines = [(each["steps"], each["returns"]) for each in own]
            ways = [(f"{task.title} ({len(own)} seeds)", lines)]
            svg = banded_curves(ways, task.goal, "goal", f"Returns of {task.title} over steps")
            path = args.draw / f"learning-{name}.svg"
            path.write_text(alone(svg) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
