"""Episodes edited through their buffers, as published learner connectors do it."""

import numpy as np
from made import episode


def run():
    one = episode(5)
    one.actions.data[1] = 3
    one.actions[-1] = 2
    one.infos.data[0]["seen"] = True
    one.extra_model_outputs["vf_preds"].data[2] = np.float32(9.0)
    one.rewards.data[0] += 10.0
    backwards = [int(action) for action in reversed(one.actions)]
    has_three = 3 in one.actions
    one.validate()
    last = one.observations[-1]
    one.observations.pop(-1)
    one.observations.append(last * 2)
    one.validate()
    return {
        "backwards": backwards,
        "has_three": has_three,
        "lookback": one.actions.lookback,
        "rewards": one.get_rewards(),
        "values": one.get_extra_model_outputs("vf_preds"),
        "seen": one.get_infos(0),
        "last": one.get_observations(-1),
        "t": one.t,
    }
