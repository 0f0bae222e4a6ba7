"""An old policy as the start of a better one: PPO from scratch, from a graft, and after teaching.

Every arm has the same budget of environment steps, those of teaching counted. At each point of a
curve the policy plays 10 episodes without exploring, which are not counted. A run that is there
already is not run again.

nice -n 19 python benchmarks/learning/next_life.py --out next_life.jsonl --seeds 5
python benchmarks/learning/next_life.py --out next_life.jsonl --report --pictures docs/pictures
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete
from rich.console import Console
from rich.table import Table
from rlconnect import Actor, adapt, graft, load, migrate, rollout, teach
from rlconnect.adapters import AdapterChain, DropFeatures, PickKey, Scale
from rlconnect.core.pages.charts import banded_curves
from rlconnect.v2 import MeanStdFilter, PPOConfig, make_multi_agent
from rlconnect.v2.connectors.env_to_module.adapt_observations import AdaptObservations

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "story"))
from report import write_pictures

EPISODES, EVERY, TEACHING_EVERY, SHARE = 10, 4_000, 1_000, 0.95
TEACHING: dict[str, Any] = {"steps": 30_000, "num_envs": 8, "episodes": EPISODES}
"""One rule for all tasks: until `teach` thinks it is enough, or so many steps."""
ARMS = ("scratch", "grafted", "taught")
"""From nothing, from a graft, and taught and then on with PPO."""
LR, CAREFUL, LEAST = 1e-3, 0.3, 0.1
"""PPO's learning rate, its share for what is good already, and what is left of it in the end."""
CARTPOLE = {
    "train_batch_size": 2048,
    "minibatch_size": 256,
    "num_epochs": 10,
    "lambda_": 0.95,
    "clip_param": 0.2,
    "use_kl_loss": False,
    "vf_clip_param": 10_000.0,
    "grad_clip": 0.5,
}
PENDULUM = {
    "train_batch_size": 2048,
    "minibatch_size": 128,
    "num_epochs": 10,
    "gamma": 0.9,
    "lambda_": 0.95,
    "clip_param": 0.2,
    "use_kl_loss": False,
    "vf_clip_param": 1e6,
}
MEMORY = {"fcnet_hiddens": [64], "use_lstm": True, "lstm_cell_size": 64, "max_seq_len": 20}


class TwoMore(gym.ObservationWrapper):
    """CartPole with two features more, of noise."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(gym.make("CartPole-v1"))
        low, high = self.env.observation_space.low, self.env.observation_space.high
        self.observation_space = Box(np.append(low, [-1, -1]), np.append(high, [1, 1]), (6,))

    def observation(self, observation: Any) -> Any:
        noise = self.np_random.uniform(-1, 1, 2)
        return np.concatenate([observation, noise]).astype(np.float32)


class Rescaled(gym.ObservationWrapper):
    """Pendulum in other units: cosine and sine in percent, the speed in tenths."""

    SCALE = np.array([100, 100, 10], np.float32)

    def __init__(self, config: Any = None) -> None:
        super().__init__(gym.make("Pendulum-v1"))
        space = self.env.observation_space
        self.observation_space = Box(space.low * self.SCALE, space.high * self.SCALE)

    def observation(self, observation: Any) -> Any:
        return np.asarray(observation * self.SCALE, np.float32)


class Catch(gym.Env):
    """A ball falls through a picture of 10 x 10 and is to be caught; the teacher sees numbers."""

    observation_space = Dict(
        {"image": Box(0, 1, (10, 10, 1), np.float32), "numbers": Box(0, 9, (3,), np.float32)}
    )
    action_space = Discrete(3)

    def __init__(self, config: Any = None) -> None:
        self.paddle = self.x = self.y = self.caught = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.caught, self.paddle = 0, 5
        self._drop()
        return self._look(), {}

    def step(self, action: Any) -> Any:
        self.paddle = int(np.clip(self.paddle + int(action) - 1, 0, 9))
        self.y += 1
        reward, is_over = 0.0, False
        if self.y == 9:
            self.caught += 1
            reward = float(abs(self.x - self.paddle) <= 0)
            is_over = self.caught == 10
            self._drop()
        return self._look(), reward, is_over, False, {}

    def _drop(self) -> None:
        self.x, self.y = int(self.np_random.integers(10)), 0

    def _look(self) -> Any:
        image = np.zeros((10, 10, 1), np.float32)
        image[self.y, self.x] = image[9, self.paddle] = 1
        return {"image": image, "numbers": np.array([self.x, self.y, self.paddle], np.float32)}


class CatchNumbers(gym.ObservationWrapper):
    """The same without a picture."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(Catch())
        self.observation_space = Catch.observation_space["numbers"]

    def observation(self, observation: Any) -> Any:
        return observation["numbers"]


