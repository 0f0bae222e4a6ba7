"""Worlds of several agents, and what is written down of sampling in them.

The recording script runs this very file with Ray's classes, the tests run it with ours.
"""

import numpy as np
from gymnasium.spaces import Box, Discrete

SEEN = Box(-100.0, 100.0, (2,), np.float32)
HOOKS = ("created", "start", "step", "end")


def worlds(base):
    """Environments by name, as classes derived from a `MultiAgentEnv`."""

    class World(base):
        agents_here = ("a", "b")
        length = 5

        def __init__(self, config=None):
            super().__init__()
            self.possible_agents = list(self.agents_here)
            self.agents = list(self.agents_here)
            self.observation_spaces = dict.fromkeys(self.possible_agents, SEEN)
            self.action_spaces = {agent: Discrete(3) for agent in self.possible_agents}
            self.log = (config or {}).get("log", [])
            self.mine = (config or {}).get("count", [0])
            self.number = self.mine[0]
            self.mine[0] += 1

        def see(self, agent):
            return np.array([self.possible_agents.index(agent), self.t], np.float32)

        def reset(self, *, seed=None, options=None):
            self.t = 0
            self.log.append(["reset", self.number, seed])
            return {"a": self.see("a"), "b": self.see("b")}, {}

        def step(self, actions):
            self.t += 1
            self.log.append(["act", self.number, sorted(actions)])
            return self.after()

    class Leaving(World):
        """b leaves after three steps, a goes on to the fifth."""

        def after(self):
            over = {"__all__": self.t >= 5}
            seen, earned = {"a": self.see("a")}, {"a": 1.0}
            if self.t <= 3:
                seen["b"], earned["b"] = self.see("b"), 0.5
                if self.t == 3:
                    over["b"] = True
            return seen, earned, over, {"__all__": False}, {}

    class Coming(World):
        """b is cut off after one step, c comes then; every other world is one step longer."""

        agents_here = ("a", "b", "c")

        def after(self):
            over = {"__all__": self.t >= 2 + self.number % 2}
            cut = {"__all__": False}
            seen, earned = {"a": self.see("a"), "c": self.see("c")}, {"a": 1.0}
            if self.t == 1:
                seen["b"], earned["b"], cut["b"] = self.see("b"), 0.5, True
            else:
                earned["c"] = 0.25
            return seen, earned, over, cut, {"a": {"t": self.t}}

    class Turns(World):
        """a and b act in turns, and earn something in each other's."""

        def reset(self, *, seed=None, options=None):
            seen, infos = super().reset(seed=seed, options=options)
            return {"a": seen["a"]}, infos

        def after(self):
            now, other = "ab"[self.t % 2], "ab"[(self.t + 1) % 2]
            over = self.t >= 5
            seen = {agent: self.see(agent) for agent in ("ab" if over else now)}
            return seen, {now: 1.0, other: 0.1}, {"__all__": over}, {"__all__": False}, {}

    class Hollow(World):
        """Nobody observes after the first step, and only a after that."""

        def after(self):
            if self.t == 1:
                return {}, {"a": 0.5}, {"__all__": False}, {"__all__": False}, {}
            over = {"__all__": self.t >= 4}
            return {"a": self.see("a")}, {"a": 1.0}, over, {"__all__": False}, {}

    class Cut(World):
        """The whole episode is truncated after three steps."""

        def after(self):
            seen = {agent: self.see(agent) for agent in "ab"}
            cut = {"__all__": self.t >= 3}
            return seen, dict.fromkeys("ab", 1.0), {"__all__": False}, cut, {}

    kinds = (Leaving, Coming, Turns, Hollow, Cut)
    return {kind.__name__: kind for kind in kinds}


