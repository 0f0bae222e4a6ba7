"""A network is told in the words that make it different from others."""

import numpy as np
import pytest
from rlconnect.core.vault import ModuleRecord, PolicyRecord
from rlconnect.core.vault.description import network
from rlconnect.core.vault.records.weights import WeightTable

from .recorded import NEW_ALGORITHM, NEW_MODULE, RECORDINGS, open_once


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("legacy/2.7.2/ppo_attention/algo_checkpoint", "attention (GTrXL)"),
        ("legacy/2.7.2/ppo_lstm_prev/algo_checkpoint", "LSTM"),
        ("legacy/2.7.2/ppo_image_vision/algo_checkpoint", "convolutions"),
        ("legacy/2.7.2/ppo_framestack_view/algo_checkpoint", "custom model legacy_framestack ("),
        (
            "legacy/2.7.2/ppo_pendulum_norm_meanstd/algo_checkpoint",
            "dense 32-32 tanh, separate value net (2,467 numbers in 12 arrays)",
        ),
        (
            "legacy/2.7.2/sac_cont/algo_checkpoint",
            "actor dense 32-32 relu, twin critics dense 32-32",
        ),
        (
            "legacy/2.0.1/sac_cont/algo_checkpoint",
            "actor dense 32-32 relu, twin critics dense 32-32",
        ),
        (
            "legacy/2.7.2/td3/algo_checkpoint",
            "actor dense 24-24 relu, twin critics dense 24-24 relu",
        ),
        ("legacy/2.7.2/dqn_c51/algo_checkpoint", "dueling heads 16 relu, 7 atoms"),
        ("legacy/2.40.0/dqn_dueling_double/algo_checkpoint", "dueling heads 16 relu"),
        ("compat/ppo-tf-v1.0/checkpoint", "dense 10 tanh, separate value net"),
        (NEW_ALGORITHM, "dense 8-8 tanh, shared value net (141 numbers in 10 arrays)"),
        (NEW_MODULE, "dense 4, separate value net"),
        ("wild/ray14-torch-noconfig/checkpoint", "an unknown network (25,634 numbers in 6 arrays)"),
    ],
)
def test_recorded_networks_are_told(name, words):
    """Each algorithm keeps its sizes elsewhere in its config: they are found there."""
    (record,) = open_once(RECORDINGS / name).acting.values()

    assert words in network(record)


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"fcnet_hiddens": "many"},
        {"fcnet_hiddens": 7},
        {"fcnet_hiddens": [], "use_lstm": False},
        {"fcnet_hiddens": [[1]] * 100_000},
    ],
)
def test_a_config_of_any_shape_gives_a_line(model):
    """Whatever stands in the config, one short line comes out."""
    weights = WeightTable({"w": np.zeros((3, 2))})
    config = {"model": model, "q_model_config": 5, "hiddens": "x", "num_atoms": 10**30}

    for algorithm in ("PPO", "SAC", "TD3", "DQN", ""):
        policy = PolicyRecord("a", algorithm=algorithm, config=config, weights=weights)
        assert "(6 numbers in 1 array)" in network(policy)
        assert len(network(policy)) < 200
    assert network(ModuleRecord("a", model_config=model)).endswith("(0 numbers in 0 arrays)")