@dataclass(frozen=True)
class Old:
    """How a teacher came about: PPO until returns, or so many steps.

    The goals are without exploring, and while it explores: one that is only right where it does not
    explore still has most of its learning before it, and those whom it teaches have, too.
    """

    env: Any
    settings: dict[str, Any]
    goal: float
    steps: int
    exploring: float = -np.inf


@dataclass(frozen=True)
class Task:
    """A changed environment, a network for it, and what an old policy needs there."""

    old: str
    env: Any
    steps: int
    settings: dict[str, Any]
    model: dict[str, Any]
    obs: Any = None
    pieces: Callable[..., Any] | None = None
    arms: tuple[str, ...] = ("scratch", "taught")
    agents: int = 1


OLD = {
    "cartpole": Old("CartPole-v1", CARTPOLE, 490, 200_000, exploring=475),
    "pendulum": Old("Pendulum-v1", PENDULUM, -220, 300_000),
    "catch": Old(CatchNumbers, CARTPOLE, 9.9, 200_000),
}
LAYERS = {"fcnet_hiddens": [64, 64]}


def through(space: Any, *steps: Any) -> Callable[..., Any]:
    """Pieces through which a student sees less than its teacher."""
    return lambda *_: [AdaptObservations(space, chain=AdapterChain(obs=steps))]