CASES = {
    "leaving": ("Leaving", 1, {}, [{"num_timesteps": 4}, {"num_timesteps": 3}]),
    "leaving_two": ("Leaving", 2, {}, [{"num_timesteps": 4}, {"num_timesteps": 5}]),
    "coming": ("Coming", 2, {}, [{"num_timesteps": 8}, {"num_timesteps": 3}]),
    "coming_random": ("Coming", 2, {"random": True}, [{"num_timesteps": 9}]),
    "coming_agent_steps": (
        "Coming",
        2,
        {"count_steps_by": "agent_steps"},
        [{"num_timesteps": 7}, {"num_timesteps": 3}],
    ),
    "turns": ("Turns", 1, {}, [{"num_timesteps": 2}, {"num_timesteps": 2}, {"num_timesteps": 3}]),
    "turns_lookback": (
        "Turns",
        1,
        {"episode_lookback_horizon": 3},
        [{"num_timesteps": 2}, {"num_timesteps": 2}, {"num_timesteps": 3}],
    ),
    "hollow": ("Hollow", 1, {}, [{"num_timesteps": 5}]),
    "cut": ("Cut", 1, {}, [{"num_timesteps": 4}]),
    "whole_episodes": ("Coming", 3, {"seed": 5}, [{"num_episodes": 2}]),
    "forced": ("Leaving", 1, {}, [{"num_timesteps": 2}, {"num_timesteps": 1, "force_reset": True}]),
    "complete": ("Coming", 2, {"batch_mode": "complete_episodes"}, [{}]),
}
"""World, environments, settings, calls of `sample()`."""

COUNTS = (
    "num_env_steps_sampled",
    "num_env_steps_sampled_lifetime",
    "num_agent_steps_sampled",
    "num_module_steps_sampled",
    "num_episodes",
    "agent_steps",
    "episode_len_mean",
    "episode_return_mean",
    "episode_return_max",
)


def told(episode):
    """An episode as plain data; actions are left out, as networks differ."""
    return {
        "length": len(episode),
        "from": episode.env_t_started,
        "over": [bool(episode.is_terminated), bool(episode.is_truncated)],
        "agents": {
            agent: {
                "length": len(single),
                "from": single.t_started,
                "over": [bool(single.is_terminated), bool(single.is_truncated)],
                "module": single.module_id,
                "seen": np.asarray(single.get_observations()).tolist(),
                "before": np.asarray(
                    single.get_observations(slice(-1, 0), neg_index_as_lookback=True)
                ).tolist(),
                "earned": np.asarray(single.get_rewards()).tolist(),
                "outputs": sorted(single.extra_model_outputs),
            }
            for agent, single in sorted(episode.agent_episodes.items())
        },
    }


def play(api, name):
    """Run a case with some classes, and write down what happens.

    Args:
        api: Holds MultiAgentEnv, MultiAgentEnvRunner, PPOConfig, DefaultModelConfig, ConnectorV2
            and RLlibCallback.
        name: The case.
    """
    world, envs, given, calls = CASES[name]
    settings = dict(given)
    log = []

    class Spy(api.ConnectorV2):
        def __call__(self, *, batch, episodes, explore=None, **kwargs):
            log.append(["pieces", [[len(each), bool(each.is_done)] for each in episodes], explore])
            return batch

    def hook(which):
        def call(self, *, episode, env_index, **kwargs):
            log.append([which, env_index, len(episode), bool(episode.is_done)])

        return call

    def sampled(self, *, samples, **kwargs):
        log.append(["sampled", [len(each) for each in samples]])

    hooks = {f"on_episode_{which}": hook(which) for which in HOOKS}
    listener = type("Listener", (api.RLlibCallback,), {**hooks, "on_sample_end": sampled})
    is_random = settings.pop("random", False)
    config = (
        api.PPOConfig()
        .environment(
            worlds(api.MultiAgentEnv)[world],
            env_config={"log": log, "count": [0]},
            disable_env_checking=True,
        )
        .multi_agent(
            policies={"p_a", "p_b", "p_c"},
            policy_mapping_fn=lambda agent, episode, **kwargs: f"p_{agent}",
            count_steps_by=settings.pop("count_steps_by", "env_steps"),
        )
        .debugging(seed=settings.pop("seed", None))
        .callbacks(listener)
        .rl_module(model_config=api.DefaultModelConfig(fcnet_hiddens=[4]))
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=envs,
            env_to_module_connector=lambda env, spaces, device: Spy(),
            **settings,
        )
    )
    runner = api.MultiAgentEnvRunner(config=config)
    runs = []
    for call in calls:
        episodes = runner.sample(explore=False, random_actions=is_random, **call)
        runs.append([told(episode) for episode in episodes])
    metrics = plain(runner.get_metrics())
    runner.stop()
    return {
        "runs": runs,
        "log": log,
        "metrics": {key: metrics[key] for key in COUNTS if key in metrics},
    }


def plain(value):
    """Metrics as dicts of numbers."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return float(value.peek() if hasattr(value, "peek") else value)
