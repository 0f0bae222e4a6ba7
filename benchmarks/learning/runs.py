"""What the learning runs share: train until a return is reached or the steps are used up."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Outcome:
    """How a run went; `steps` are those to the goal, or all of them."""

    best: float
    last: float
    steps: int
    seconds: float
    has_reached: bool


@dataclass(frozen=True)
class Run:
    """A run with its name."""

    name: str
    outcome: Outcome


def mean_return(result: Mapping[str, Any]) -> float:
    return float(result["env_runners"].get("episode_return_mean", float("nan")))


def add_arguments(parser: argparse.ArgumentParser, steps: int) -> argparse.ArgumentParser:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=steps, help="environment steps at most")
    return parser


def trained(
    config: Any,
    goal: float,
    steps: int,
    score: Callable[[Mapping[str, Any]], float] = mean_return,
) -> Outcome:
    """Train until the score reaches the goal, or so many steps are sampled."""
    torch.set_num_threads(1)
    began = perf_counter()
    algo = config.build_algo()
    best = last = float("-inf")
    done = 0
    while done < steps and best < goal:
        result = algo.train()
        done = result["num_env_steps_sampled_lifetime"]
        last = score(result)
        if last == last:  # not NaN
            best = max(best, last)
    algo.stop()
    return Outcome(best, last, done, perf_counter() - began, best >= goal)


def report(title: str, goal: float, runs: Sequence[Run]) -> None:
    """Print a table of runs."""
    table = Table(
        "run", "best mean return", "last", "steps", "seconds", "steps/s", "goal", title=title
    )
    for run in runs:
        made = run.outcome
        table.add_row(
            run.name,
            f"{made.best:.1f}",
            f"{made.last:.1f}",
            f"{made.steps:,}",
            f"{made.seconds:.0f}",
            f"{made.steps / made.seconds:,.0f}",
            "reached" if made.has_reached else "missed",
        )
    console = Console()
    console.print(table)
    reached = sum(run.outcome.has_reached for run in runs)
    console.print(f"goal {goal:g}: reached by {reached} of {len(runs)}")
