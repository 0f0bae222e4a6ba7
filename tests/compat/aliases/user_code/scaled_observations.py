"""A preprocessor that declares a new space and scales what it is given."""

import gymnasium as gym
import numpy as np
from made import ACT, OBS, episode
from ray.rllib.connectors.env_to_module.observation_preprocessor import (
    SingleAgentObservationPreprocessor,
)
from ray.rllib.utils.annotations import override


class ScaleAndShift(SingleAgentObservationPreprocessor):
    def __init__(self, input_observation_space=None, input_action_space=None, *, by=2.0, **kwargs):
        super().__init__(input_observation_space, input_action_space, **kwargs)
        self.by = by

    @override(SingleAgentObservationPreprocessor)
    def recompute_output_observation_space(self, input_observation_space, input_action_space):
        low = float(np.min(input_observation_space.low))
        return gym.spaces.Box(low * 2, -low * 2, input_observation_space.shape, np.float32)

    @override(SingleAgentObservationPreprocessor)
    def preprocess(self, observation, episode):
        return (observation * self.by).astype(np.float32)


def run():
    piece = ScaleAndShift(OBS, ACT, by=2.0)
    one = episode()
    piece(rl_module=None, batch={}, episodes=[one], explore=True, shared_data={})
    return {
        "last": one.get_observations(-1),
        "before": one.get_observations(-2),
        "high": piece.observation_space.high,
    }
