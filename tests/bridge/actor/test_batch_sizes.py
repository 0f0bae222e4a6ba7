"""Batches of ever different sizes for recurrent modules."""

import numpy as np
import torch
from gymnasium import spaces
from rlconnect.bridge import Actor
from rlconnect.v2.connectors.env_to_module.env_to_module_pipeline import env_to_module_pipeline
from rlconnect.v2.connectors.module_to_env.module_to_env_pipeline import module_to_env_pipeline

from tests.bridge.actor.test_v2_actor import module_for

SPACE, ACTIONS = spaces.Box(-1, 1, (4,), np.float32), spaces.Discrete(3)


def test_an_lstm_runs_few_sizes_of_batches(monkeypatch, rng):
    """oneDNN keeps a kernel of 100 kB and more for each: the last of 200 sizes take none."""
    to_module = env_to_module_pipeline(SPACE, ACTIONS)
    torch.manual_seed(3)
    module = module_for(to_module.observation_space, ACTIONS, use_lstm=True, max_seq_len=4)
    to_env = module_to_env_pipeline(SPACE, ACTIONS)
    actor, fresh = (Actor.from_v2(to_module, module, to_env) for _ in range(2))
    sizes = set()
    forward = torch.nn.LSTM.forward

    def counted(self, x, state=None):
        sizes.add(len(x))
        return forward(self, x, state)

    monkeypatch.setattr(torch.nn.LSTM, "forward", counted)
    obs = rng.uniform(-1, 1, (200, 4)).astype(np.float32)
    for rows in range(1, 201):
        actor.reset()
        actor.act(obs[:rows])

    assert len(sizes) <= 8 + 5  # the first ones, then 16, 32, 64, 128 and 256
    assert max(sizes) == 256
    actor.reset()
    for _ in range(3):  # the memory goes on without the rows that were added
        np.testing.assert_array_equal(actor.act(obs[:150]), fresh.act(obs[:150]))
