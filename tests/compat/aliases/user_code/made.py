"""Episodes that the other files work on: small, seeded by their arguments, the same everywhere."""

import gymnasium as gym
import numpy as np
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

OBS = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
ACT = gym.spaces.Discrete(4)


def observation(step, size=3):
    return np.sin(np.arange(size, dtype=np.float32) + step)


def episode(length=6, lookback=0, id_=None, done=False, extra=True):
    made = SingleAgentEpisode(
        id_=id_ or f"episode_of_{length}", observation_space=OBS, action_space=ACT
    )
    made.add_env_reset(observation(0), {"step": 0})
    for step in range(length):
        outputs = {"vf_preds": np.float32(0.1 * step), "action_logp": np.float32(-0.5 - step)}
        made.add_env_step(
            observation(step + 1),
            step % 4,
            float(step) - 1.5,
            {"step": step + 1},
            terminated=done and step == length - 1,
            extra_model_outputs=outputs if extra else {},
        )
    return made


def two_agents(length=4):
    made = MultiAgentEpisode(
        id_="of_two",
        observation_space={"a": OBS, "b": OBS},
        action_space={"a": ACT, "b": ACT},
        agent_to_module_mapping_fn=lambda agent, episode, **kwargs: f"module_{agent}",
    )
    made.add_env_reset(
        observations={"a": observation(0), "b": observation(10)}, infos={"a": {}, "b": {}}
    )
    for step in range(length):
        made.add_env_step(
            observations={"a": observation(step + 1), "b": observation(step + 11)},
            actions={"a": step % 4, "b": (step + 1) % 4},
            rewards={"a": 1.0, "b": -0.5 * step},
            infos={"a": {}, "b": {}},
        )
    return made
