"""The cases of `benchmarks/env_runners.py`: runners that sample, and bare loops over the same."""

import gymnasium as gym
import numpy as np
import torch

from .public_names import public

STEPS = 64
AGENTS = tuple(f"a{number}" for number in range(8))
MODULES = ("p0", "p1")
SEEN, CHOICE = gym.spaces.Box(-5.0, 5.0, (4,), np.float32), gym.spaces.Discrete(2)
NAMES = (
    *(f"single.{how}.e{envs}" for how in ("random", "module") for envs in (1, 8, 64)),
    *(f"many.{how}.e{envs}" for how in ("random", "module") for envs in (1, 16)),
)


def make(name, backend, folder):
    """A function that samples `STEPS` steps of each environment."""
    torch.set_num_threads(1)
    kind, how, envs = name.split(".")
    makers = BARE if backend == "torch" else RUNNERS
    return makers[kind](backend, how == "random", int(envs[1:]))


def together(base):
    """An environment in which all agents act in each of 200 steps, and get the same."""

    class Together(base):
        def __init__(self, config=None):
            super().__init__()
            self.agents = self.possible_agents = list(AGENTS)
            self.observation_spaces = dict.fromkeys(AGENTS, SEEN)
            self.action_spaces = dict.fromkeys(AGENTS, CHOICE)
            self.seen = {agent: np.full(4, 0.1, np.float32) for agent in AGENTS}

        def reset(self, *, seed=None, options=None):
            self.time = 0
            return {**self.seen}, {}

        def step(self, actions):
            self.time += 1
            rewards = dict.fromkeys(AGENTS, 1.0)
            over = {"__all__": self.time >= 200}
            return {**self.seen}, rewards, over, {"__all__": False}, {}

    return Together


def by_number(agent, *_, **__):
    return MODULES[int(agent[1:]) % 2]


def sampling(backend, config, kind, is_random, envs):
    config = config.env_runners(num_env_runners=0, num_envs_per_env_runner=envs)
    runner = public(backend, kind)(config=config)
    return lambda: runner.sample(num_timesteps=STEPS * envs, random_actions=is_random)


def single(backend, is_random, envs):
    settings = public(backend, "DefaultModelConfig")(fcnet_hiddens=[64, 64])
    config = public(backend, "PPOConfig")().environment("CartPole-v1")
    config = config.rl_module(model_config=settings)
    return sampling(backend, config, "SingleAgentEnvRunner", is_random, envs)


def many(backend, is_random, envs):
    settings = public(backend, "DefaultModelConfig")(fcnet_hiddens=[64, 64])
    spec = public(backend, "RLModuleSpec")(
        observation_space=SEEN, action_space=CHOICE, model_config=settings
    )
    modules = public(backend, "MultiRLModuleSpec")(rl_module_specs=dict.fromkeys(MODULES, spec))
    config = (
        public(backend, "PPOConfig")()
        .environment(together(public(backend, "MultiAgentEnv")))
        .multi_agent(policies=set(MODULES), policy_mapping_fn=by_number)
        .rl_module(rl_module_spec=modules)
    )
    return sampling(backend, config, "MultiAgentEnvRunner", is_random, envs)


def network():
    """What the modules act by."""
    layers = [torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(64, 2)).eval()


def choose(net, rows):
    """Actions for rows of observations."""
    with torch.inference_mode():
        scores = net(torch.from_numpy(rows)).log_softmax(-1)
        return (scores - torch.empty_like(scores).exponential_().log_()).argmax(-1).numpy()


def bare_single(backend, is_random, envs):
    made = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * envs)
    net, last = network(), [made.reset(seed=0)[0]]
    drawn = [made.action_space.sample() for _ in range(STEPS)]

    def call():
        for step in range(STEPS):
            actions = drawn[step] if is_random else choose(net, last[0])
            last[0] = made.step(actions)[0]

    return call


def bare_many(backend, is_random, envs):
    made = [together(object)() for _ in range(envs)]
    seen = [one.reset()[0] for one in made]
    nets = [network() for _ in MODULES]
    places = [[place for place in range(8) if place % 2 == own] for own in range(2)]

    def call():
        for _ in range(STEPS):
            actions = [dict.fromkeys(AGENTS, 1) for _ in made]
            for net, own in zip(nets, [] if is_random else places, strict=False):
                rows = np.array([seen[env][AGENTS[place]] for env in range(envs) for place in own])
                chosen = iter(choose(net, rows).tolist())
                for env in range(envs):
                    actions[env].update({AGENTS[place]: next(chosen) for place in own})
            for env, one in enumerate(made):
                seen[env] = one.step(actions[env])[0]

    return call


RUNNERS = {"single": single, "many": many}
BARE = {"single": bare_single, "many": bare_many}
