"""GAE subclassed to clip advantages, and its arithmetic helpers used alone."""

import numpy as np
from ray.rllib.connectors.learner import GeneralAdvantageEstimation
from ray.rllib.utils.postprocessing.value_predictions import compute_value_targets
from ray.rllib.utils.postprocessing.zero_padding import (
    split_and_zero_pad,
    unpad_data_if_necessary,
)


class ClippedAdvantages(GeneralAdvantageEstimation):
    def __init__(self, input_observation_space=None, input_action_space=None, *, clip, **kwargs):
        super().__init__(input_observation_space, input_action_space, **kwargs)
        self.clip = clip

    def discounted(self):
        return self.gamma * self.lambda_


def run():
    piece = ClippedAdvantages(gamma=0.9, lambda_=0.8, clip=1.0)
    targets = compute_value_targets(
        values=np.linspace(-1, 1, 6).astype(np.float32),
        rewards=np.arange(6, dtype=np.float32),
        terminateds=np.array([0, 0, 1, 0, 0, 0], np.float32),
        truncateds=np.array([0, 0, 0, 0, 0, 1], np.float32),
        gamma=piece.gamma,
        lambda_=piece.lambda_,
    )
    padded = split_and_zero_pad([np.arange(5, dtype=np.float32)], max_seq_len=3)
    return {
        "discounted": piece.discounted(),
        "clip": piece.clip,
        "targets": targets,
        "padded": np.stack(padded),
        "unpadded": unpad_data_if_necessary([2], np.stack(padded)[0]),
        "name": type(piece).__mro__[1].__name__,
    }
