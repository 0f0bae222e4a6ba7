"""Two episodes of CartPole, 500 steps each, written by a real Ray, for learners to learn from.

    PYTHON_WITH_RAY tests/golden/offline/record_expert.py OUT

Ray 2.7.2 wrote `2.7.2/expert` (its `JsonWriter`), Ray 2.60 with msgpack-numpy `2.60.0/expert` (packed
states of its episodes, as its runners record them, by Ray Data).
"""

import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import ray


def steps(env, seed):
    seen, _ = env.reset(seed=seed)
    is_over = False
    while not is_over:
        action = int(seen @ np.array([0.1, 0.3, 3.0, 1.0]) > 0)
        after, reward, ended, cut, _ = env.step(action)
        yield {"obs": seen, "new_obs": after, "actions": action, "rewards": float(reward),
               "terminateds": ended, "truncateds": cut}  # fmt: skip
        seen, is_over = after, ended or cut


env, out = gym.make("CartPole-v1"), Path(sys.argv[1])
episodes = [list(steps(env, 1000 + number)) for number in range(2)]
if ray.__version__ == "2.7.2":
    from ray.rllib.evaluation.sample_batch_builder import SampleBatchBuilder
    from ray.rllib.offline.json_writer import JsonWriter

    writer, builder = JsonWriter(str(out)), SampleBatchBuilder()
    for number, rows in enumerate(episodes):
        for t, row in enumerate(rows):
            told = {"action_prob": 1.0, "action_logp": 0.0}
            builder.add_values(t=t, eps_id=number, agent_index=0, **row, **told)
        writer.write(builder.build_and_reset())
else:
    import msgpack
    import msgpack_numpy
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode

    packed = []
    for number, rows in enumerate(episodes):
        episode = SingleAgentEpisode(
            id_=str(number),
            observation_space=env.observation_space,
            action_space=env.action_space,
            observations=[*(row["obs"] for row in rows), rows[-1]["new_obs"]],
            actions=[row["actions"] for row in rows],
            rewards=[row["rewards"] for row in rows],
            infos=[{}] * (len(rows) + 1),
            terminated=rows[-1]["terminateds"],
            truncated=rows[-1]["truncateds"],
            len_lookback_buffer=0,
        )
        packed.append(msgpack.packb(episode.get_state(), default=msgpack_numpy.encode))
    ray.init(num_cpus=2)
    ray.data.from_items(packed).write_parquet(str(out / "cartpole-v1/run-000000-00001"))
