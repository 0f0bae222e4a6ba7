"""Module-to-env pieces: logits sharpened before actions are drawn, actions mapped after."""

import numpy as np
from made import ACT, OBS, episode
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.connectors.module_to_env import NormalizeAndClipActions
from ray.rllib.core.columns import Columns


class Sharpen(ConnectorV2):
    def __call__(self, *, rl_module, batch, episodes, explore=None, **kwargs):
        self.foreach_batch_item_change_in_place(
            batch=batch,
            column=Columns.ACTION_DIST_INPUTS,
            func=lambda logits, episode_id, agent_id, module_id: logits * 3.0,
        )
        return batch


def run():
    one = episode(2, id_="sharp")
    batch = {Columns.ACTION_DIST_INPUTS: {("sharp",): [np.array([0.1, 0.4, -0.2, 0.0])]}}
    out = Sharpen(OBS, ACT)(rl_module=None, batch=batch, episodes=[one])
    import gymnasium as gym

    box = gym.spaces.Box(-2.0, 2.0, (2,), np.float32)
    unsquash = NormalizeAndClipActions(OBS, box, normalize_actions=True, clip_actions=False)
    two = episode(2, id_="box")
    acted = unsquash(
        rl_module=None,
        batch={Columns.ACTIONS: {("box",): [np.array([0.5, -1.0], np.float32)]}},
        episodes=[two],
        explore=True,
        shared_data={},
    )
    return {
        "logits": out[Columns.ACTION_DIST_INPUTS][("sharp",)][0],
        "columns": sorted(acted),
        "env_actions": acted[Columns.ACTIONS_FOR_ENV][("box",)][0],
    }
