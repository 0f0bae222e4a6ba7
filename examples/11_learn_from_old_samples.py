"""Samples that Ray 1.13 recorded, adapted to a changed environment, taught to an LSTM module.

    python examples/11_learn_from_old_samples.py [--data DIR]

The environment has lost its last feature since. No Ray, and nothing of the file is unpickled.
"""

import argparse
from pathlib import Path

from gymnasium.spaces import Box, Discrete
from rlconnect.offline import open_dataset
from rlconnect.v2 import BCConfig, SingleAgentEpisode

SAMPLES = Path(__file__).parent / "samples/ray-1.13"
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--data", default=SAMPLES, help="old samples: JSON lines of any release")
data = open_dataset(parser.parse_args().data)
print(data.info()["format"], data.info()["counts"])

kept = [0, 1, 2]
episodes = [
    SingleAgentEpisode(
        old.id_,
        observations=old.get_observations()[:, kept],
        actions=old.get_actions(),
        rewards=old.get_rewards(),
        terminated=old.is_terminated,
        truncated=old.is_truncated,
        len_lookback_buffer=0,
    )
    for old in data.episodes()
]

config = (
    BCConfig()
    .environment(observation_space=Box(-5, 5, (len(kept),)), action_space=Discrete(2))
    .training(train_batch_size_per_learner=200, lr=0.01)
    .rl_module(model_config={"use_lstm": True, "max_seq_len": 5, "fcnet_hiddens": [16]})
    .offline_data(input_=episodes, dataset_num_iters_per_learner=20)
    .debugging(seed=0)
)
algo = config.build_algo()
for _ in range(3):
    print(f"loss {algo.train()['learners']['default_policy']['policy_loss']:.3f}")
algo.stop()
