"""A small environment with a rule, and an old policy that knows it."""

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete
from rlconnect.legacy import Policy

SEEN = Box(-2, 2, (3,), np.float32)
SMALL = {"fcnet_hiddens": [16], "max_seq_len": 10}


class Sign(gym.Env):
    """Ten steps; doing what the first number's sign says earns 1."""

    observation_space, action_space = SEEN, Discrete(2)

    def __init__(self, config=None):
        self.t = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._look(), {}

    def step(self, action):
        self.t += 1
        earned = self._worth(action)
        return self._look(), earned, False, self.t == 10, {}

    def _look(self):
        self.seen = self.np_random.uniform(-2, 2, 3).astype(np.float32)
        return self.seen

    def _worth(self, action):
        return float(action == (self.seen[0] > 0))


class Follow(Sign):
    """Likewise, for a number that is to be half of the first one."""

    action_space = Box(-1, 1, (1,), np.float32)

    def _worth(self, action):
        return float(1 - abs(np.asarray(action).item() - self.seen[0] / 2))


def teacher(actions=Sign.action_space, factor=3.0, width=3, **settings):
    """An old policy that knows: one layer, whose weights are the rule."""
    space = Box(-2, 2, (width,), np.float32)
    model = {"fcnet_hiddens": [], "vf_share_layers": False}
    policy = Policy(space, actions, {"seed": 0, "model": model, **settings})
    weights = policy.get_weights()
    names = [name for name in weights if "_logits" in name]
    for name in names:
        weights[name] = np.zeros_like(weights[name])
    rows = [[-factor], [factor]] if isinstance(actions, Discrete) else [[0.5 * factor / 3], [0.0]]
    (weight,) = [name for name in names if name.endswith("weight")]
    weights[weight][:, :1] = np.array(rows, np.float32)
    policy.set_weights(weights)
    return policy


def recurrent(seed=3):
    """An old policy with a memory."""
    model = {"fcnet_hiddens": [8], "use_lstm": True, "lstm_cell_size": 6}
    return Policy(SEEN, Discrete(2), {"seed": seed, "model": model})