TASKS = {
    "CartPole and 2 features": Task(
        "cartpole", TwoMore, 50_000, CARTPOLE, LAYERS, DropFeatures([4, 5]), arms=ARMS
    ),
    "CartPole, hidden velocities": Task(
        "cartpole",
        "CartPole-v1",
        50_000,
        CARTPOLE,
        MEMORY,
        pieces=lambda *_: [
            *through(gym.make("CartPole-v1").observation_space, DropFeatures([1, 3]))(),
            MeanStdFilter(),
        ],
        # Not grafted: the old policy needs what is hidden.
    ),
    "Catch, an image": Task(
        "catch",
        Catch,
        50_000,
        CARTPOLE,
        {"conv_filters": [[16, 3, 2], [32, 3, 2]], "head_fcnet_hiddens": [64]},
        PickKey("numbers"),
        through(Catch.observation_space, PickKey("image")),
        # Not grafted: nothing of its network sees an image.
    ),
    "Pendulum rescaled": Task(
        "pendulum",
        Rescaled,
        50_000,
        PENDULUM,
        LAYERS,
        Scale([0.01, 0.01, 0.1]),
        lambda *_: MeanStdFilter(),
        arms=ARMS,
    ),
    "two CartPoles": Task(
        "cartpole",
        make_multi_agent("CartPole-v1"),
        50_000,
        CARTPOLE,
        LAYERS,  # Not grafted: the environment is the old one, for two.
        agents=2,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("next_life.jsonl"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=20, help="0 to 2 and 11 chose settings")
    parser.add_argument("--task", action="append", choices=TASKS, help="only these; all if none")
    parser.add_argument("--arm", action="append", choices=ARMS, help="only these; all if none")
    parser.add_argument("--pictures", type=Path, help="a folder for curves")
    parser.add_argument("--report", action="store_true", help="only tell what was run")
    args = parser.parse_args()
    torch.set_num_threads(1)
    runs = kept(args.out)
    if not args.report:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            for name in args.task or TASKS:
                for arm in [a for a in TASKS[name].arms if not args.arm or a in args.arm]:
                    if not any(
                        (run["task"], run["arm"], run["seed"]) == (name, arm, seed) for run in runs
                    ):
                        run = {
                            "task": name,
                            "arm": arm,
                            "seed": seed,
                            **ran(name, arm, seed, args.out),
                        }
                        with args.out.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(run) + "\n")
                        print(
                            name, arm, seed, run["curve"][-1], f"{run['seconds']:.0f} s", flush=True
                        )
    report(kept(args.out))
    if args.pictures is not None:
        write_pictures(args.pictures, pictures(kept(args.out)))


def kept(path: Path) -> list[dict[str, Any]]:
    """The runs that are there."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def ran(name: str, arm: str, seed: int, out: Path) -> dict[str, Any]:
    """One run: its curve `[steps, return]`, and what the teacher earns."""
    task, began = TASKS[name], process_time()
    path = taught_by(task.old, out.parent)
    teacher = load(path) if task.obs is None else adapt(path, env=made(task), obs=task.obs)
    goal = played(task, teacher)
    told: dict[str, Any] = {"teacher": goal, "random": at_random(task)}
    config, steps = configured(task, seed), 0
    curve: list[tuple[int, float]] = []
    taught: Any = None
    with tempfile.TemporaryDirectory() as folder:
        if arm == "grafted":
            grown = graft(path, env=made(task), obs=task.obs, samples=200, seed=seed)
            config = going_on(task, seed, saved(grown, folder), 0)
        if arm == "taught":
            place = Path(folder, "taught")

            def look(lesson: Any) -> None:
                if lesson.steps - (curve[-1][0] if curve else 0) >= TEACHING_EVERY:
                    curve.append((lesson.steps, played(task, place)))

            taught = teach(
                config,
                teacher,
                **TEACHING,
                seed=seed,
                out=place,
                progress=look,
            )
            told["agreement"] = taught.lessons[-1].agreement
            told["taught"] = taught.student_returns.mean
            told["lessons"] = steps = taught.lessons[-1].steps
            config = going_on(task, seed, place, steps, teacher)
        algorithm = config.build_algo()
        if taught is not None and task.agents > 1:
            students = taught.student.items()
            algorithm.set_weights({name: each.module.get_state() for name, each in students})
        curve.append((steps, played(task, algorithm)))
        done, due = steps, steps + EVERY
        while done < task.steps:
            done = steps + algorithm.train()["num_env_steps_sampled_lifetime"]
            if done >= due or done >= task.steps:
                curve.append((done, played(task, algorithm)))
                due = done + EVERY
        algorithm.stop()
    return {**told, "curve": curve, "seconds": process_time() - began}


def configured(task: Task, seed: int) -> PPOConfig:
    """PPO as it begins from nothing."""
    config = PPOConfig().env_runners(
        num_env_runners=0, num_envs_per_env_runner=8, env_to_module_connector=task.pieces
    )
    config.rl_module(model_config={**task.model, "vf_share_layers": False})
    return _set(config, task, seed)


def going_on(task: Task, seed: int, start: Any, done: int, teacher: Any = None) -> PPOConfig:
    """PPO as it goes on from what was grafted or taught, with the teacher for a while."""
    if task.agents > 1:
        config = configured(task, seed)
    else:
        config = PPOConfig().from_migrated(start).env_runners(num_envs_per_env_runner=8)
    if teacher is not None:
        config.training(teacher=teacher, teacher_coeff=[[0, 1.0], [20_000, 0.2]])
    return _set(config, task, seed, done, CAREFUL)


def _set(config: PPOConfig, task: Task, seed: int, done: int = 0, share: float = 1.0) -> PPOConfig:
    lr = [[0, LR * share], [task.steps - done, LR * share * LEAST]]
    config.environment(task.env).training(**task.settings, lr=lr).debugging(seed=seed)
    if task.agents > 1:
        config.environment(env_config={"num_agents": task.agents}).multi_agent(
            policies={f"p{agent}" for agent in range(task.agents)},
            policy_mapping_fn=lambda agent, *_, **__: f"p{agent}",
        )
    return config


def made(task: Task) -> Any:
    """The changed environment."""
    if task.agents > 1:
        return task.env({"num_agents": task.agents})
    return gym.make(task.env) if isinstance(task.env, str) else task.env()


def saved(triple: Any, folder: str) -> Path:
    """A policy as a folder that training goes on from."""
    migrate(triple, Path(folder, "grown"))
    return Path(folder, "grown")


def played(task: Task, policy: Any) -> float:
    """What an algorithm's policy, or a teacher, earns without exploring: episodes side by side."""
    mapping = (lambda agent: f"p{agent}") if task.agents > 1 else None
    if not hasattr(policy, "save_to_path"):
        actor = Actor.from_checkpoint(policy)
    else:
        with tempfile.TemporaryDirectory() as place:
            policy.save(place)
            actor = Actor.from_checkpoint(place, policy_mapping_fn=mapping)
    if task.agents > 1:
        return rollout(actor, made(task), episodes=EPISODES, seed=1_000).mean
    envs = gym.vector.SyncVectorEnv([lambda: made(task)] * EPISODES)
    return rollout(actor, envs, episodes=EPISODES, seed=1_000).mean


def at_random(task: Task) -> float:
    """What random actions earn."""
    env, totals = made(task), []
    space = Dict(env.action_spaces) if task.agents > 1 else env.action_space
    space.seed(0)
    for seed in range(EPISODES):
        env.reset(seed=seed)
        total, is_over = 0.0, False
        while not is_over:
            _, reward, ended, cut, _ = env.step(space.sample())
            total += sum(reward.values()) if isinstance(reward, dict) else reward
            is_over = (
                ended["__all__"] or cut["__all__"] if isinstance(ended, dict) else ended or cut
            )
        totals.append(float(total))
    return statistics.fmean(totals)


def taught_by(name: str, folder: Path) -> Path:
    """The teacher's checkpoint; it is trained where it is not there yet."""
    place = Path(folder, f"teacher-{name}").absolute()
    if place.exists():
        return place
    old = OLD[name]
    config = PPOConfig().environment(old.env).rl_module(model_config=LAYERS)
    config.training(**old.settings, lr=LR).env_runners(num_env_runners=0, num_envs_per_env_runner=8)
    algorithm = config.debugging(seed=100).build_algo()
    task, steps, best, explored = Task(name, old.env, 0, {}, {}), 0, -np.inf, -np.inf
    while (best < old.goal or explored < old.exploring) and steps < old.steps:
        for _ in range(4):
            result = algorithm.train()
        steps = result["num_env_steps_sampled_lifetime"]
        best, explored = played(task, algorithm), result["env_runners"]["episode_return_mean"]
    algorithm.save(place)
    algorithm.stop()
    print(f"teacher {name}: {best:.1f}, {explored:.1f} exploring, {steps:,} steps", flush=True)
    return place


def steps_to(run: dict[str, Any], last: float = np.inf) -> float:
    """Environment steps to 0.95 of the way from random actions to the teacher."""
    curve = [point for point in run["curve"] if point[0] <= last]
    return next((steps for steps, value in curve if share(run, value) >= SHARE), np.inf)


def share(run: dict[str, Any], value: float) -> float:
    """How much of the way from random actions to the teacher a return is."""
    return float((value - run["random"]) / (run["teacher"] - run["random"]))


def report(runs: list[dict[str, Any]]) -> None:
    """A row for each task and arm, and one for its lessons: steps, and shares of the way there."""
    heads = ("task", "arm", "seeds", "steps to 0.95", "of each seed", "share in the end", "each")
    table = Table(*heads)
    for name in TASKS:
        for arm in ("scratch", "grafted", "lessons", "taught"):
            kind = "taught" if arm == "lessons" else arm
            own = [run for run in runs if (run["task"], run["arm"]) == (name, kind)]
            if not own:
                continue
            if arm == "lessons":
                steps = [steps_to(run, run["lessons"]) for run in own]
                ends = [run["taught"] for run in own]
            else:
                steps = [steps_to(run) for run in own]
                ends = [run["curve"][-1][1] for run in own]
            shares = [share(run, end) for run, end in zip(own, ends, strict=True)]
            table.add_row(
                name,
                arm,
                str(len(own)),
                _steps(statistics.median_high(steps)),
                " ".join(map(_steps, steps)),
                f"{statistics.median(shares):.3f}",
                " ".join(f"{end:.0f}" for end in ends),
            )
    Console(width=190).print(table)


def _steps(count: float) -> str:
    return f"{count:,}" if count < np.inf else "never"


def pictures(runs: list[dict[str, Any]]) -> dict[str, str]:
    """Shares of the teacher's return over environment steps, a picture a task."""
    drawn = {}
    for number, name in enumerate(TASKS):
        ways = []
        for arm in ("scratch", "grafted", "taught"):
            own = [run for run in runs if (run["task"], run["arm"]) == (name, arm)]
            curves = [
                ([at for at, _ in run["curve"]], [max(0, share(run, v)) for _, v in run["curve"]])
                for run in own
            ]
            if own:
                seeds = "1 seed" if len(own) == 1 else f"{len(own)} seeds"
                ways.append((f"{arm} ({seeds})", curves))
        if ways:
            chart = banded_curves(ways, 1.0, "the teacher", f"{name}: share of its return")
            drawn[f"next-life-{number}"] = chart
    return drawn


if __name__ == "__main__":
    main()
