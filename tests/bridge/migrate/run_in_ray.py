"""Let a real Ray open whole algorithms that `to_ray` wrote, sample and train.

Run by an interpreter that has Ray: `python run_in_ray.py FOLDER OUT [MODULE ...]`. FOLDER holds one
folder per case, with `spaces.pkl` (what its environment gives and takes, by agent for several) and
`asked.pkl` as for `ask_ray.py` where there is one agent. OUT is an npz of `<case>|<stage>`, with
what came of it as text under `<case>|sampled` and `<case>|trained`.
"""

import importlib
import json
import pickle
import sys
import time
import traceback
import warnings
from pathlib import Path

warnings.simplefilter("ignore")


import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402
import ray.cloudpickle  # noqa: E402
from ray.rllib.algorithms.algorithm import Algorithm  # noqa: E402
from ray.rllib.env.multi_agent_env import MultiAgentEnv  # noqa: E402
from ray.tune import register_env  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from ask_ray import answers_of  # noqa: E402

LENGTH = 12
ITERATIONS = 20
SMALL = {
    "_train_batch_size_per_learner": 64,
    "minibatch_size": 32,
    "num_epochs": 1,
    "rollout_fragment_length": 32,
    "num_steps_sampled_before_learning_starts": 32,
    "min_time_s_per_iteration": 0,
    "min_sample_timesteps_per_iteration": 0,
}


def drawn(space):
    """An observation without the largest of floats, which no network stands."""
    seen = space.sample()
    if isinstance(space, gym.spaces.Box) and np.dtype(space.dtype).kind == "f":
        return np.clip(seen, np.maximum(space.low, -9), np.minimum(space.high, 9))
    return seen


class OneAgent(gym.Env):
    """Random observations of one agent."""

    def __init__(self, spaces):
        self.observation_space, self.action_space = spaces
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        """Begin."""
        self.steps = 0
        return drawn(self.observation_space), {}

    def step(self, action):
        """Go on, whatever was done."""
        self.steps += 1
        return drawn(self.observation_space), 1.0, False, self.steps >= LENGTH, {}


class Agents(MultiAgentEnv):
    """Random observations of several agents, all of which act in each step."""

    def __init__(self, spaces):
        super().__init__()
        self.agents = self.possible_agents = list(spaces)
        self.observation_spaces = {agent: each[0] for agent, each in spaces.items()}
        self.action_spaces = {agent: each[1] for agent, each in spaces.items()}
        self.observation_space = gym.spaces.Dict(self.observation_spaces)
        self.action_space = gym.spaces.Dict(self.action_spaces)
        self.steps = 0

    def _seen(self):
        return {agent: drawn(space) for agent, space in self.observation_spaces.items()}

    def reset(self, *, seed=None, options=None):
        """Begin."""
        self.steps = 0
        return self._seen(), {}

    def step(self, action):
        """Go on, whatever was done."""
        self.steps += 1
        over = self.steps >= LENGTH
        rewards = dict.fromkeys(self.agents, 1.0)
        return self._seen(), rewards, {"__all__": False}, {"__all__": over}, {}


def run(case):
    """What comes of one case, by stage; training is the last one."""
    spaces = pickle.loads((case / "spaces.pkl").read_bytes())
    saved = pickle.loads((case / "class_and_ctor_args.pkl").read_bytes())
    settings = saved["ctor_args_and_kwargs"][0][0]
    kind = Agents if isinstance(spaces, dict) else OneAgent
    register_env("random", lambda config: kind(spaces))
    settings |= {**SMALL, "env": "random", "env_config": {}}
    (case / "class_and_ctor_args.pkl").write_bytes(ray.cloudpickle.dumps(saved))
    algorithm = Algorithm.from_checkpoint(case)
    needs = json.loads((case / "ray.json").read_text(encoding="utf-8"))
    try:
        runner = algorithm.env_runner
        if (case / "asked.pkl").exists():
            parts = runner.module, runner._env_to_module, runner._module_to_env
            yield from answers_of(
                case, *(each.unwrapped() if each is parts[0] else each for each in parts)
            ).items()
        yield "sampled", f"{len(runner.sample(num_episodes=2, random_actions=False))} episodes"
        if needs["no_training"]:
            return
        learner = algorithm.learner_group._learner
        before = {k: v.copy() for k, v in _weights(learner).items()}
        for _ in range(ITERATIONS):  # some learn beside the loop, and later
            algorithm.train()
            after = _weights(learner)
            moved = [name for name in before if not np.array_equal(before[name], after[name])]
            if moved:
                break
        yield "trained", f"{len(moved)} of {len(before)} weights changed"
    finally:
        algorithm.stop()


def _weights(learner):
    state = learner.module.get_state()
    return {
        f"{key}/{name}": np.asarray(part)
        for key, own in state.items()
        for name, part in own.items()
    }


def all_results(root):
    """Those of every case; what failed under "error", after what went well before."""
    for case in sorted(path for path in root.iterdir() if (path / "spaces.pkl").exists()):
        began = time.monotonic()
        try:
            for stage, value in run(case):
                yield f"{case.name}|{stage}", np.asarray(value)
        except Exception:
            yield f"{case.name}|error", np.asarray(traceback.format_exc()[-3000:])
        print(f"{case.name}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    for name in sys.argv[3:]:
        importlib.import_module(name)
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    np.savez_compressed(sys.argv[2], **dict(all_results(Path(sys.argv[1]).resolve())))
