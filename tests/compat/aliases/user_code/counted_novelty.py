"""A learner connector that adds a bonus for rarely seen states to the episodes' rewards."""

from collections import Counter

import numpy as np
from made import ACT, OBS, episode
from ray.rllib.connectors.connector_v2 import ConnectorV2


class CountBasedCuriosity(ConnectorV2):
    def __init__(self, obs_space=None, act_space=None, intrinsic_reward_coeff=1.0, **kwargs):
        super().__init__(obs_space, act_space)
        self._counts = Counter()
        self.intrinsic_reward_coeff = intrinsic_reward_coeff

    def __call__(self, *, rl_module, batch, episodes, explore=None, shared_data=None, **kwargs):
        for sa_episode in self.single_agent_episode_iterator(
            episodes=episodes, agents_that_stepped_only=False
        ):
            for t, obs in enumerate(sa_episode.get_observations()[1:]):
                key = tuple(np.round(obs, 1).tolist())
                self._counts[key] += 1
                bonus = self.intrinsic_reward_coeff / self._counts[key]
                sa_episode.set_rewards(
                    new_data=float(sa_episode.get_rewards(t)) + bonus, at_indices=t
                )
        return batch


def run():
    piece = CountBasedCuriosity(OBS, ACT, intrinsic_reward_coeff=0.5)
    one, two = episode(4), episode(6)
    piece(rl_module=None, batch={}, episodes=[one, two])
    return {"one": one.get_rewards(), "two": two.get_rewards(), "return": two.get_return()}
