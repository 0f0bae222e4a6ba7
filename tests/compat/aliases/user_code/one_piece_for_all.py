"""A ConnectorV2 of the plainest kind: walk the episodes, add a column to the batch."""

from typing import Any, Dict, List, Optional  # noqa: UP035

import gymnasium as gym
import numpy as np
from made import ACT, OBS, episode
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.utils.annotations import override
from ray.rllib.utils.typing import EpisodeType


class AddTimeLeft(ConnectorV2):
    def __init__(
        self,
        input_observation_space: Optional[gym.Space] = None,  # noqa: UP045
        input_action_space: Optional[gym.Space] = None,  # noqa: UP045
        *,
        horizon: int = 10,
    ):
        super().__init__(input_observation_space, input_action_space)
        self.horizon = horizon

    @override(ConnectorV2)
    def __call__(
        self,
        *,
        rl_module: RLModule,
        batch: Dict[str, Any],  # noqa: UP006
        episodes: List[EpisodeType],  # noqa: UP006
        explore: Optional[bool] = None,  # noqa: UP045
        shared_data: Optional[dict] = None,  # noqa: UP045
        **kwargs,
    ):
        for sa_episode in self.single_agent_episode_iterator(
            episodes, agents_that_stepped_only=False
        ):
            left = np.array([self.horizon - len(sa_episode)], np.float32)
            self.add_batch_item(
                batch, "time_left", item_to_add=left, single_agent_episode=sa_episode
            )
        return batch


def run():
    piece = AddTimeLeft(OBS, ACT, horizon=9)
    batch = piece(rl_module=None, batch={}, episodes=[episode(3), episode(5)])
    return {
        "keys": sorted(str(key) for key in batch["time_left"]),
        "left": [values[0] for values in batch["time_left"].values()],
        "space": piece.observation_space == OBS,
    }
