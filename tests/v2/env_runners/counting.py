"""An environment whose observations tell episode and step, for the tests of env runners."""

import os
import threading
from pathlib import Path

import gymnasium as gym
import numpy as np

_VECTOR = gym.vector.AsyncVectorEnv
POLL = "_poll_pipe_envs" if hasattr(_VECTOR, "_poll_pipe_envs") else "_poll"
"""What tells a vector in processes whether all of them have answered in time."""

SPACE = gym.spaces.Box(-100.0, 100.0, (2,), np.float32)


class Count(gym.Env):
    """Observation `[episode, step]`; an episode has 3 + episode % 3 steps, step t earns t.

    Settings: `truncate` ends episodes by truncation; `raise_at` and `hang_at` are
    `(episode, step)` at which a step raises or never returns; `nan_at` gives NaN there. A file
    `hang_note` is written before it hangs. `info` is added to the infos of each step.
    """

    def __init__(self, config=None):
        config = config or {}
        self.observation_space, self.action_space = SPACE, gym.spaces.Discrete(3)
        self.episode, self.time = -1, 0
        self.context, self.settings, self.seeds = config, dict(config), []
        self.is_closed = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.episode += 1
        self.time = 0
        return np.array([self.episode, 0], np.float32), {"episode": self.episode}

    def step(self, action):
        self.time += 1
        here = (self.episode, self.time)
        if here == self.settings.get("raise_at"):
            raise ValueError("boom")
        if here == self.settings.get("hang_at"):
            Path(self.settings.get("hang_note", os.devnull)).write_text("hangs")
            threading.Event().wait()
        is_end = self.time >= 3 + self.episode % 3
        is_cut = bool(self.settings.get("truncate"))
        observation = np.array([self.episode, self.time], np.float32)
        if here == self.settings.get("nan_at"):
            observation[1] = np.nan
        infos = {"time": self.time, **self.settings.get("info", {})}
        return observation, float(self.time), is_end and not is_cut, is_end and is_cut, infos

    def close(self):
        self.is_closed = True


def patience_until(note):
    """A poll of all processes whose time is up when an environment has noted that it hangs.

    However slow the machine, others answer in time. The note is taken away, so it ends one wait.
    """

    def poll(vector, seconds=None):
        pipes = vector.parent_pipes
        while not all(pipe.poll(0.02) for pipe in pipes):
            if note.exists():
                note.unlink()
                return False
        return True

    return poll
