"""Nested observations flattened, for one agent and for chosen ones."""

import gymnasium as gym
import numpy as np
from ray.rllib.connectors.env_to_module import FlattenObservations
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.numpy import flatten_inputs_to_1d_tensor
from ray.rllib.utils.numpy import one_hot as numpy_one_hot
from ray.rllib.utils.spaces.space_utils import batch as batch_items
from ray.rllib.utils.spaces.space_utils import get_base_struct_from_space, unbatch


def run():
    space = gym.spaces.Dict(
        {"kind": gym.spaces.Discrete(3), "where": gym.spaces.Box(-1, 1, (2,), np.float32)}
    )
    action_space = gym.spaces.Discrete(2)
    piece = FlattenObservations(space, action_space)
    item = {"kind": 2, "where": np.array([0.25, -0.5], np.float32)}
    one = SingleAgentEpisode(observation_space=space, action_space=action_space)
    one.add_env_reset(item)
    piece(rl_module=None, batch={}, episodes=[one], explore=True, shared_data={})
    rows = batch_items([item, item])
    return {
        "flat": one.get_observations(-1),
        "shape": piece.observation_space.shape,
        "one_hot": numpy_one_hot(np.array([1, 0]), depth=3),
        "rows": rows["where"],
        "back": len(unbatch(rows)),
        "struct": sorted(get_base_struct_from_space(space)),
        "one_d": flatten_inputs_to_1d_tensor(
            {"kind": np.array([2]), "where": item["where"][None]},
            spaces_struct=get_base_struct_from_space(space),
            batch_axis=True,
        ),
    }
