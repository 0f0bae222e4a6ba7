"""Frame stacking and previous actions and rewards, as settings of built-in pieces."""

import gymnasium as gym
import numpy as np
from made import ACT, OBS, episode
from ray.rllib.connectors.env_to_module import EnvToModulePipeline, PrevActionsPrevRewards
from ray.rllib.connectors.env_to_module.frame_stacking import FrameStackingEnvToModule
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

SCREEN = gym.spaces.Box(-1.0, 9.0, (2, 2, 1), np.float32)


def screens(length):
    made = SingleAgentEpisode(observation_space=SCREEN, action_space=ACT)
    made.add_env_reset(np.full((2, 2, 1), 0.0, np.float32))
    for step in range(length):
        made.add_env_step(np.full((2, 2, 1), step + 1.0, np.float32), 1, 0.0)
    return made


def run():
    stacking, previous = (
        EnvToModulePipeline(space, ACT, connectors=[piece]).connectors[0]
        for space, piece in (
            (SCREEN, FrameStackingEnvToModule(num_frames=3)),
            (OBS, PrevActionsPrevRewards(n_prev_actions=2, n_prev_rewards=2)),
        )
    )
    one, two = screens(4), episode(4)
    stacked = stacking(rl_module=None, batch={}, episodes=[one], explore=True, shared_data={})
    out = previous(rl_module=None, batch={}, episodes=[two], explore=True, shared_data={})
    last = two.get_observations(-1)
    return {
        "stacked": [np.asarray(item) for items in stacked["obs"].values() for item in items]
        if "obs" in stacked
        else np.asarray(one.get_observations(-1)),
        "space": stacking.observation_space.shape,
        "keys": sorted(last),
        "previous": {key: np.asarray(value) for key, value in last.items()},
        "batch": sorted(out),
    }
