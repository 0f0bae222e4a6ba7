"""BC and MARWIL on a recorded expert: they reach its return on CartPole-v1 and Pendulum-v1.

python benchmarks/learning/imitation.py [--env pendulum] [--data DIR_THAT_RAY_WROTE]

The experts are a few lines of control. What they play is recorded, written in each form, and learnt
from; expert and learner are then played from the same 20 starts. Deviations that do not depend on
observations (`free_log_std`) are needed for Pendulum: with the default ones, in Ray as here, rare
states are explained by a large deviation instead of being learnt.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from rlconnect.core.formulas.actions import normalize_action, unsquash_action
from rlconnect.offline import open_dataset
from rlconnect.v2 import BCConfig, Columns, MARWILConfig, SingleAgentEpisode, write_episodes

STARTS = 20
FORMS = ("parquet", "json", "minari")


def balance(seen: Any) -> Any:
    """CartPole's expert: 500, always."""
    return int(seen @ np.array([0.1, 0.3, 3.0, 1.0]) > 0)


def swing_up(seen: Any) -> Any:
    """Pendulum's expert: brings energy in, then holds it up."""
    angle, speed = np.arctan2(seen[1], seen[0]), seen[2]
    missing = speed**2 / 6 + 5 * (seen[0] - 1)
    nudge = 0.5 * np.sign(angle) * np.exp(-4 * speed**2) * (seen[0] < -0.5)
    swing, hold = np.tanh(nudge - 0.5 * missing * speed), -np.tanh(6 * angle + 1.5 * speed)
    share = 1 / (1 + np.exp(-(seen[0] - 0.7) / 0.05))
    return np.array([2 * (share * hold + (1 - share) * swing)], np.float32)


EXPERTS = {"cartpole": ("CartPole-v1", balance, 20), "pendulum": ("Pendulum-v1", swing_up, 100)}


def played(env: Any, act: Callable[[Any], Any], seed: int) -> SingleAgentEpisode:
    """One episode; actions are recorded as networks give them."""
    episode = SingleAgentEpisode(
        f"{seed}", observation_space=env.observation_space, action_space=env.action_space
    )
    seen, info = env.reset(seed=seed)
    episode.add_env_reset(seen, info)
    while not episode.is_done:
        action = act(seen)
        seen, reward, ended, cut, info = env.step(action)
        episode.add_env_step(
            seen, normalize_action(action, env.action_space), reward, info,
            terminated=ended, truncated=cut,
        )  # fmt: skip
    return episode


def returns(env: Any, act: Callable[[Any], Any]) -> Any:
    return np.array([played(env, act, 5000 + start).get_return() for start in range(STARTS)])


def config(kind: Any, env: Any, data: Any) -> Any:
    is_choice = isinstance(env.action_space, gym.spaces.Discrete)
    model = {"fcnet_hiddens": [64, 64], "free_log_std": not is_choice, "vf_share_layers": False}
    made = (
        kind()
        .environment(env.spec.id)
        .training(train_batch_size_per_learner=256, lr=1e-3)
        .rl_module(model_config=model)
        .offline_data(
            input_=[str(data)],
            dataset_num_iters_per_learner=100,
            actions_in_input_normalized=True,  # in Minari's form, too
        )
        .debugging(seed=0)
    )
    if kind is MARWILConfig and not is_choice:  # its returns differ by hundreds
        made.training(moving_average_sqd_adv_norm_start=1e5)
    return made


def learnt(made: Any, env: Any, rounds: int) -> tuple[Any, float]:
    """What the module gets that learnt so many rounds of 100 updates, and how long that took."""
    algo, began = made.build_algo(), process_time()
    for _ in range(rounds):
        algo.train()
    seconds = process_time() - began
    module = algo.get_module()
    is_choice = isinstance(env.action_space, gym.spaces.Discrete)

    def act(seen: Any) -> Any:
        with torch.no_grad():
            out = module.forward_inference({Columns.OBS: torch.from_numpy(seen[None])})
        found = out[Columns.ACTION_DIST_INPUTS].numpy()[0]
        if is_choice:
            return int(found.argmax())
        return unsquash_action(np.clip(found[:1], -1, 1), env.action_space)

    won = returns(env, act)
    algo.stop()
    return won, seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--env", choices=EXPERTS, help="only this one")
    parser.add_argument("--data", help="learn from what lies here, of the same expert")
    parser.add_argument("--rounds", type=int, default=60, help="of 100 updates")
    args = parser.parse_args()
    torch.set_num_threads(1)
    table = Table("environment", "data", "algorithm", "expert", "learner", "worst", "CPU seconds")
    for name in [args.env] if args.env else EXPERTS:
        env_id, expert, count = EXPERTS[name]
        env = gym.make(env_id)
        with tempfile.TemporaryDirectory() as scratch:
            own = Path(scratch, "own")
            write_episodes(own / "all", [played(env, expert, 1000 + i) for i in range(count)])
            for form in [args.data] if args.data else FORMS:
                data = form if args.data else open_dataset(own).write(Path(scratch, form), form)
                for kind in (BCConfig, MARWILConfig):
                    won, seconds = learnt(config(kind, env, data), env, args.rounds)
                    table.add_row(
                        env_id, form, kind.__name__.removesuffix("Config"),
                        f"{returns(env, expert).mean():.1f}", f"{won.mean():.1f}",
                        f"{won.min():.1f}", f"{seconds:.0f}",
                    )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
