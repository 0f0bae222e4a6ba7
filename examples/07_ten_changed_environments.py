"""Ten ways an environment changes under a policy, each absorbed by steps that are plain data.

Each row plays the old policy in the old environment and the adapted one in the changed one, with
the same seeds. Where nothing was lost, the returns are the same to the last digit.

    python examples/07_ten_changed_environments.py --episodes 3
"""

import argparse
from pathlib import Path

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.bridge import adapt
from rlconnect.bridge.rollout import rollout
from rlconnect.core.adapters import (
    Clip,
    ConcatKeys,
    DropFeatures,
    ExtendAction,
    Grayscale,
    InsertFeatures,
    MapActions,
    ResizeImage,
    Scale,
    StackFrames,
)
from rlconnect.legacy import Policy, create_connectors_for_policy

CHECKPOINTS = Path(__file__).parent / "checkpoints"


class Changed(gym.Wrapper):
    """An environment whose observations, actions or rewards look different now."""

    def __init__(self, env, space=None, see=None, actions=None, act=None, earn=None):
        super().__init__(env)
        self.observation_space = space or env.observation_space
        self.action_space = actions or env.action_space
        self.see, self.act, self.earn = see, act, earn

    def reset(self, **kwargs):
        obs, info = self.env.reset(**kwargs)
        return (self.see(obs) if self.see else obs), info

    def step(self, action):
        obs, reward, *rest = self.env.step(self.act(action) if self.act else action)
        obs = self.see(obs) if self.see else obs
        return obs, (self.earn(reward) if self.earn else reward), *rest


class Screen(gym.Env):
    """A square on a grey screen; the reward is how far left the action says it is."""

    action_space = Discrete(3)

    def __init__(self, size=84, colours=3):
        self.size, self.colours = size, colours
        self.observation_space = Box(0, 255, (size, size, colours), np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.draw(), {}

    def step(self, action):
        self.t += 1
        return self.draw(), float(action), self.t >= 5, False, {}

    def draw(self):
        screen = np.zeros((84, 84, 1), np.uint8)
        screen[:, (self.t * 16) % 84 :] = 200
        shrunk = screen if self.size == 84 else self.shrink(screen)
        return np.repeat(shrunk, self.colours, -1)

    def shrink(self, screen):
        step = ResizeImage(self.size, self.size)
        return step.bind(Box(0, 255, screen.shape, np.uint8)).formula(screen)


class Stacked(gym.ObservationWrapper):
    """The last four observations at once, as the old environment gave them."""

    def __init__(self, env):
        super().__init__(env)
        one = env.observation_space
        self.observation_space = Box(np.tile(one.low, 4), np.tile(one.high, 4))

    def reset(self, **kwargs):
        obs, info = self.env.reset(**kwargs)
        self.seen = [obs] * 4
        return np.concatenate(self.seen), info

    def observation(self, obs):
        self.seen = [*self.seen[1:], obs]
        return np.concatenate(self.seen)


def loaded(name):
    policy = Policy.from_checkpoint(CHECKPOINTS / name)
    return next(iter(policy.values())) if isinstance(policy, dict) else policy


def fresh(observation_space, action_space, **model):
    """A policy that was never trained: enough where only equality counts."""
    policy = Policy(observation_space, action_space, {"seed": 3, "model": model})
    create_connectors_for_policy(policy, policy.config)
    return policy


def scenarios():
    """Name, policy, old environment, changed environment, what `adapt` is told."""
    cart, swing = loaded("ppo-cartpole-ray-2.60"), loaded("ppo-pendulum-ray-2.7")
    old, pole = gym.make("CartPole-v1"), gym.make("Pendulum-v1")
    four, wide = old.observation_space, Box(-np.inf, np.inf, (5,), np.float32)
    keys = {"cart": four.low[:2].shape, "pole": four.low[2:].shape}
    parts = Dict({key: Box(-np.inf, np.inf, shape) for key, shape in keys.items()})
    units = np.float32([100, 100, 1, 1])
    grey = fresh(
        Box(0, 255, (64, 64, 1), np.uint8),
        Discrete(3),
        conv_filters=[[4, [8, 8], 4], [8, [4, 4], 2], [16, [8, 8], 1]],
    )
    frames = fresh(Stacked(old).observation_space, old.action_space, fcnet_hiddens=[16])
    arm = pole.action_space
    two = Box(np.float32([*arm.low, -1]), np.float32([*arm.high, 1]))
    mean = swing.agent_connectors["MeanStdObservationFilterAgentConnector"]
    filled = float(mean[0].filter.running_stats.mean[2]) if mean else 0.0
    blind = Box(pole.observation_space.low[:2], pole.observation_space.high[:2])

    yield ("a feature came in the middle", cart, old,
           Changed(old, wide, lambda o: np.insert(o, 2, 7).astype(np.float32)),
           {"obs": DropFeatures([2])})  # fmt: skip
    yield ("units changed: metres to centimetres", cart, old,
           Changed(old, Box(-np.inf, np.inf, (4,), np.float32), lambda o: o * units),
           {"obs": Scale(1 / units)})  # fmt: skip
    yield ("one vector became a dict", cart, old,
           Changed(old, parts, lambda o: {"cart": o[:2], "pole": o[2:]}),
           {"obs": ConcatKeys(["cart", "pole"])})  # fmt: skip
    yield ("64 x 64 grey became 84 x 84 in colour", grey, Screen(64, 1), Screen(84, 3),
           {"obs": [Grayscale(), ResizeImage(64, 64)]})  # fmt: skip
    yield ("a third action came, and numbers moved", cart, old,
           Changed(old, actions=Discrete(3), act=lambda a: int(a) // 2),
           {"action": MapActions([0, 2], size=3)})  # fmt: skip
    yield ("the action gained a dimension", swing, pole,
           Changed(pole, actions=two, act=lambda a: a[:1]),
           {"action": ExtendAction([0.0])})  # fmt: skip
    yield ("agents were renamed", cart, old, old, {"agents": {"agent": "player_0"}})
    yield ("rewards must be clipped for the policy", swing, pole, pole, {"reward": Clip(-1, 1)})
    yield ("four stacked frames became one", frames, Stacked(old), old, {"obs": StackFrames(4)})
    yield ("a sensor is gone: its mean instead", swing, pole,
           Changed(pole, blind, lambda o: o[:2]),
           {"obs": InsertFeatures([2], [filled])})  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=3)
    episodes = parser.parse_args().episodes
    print(f"{'what changed':<40} {'old return':>12} {'adapted':>12}")
    for name, policy, old, new, steps in scenarios():
        adapted = adapt(policy, env=new, **steps)
        before = rollout(policy, old, episodes=episodes)
        after = rollout(adapted, new, episodes=episodes)
        mark = "the same" if before.returns == after.returns else "other"
        print(f"{name:<40} {before.mean:>12.4f} {after.mean:>12.4f}  {mark}")


if __name__ == "__main__":
    main()
