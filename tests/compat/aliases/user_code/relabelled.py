"""Episodes cut, sliced, joined and relabelled, as hindsight methods do."""

from made import episode
from ray.rllib.connectors.connector_v2 import ConnectorV2


class RelabelRewards(ConnectorV2):
    def __call__(self, *, rl_module, batch, episodes, **kwargs):
        for sa_episode in episodes:
            goal = sa_episode.get_observations(-1)
            distances = [float(abs(o - goal).sum()) for o in sa_episode.get_observations()[1:]]
            sa_episode.set_rewards(new_data=[-d for d in distances])
        return batch


def run():
    whole = episode(8)
    middle = whole[2:6]
    tail = whole.cut(len_lookback_buffer=2)
    tail.add_env_step(
        whole.get_observations(-1) * 0.5,
        1,
        2.0,
        {},
        extra_model_outputs={"vf_preds": 0.5, "action_logp": -1.0},
    )
    RelabelRewards()(rl_module=None, batch={}, episodes=[middle])
    whole.concat_episode(tail)
    return {
        "middle": middle.get_rewards(),
        "middle_length": len(middle),
        "started": [middle.t_started, tail.t_started],
        "looked_back": tail.get_actions(slice(-2, 0), neg_index_as_lookback=True),
        "joined": len(whole),
        "filled": whole.get_rewards(slice(6, 11), fill=0.0),
        "numpy": whole.to_numpy().is_numpy,
    }
