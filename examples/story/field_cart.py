"""CartPole as it changed: out of the hall, into the field.

The tachometers are gone, so velocities are hidden; positions are read by a cheaper sensor; there is
wind, and a battery that runs down. A wind gauge and a battery gauge are new.
"""

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.spaces import Box

STEPS = 500
FIELD = {"noise": 0.003, "wind": 3.0, "drain": 0.4}
"""How far readings of the angle are off, in radians, and those of the position 5 times that; how
strong gusts are beside the motor's 10 N; the share of its push that is gone after 500 steps."""


class FieldCart(CartPoleEnv):
    """Gives position, angle, wind and battery; at most 500 steps.

    Args:
        config: How hard it is, for other values than those of `FIELD`.
    """

    def __init__(self, config=None):
        super().__init__()
        settings = {**FIELD, **(config or {})}
        self.noise, self.wind, self.drain = (settings[each] for each in FIELD)
        self.push = self.force_mag
        self.observation_space = Box(-np.inf, np.inf, (4,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        self.gust = self.wind * self.np_random.normal()
        return self.seen(), {}

    def step(self, action):
        push = self.push * self.battery
        self.force_mag = push + self.gust if action == 1 else push - self.gust
        _, reward, terminated, _, info = super().step(action)
        self.gust += -0.02 * self.gust + 0.2 * self.wind * self.np_random.normal()
        self.time += 1
        return self.seen(), reward, terminated, self.time >= STEPS, info

    @property
    def battery(self):
        return 1 - self.drain * self.time / STEPS

    def seen(self):
        x, _, angle, _ = self.state
        off = self.noise * self.np_random.normal(size=2)
        return np.array([x + 5 * off[0], angle + off[1], self.gust, self.battery], np.float32)
