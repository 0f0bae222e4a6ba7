"""Old policies whose settings contradict their weights, or ask for what no file may ask for."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import WeightsError
from rlconnect.core.limits.asking import AskedTooMuchError
from rlconnect.legacy import MeanStdFilter, Policy, ViewRequirement

OBS = Box(-1, 1, (4,), np.float32)
TWO, BOX = Discrete(2), Box(-1, 1, (2,), np.float32)
NET = {"fcnet_hiddens": [8, 8]}
KINDS = {
    "ppo": ("PPO", TWO, {"model": NET}),
    "free": ("PPO", BOX, {"model": {**NET, "free_log_std": True}}),
    "lstm": ("PPO", TWO, {"model": {**NET, "use_lstm": True, "lstm_cell_size": 8}}),
    "attention": ("PPO", TWO, {"model": {**NET, "use_attention": True, "attention_dim": 8}}),
    "dqn": ("DQN", TWO, {"model": NET, "hiddens": [8], "num_atoms": 5, "dueling": True}),
    "noisy": ("DQN", TWO, {"model": NET, "hiddens": [8], "noisy": True}),
    "sac": (
        "SAC",
        BOX,
        {"policy_model_config": NET, "q_model_config": NET, "twin_q": True},
    ),
    "td3": ("TD3", BOX, {"actor_hiddens": [8], "critic_hiddens": [8], "twin_q": True}),
}
FLIPS = [
    ("ppo", "model.fcnet_hiddens", [8]),
    ("ppo", "model.fcnet_hiddens", [8, 16]),
    ("ppo", "model.fcnet_hiddens", [10**6, 10**6]),
    ("ppo", "model.post_fcnet_hiddens", [10**6, 10**6]),
    ("ppo", "model.vf_share_layers", True),
    ("ppo", "model.use_lstm", True),
    ("ppo", "model.use_attention", True),
    ("ppo", "model.free_log_std", True),
    ("ppo", "model.no_final_linear", True),
    ("free", "model.free_log_std", False),
    ("lstm", "model.use_lstm", False),
    ("lstm", "model.lstm_cell_size", 16),
    ("lstm", "model.lstm_cell_size", 10**6),
    ("attention", "model.use_attention", False),
    ("attention", "model.attention_dim", 10**6),
    ("attention", "model.attention_head_dim", 10**6),
    ("dqn", "dueling", False),
    ("dqn", "hiddens", [10**6]),
    ("dqn", "num_atoms", 7),
    ("dqn", "num_atoms", 1),
    ("dqn", "num_atoms", 10**9),
    ("dqn", "noisy", True),
    ("noisy", "noisy", False),
    ("sac", "twin_q", False),
    ("sac", "policy_model_config.fcnet_hiddens", [16]),
    ("sac", "q_model_config.fcnet_hiddens", [10**6, 10**6]),
    ("td3", "twin_q", False),
    ("td3", "actor_hiddens", [10**6, 10**6]),
    ("td3", "critic_hiddens", [16]),
]


def changed(config, path, value):
    """A copy of some settings with another value for one of them."""
    first, _, rest = path.partition(".")
    return {**config, first: changed(config.get(first, {}), rest, value) if rest else value}


@pytest.fixture(scope="module")
def trained():
    """The weights of a policy of each kind."""
    return {
        kind: Policy(OBS, space, {**config, "seed": 0}, algorithm=algorithm).get_weights()
        for kind, (algorithm, space, config) in KINDS.items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_settings_of_the_weights_are_taken(trained, kind):
    """What a policy was trained with builds it again."""
    algorithm, space, config = KINDS[kind]

    policy = Policy(OBS, space, config, algorithm=algorithm, weights=trained[kind])

    assert policy.get_weights().keys() == trained[kind].keys()


@pytest.mark.parametrize(("kind", "path", "value"), FLIPS)
def test_settings_that_contradict_the_weights_are_told_with_both(trained, kind, path, value):
    """The error names the setting with its value and the weights, before a network is built."""
    algorithm, space, config = KINDS[kind]

    with pytest.raises(WeightsError, match=r"weight|rows") as caught:
        Policy(OBS, space, changed(config, path, value), algorithm=algorithm, weights=trained[kind])

    assert f"{path.rpartition('.')[2]}={value}" in str(caught.value)


@pytest.mark.parametrize(
    "model",
    [
        {"max_seq_len": 10**9},
        {"attention_memory_inference": 10**9},
        {"attention_use_n_prev_actions": 10**9},
        {"attention_num_transformer_units": 10**9},
        {"fcnet_hiddens": [1] * 10_000},
        {"dim": 10**5},
    ],
)
def test_counts_beyond_the_bounds_need_the_callers_word(tmp_path, model):
    """A file that asks for more is refused by the setting's name; the caller's setting is taken."""
    policy = Policy(OBS, TWO, {"model": {**NET}, "seed": 0})
    policy.config["model"].update(model)
    policy.export_checkpoint(tmp_path / "p")

    with pytest.raises(AskedTooMuchError, match=next(iter(model))):
        Policy.from_checkpoint(tmp_path / "p")

    mine = {"model": {**NET, **dict.fromkeys(model, 7), "fcnet_hiddens": [8, 8]}}
    assert Policy.from_checkpoint(tmp_path / "p", config=mine)


def test_a_view_of_a_file_looks_back_so_far():
    """A view of a thousand million steps is not laid out."""
    view = ViewRequirement(shift="-3:0").to_dict()

    with pytest.raises(AskedTooMuchError, match="shift"):
        ViewRequirement.from_dict({**view, "shift": "-1000000000:0"})


def test_a_filter_of_a_file_has_a_bound():
    """Statistics of a shape without end are not made."""
    state = MeanStdFilter((3,)).to_state()

    with pytest.raises(AskedTooMuchError, match="filter"):
        MeanStdFilter((3,)).set_state({**state, "shape": np.array([10**6, 10**6])})
