"""Samples that Ray 1.13 recorded, adapted to a changed environment, taught to an LSTM module.

    python examples/11_learn_from_old_samples.py [DIR]

The environment has lost its last feature since. No Ray, and nothing of the file is unpickled.
"""

import sys
from pathlib import Path

from gymnasium.spaces import Box, Discrete
from rlconnect.adapters import AdapterChain, SelectFeatures
from rlconnect.offline import open_dataset
from rlconnect.v2 import BCConfig

data = open_dataset(sys.argv[1] if sys.argv[1:] else Path(__file__).parent / "samples/ray-1.13")
print(data.info()["format"], data.info()["counts"])
chain = AdapterChain(obs=[SelectFeatures([0, 1, 2])])
now = data.through(chain, observation_space=Box(-5, 5, (4,)))

config = BCConfig().environment(observation_space=Box(-5, 5, (3,)), action_space=Discrete(2))
config.rl_module(model_config={"use_lstm": True, "max_seq_len": 5, "fcnet_hiddens": [16]})
config.training(train_batch_size_per_learner=200, lr=0.01).debugging(seed=0)
config.offline_data(input_=list(now.episodes()), dataset_num_iters_per_learner=20)
algo = config.build_algo()
for _ in range(3):
    print(f"loss {algo.train()['learners']['default_policy']['policy_loss']:.3f}")
algo.stop()
