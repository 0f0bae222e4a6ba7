"""A preprocessor of several agents' observations, and what a multi-agent episode tells."""

import numpy as np
from made import ACT, OBS, two_agents
from ray.rllib.connectors.env_to_module.observation_preprocessor import (
    MultiAgentObservationPreprocessor,
)


class AddOthersMean(MultiAgentObservationPreprocessor):
    def recompute_output_observation_space(self, input_observation_space, input_action_space):
        return input_observation_space

    def preprocess(self, observations, episode):
        if not observations:
            return observations
        mean = np.mean(list(observations.values()), axis=0)
        return {
            agent: (value + mean if episode.module_for(agent) == "module_a" else value)
            for agent, value in observations.items()
        }


def run():
    import gymnasium as gym

    spaces = gym.spaces.Dict({"a": OBS, "b": OBS})
    piece = AddOthersMean(spaces, gym.spaces.Dict({"a": ACT, "b": ACT}))
    one = two_agents()
    piece(rl_module=None, batch={}, episodes=[one], explore=True, shared_data={})
    return {
        "last": one.get_observations(-1),
        "return": one.get_return(),
        "rewards": one.get_rewards(slice(0, 2)),
        "actions": one.agent_episodes["b"].get_actions(),
        "agents": sorted(one.agent_ids),
        "steps": [one.env_steps(), one.agent_steps()],
    }
