"""Record what real Ray gives where a migration goes wrong easily.

Run with an interpreter of Ray 2.7.2 (`python record.py old`) and of Ray 2.60 (`python record.py
new`); each writes its own file beside this script. Nothing of Ray is read but its answers.
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SEEN = np.array([[0.5, 1e-7, 3.0], [1.5, 3e-7, 3.0], [2.5, 2e-7, 3.0], [0.0, 9e-7, 3.0]])
ASKED = {
    "float32": np.array([[1.0, 2e-7, 3.0], [900.0, 1.0, 3.5], [-7.0, 0.0, -3.0]], np.float32),
    "float64": np.array([[1.0, 2e-7, 3.0], [900.0, 1.0, 3.5], [-7.0, 0.0, -3.0]], np.float64),
    "int32": np.array([[1, 0, 3], [900, 1, 4], [-7, 2, -3]], np.int32),
}
SETTINGS = {
    "no clip": {"clip": None},
    "clip 3": {"clip": 3.0},
    "only demeaned": {"clip": None, "destd": False},
    "only scaled": {"clip": None, "demean": False},
}


def listed(array):
    return {"dtype": str(np.asarray(array).dtype), "values": np.asarray(array).tolist()}


def old():
    import gymnasium as gym
    import ray
    from ray.rllib.connectors.agent.clip_reward import ClipRewardAgentConnector
    from ray.rllib.connectors.agent.mean_std_filter import MeanStdObservationFilterAgentConnector
    from ray.rllib.connectors.agent.obs_preproc import ObsPreprocessorConnector
    from ray.rllib.connectors.connector import ConnectorContext
    from ray.rllib.utils.typing import AgentConnectorDataType

    def through(connector, **data):
        return connector([AgentConnectorDataType("env", "agent", data)])[0].data

    filters = {}
    for pushes in (0, 1, 4):
        for name, settings in SETTINGS.items():
            ctx = ConnectorContext(observation_space=gym.spaces.Box(-9, 9, (3,), np.float32))
            connector = MeanStdObservationFilterAgentConnector(ctx, **settings)
            for row in SEEN[:pushes]:
                through(connector, new_obs=row)
            connector.in_eval()
            answers = {
                dtype: listed([through(connector, new_obs=row)["new_obs"] for row in rows])
                for dtype, rows in ASKED.items()
            }
            twice = through(connector, new_obs=ASKED["float32"][0])["new_obs"]
            state = connector.to_state()[1]
            stats = state["running_stats"][0]
            filters[f"{pushes} seen, {name}"] = {
                "settings": settings,
                "pushes": pushes,
                "running_stats": {key: stats[key] for key in stats},
                "answers": answers,
                "asked again": listed(twice),
            }
    space = gym.spaces.Dict(
        {
            "b": gym.spaces.Discrete(3),
            "a": gym.spaces.Box(-1, 1, (2,), np.float32),
            "c": gym.spaces.Tuple([gym.spaces.Discrete(2), gym.spaces.MultiDiscrete([2, 3])]),
        }
    )
    value = {"b": 2, "a": np.array([0.5, -0.5], np.float32), "c": (1, np.array([0, 2]))}
    flat = through(
        ObsPreprocessorConnector(ConnectorContext(observation_space=space)), new_obs=value
    )["new_obs"]
    rewards = [-7.5, 0.0, 0.25, 3.0]
    clipped = {
        name: [
            float(
                through(ClipRewardAgentConnector(ConnectorContext(), **how), rewards=r)["rewards"]
            )
            for r in rewards
        ]
        for name, how in (("sign", {"sign": True}), ("limit", {"limit": 1.5}))
    }
    return {
        "ray": ray.__version__,
        "filters": filters,
        "nested": listed(flat),
        "rewards": {"given": rewards, **clipped},
    }


def new():
    import gymnasium as gym
    import ray
    from ray.rllib.connectors.env_to_module import MeanStdFilter
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode

    old_filters = json.loads((HERE / "old.json").read_text())["filters"]
    told = old_filters["4 seen, no clip"]
    piece = MeanStdFilter()
    piece.input_action_space = gym.spaces.Discrete(2)
    piece.input_observation_space = gym.spaces.Box(-9, 9, (3,), np.float32)

    def last(row):
        episode = SingleAgentEpisode()
        episode.add_env_reset(row)
        piece(rl_module=None, batch={}, episodes=[episode])
        return episode.get_observations(-1)

    for row in SEEN:
        last(row.astype(np.float32))
    return {
        "ray": ray.__version__,
        "what the guide gives": listed([last(row) for row in ASKED["float32"]]),
        "what it should": told["answers"]["float32"],
    }


if __name__ == "__main__":
    which = sys.argv[1]
    found = {"old": old, "new": new}[which]()
    (HERE / f"{which}.json").write_text(json.dumps(found, indent=1) + "\n")
