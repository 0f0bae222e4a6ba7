"""Actions of a module reach a changed environment as it takes them."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.core.adapters import AdapterChain, ExtendAction, MapActions, Rescale
from rlconnect.core.errors import PieceError
from rlconnect.v2 import AdaptActions, PPOConfig, SingleAgentEnvRunner

TWO = spaces.Discrete(2)
SWAP = AdapterChain(action=[MapActions([1, 0])])


class Told(gym.Env):
    """Keeps what it was told to do."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = TWO

    def __init__(self, config=None):
        self.config = config

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), float(action), False, False, {}


def test_behind_the_pieces_of_a_config():
    """At the end of a config's pipeline it changes what is done, not what is recorded."""
    config = PPOConfig().environment(Told).debugging(seed=0)
    config.env_runners(
        num_envs_per_env_runner=2,
        module_to_env_connector_end=lambda env, spaces: AdaptActions(chain=SWAP),
    )

    episodes = SingleAgentEnvRunner(config=config).sample(num_timesteps=40)

    actions = np.concatenate([episode.get_actions() for episode in episodes])
    done = np.concatenate([episode.get_rewards() for episode in episodes])
    assert set(actions) == {0, 1}
    np.testing.assert_array_equal(done, 1 - actions)


def test_works_on_what_was_normalised():
    """`actions_for_env` of the pieces before goes in, `actions` only where there is none."""
    space = spaces.Box(0.0, 4.0, (1,), np.float32)
    piece = AdaptActions(None, space, chain=AdapterChain(action=[Rescale(0.0, 8.0)]))
    batch = {
        "actions": {("e0",): [np.float32([-1.0])]},
        "actions_for_env": {("e0",): [np.float32([2.0])]},
    }

    made = piece(rl_module=None, batch=batch, episodes=[])

    assert made["actions_for_env"][("e0",)][0].tolist() == [4.0]
    assert piece.action_space.high.tolist() == [8.0]


@pytest.mark.parametrize("is_listed", [False, True])
def test_agents_of_their_own(is_listed):
    """Of several agents those it is for are adapted, by key and in a list of dicts."""
    space = spaces.Dict({"a": TWO, "b": TWO})
    piece = AdaptActions(None, space, chain=SWAP, multi_agent=True, agent_ids=["b"])
    actions = (
        [{"a": 0, "b": 0}, {"b": 1}]
        if is_listed
        else {("e", "a", "m"): [0], ("e", "b", "m"): [0], ("f", "b", "m"): [1]}
    )

    made = piece(rl_module=None, batch={"actions": actions}, episodes=[])["actions_for_env"]

    if is_listed:
        assert made == [{"a": 0, "b": 1}, {"b": 0}]
    else:
        assert made == {("e", "a", "m"): [0], ("e", "b", "m"): [1], ("f", "b", "m"): [0]}


def test_space_of_the_module():
    """Where a pipeline tells the environment's space, the module's can be given beside it."""
    chain = AdapterChain(action=[ExtendAction([0])])
    piece = AdaptActions(None, spaces.MultiDiscrete([2, 1]), chain=chain, policy_action_space=TWO)

    made = piece(rl_module=None, batch={"actions": np.array([1, 0])}, episodes=[])

    assert made["actions_for_env"].tolist() == [[1, 0], [0, 0]]


def test_says_what_is_missing():
    """No actions, or no space for them, are told."""
    with pytest.raises(PieceError, match="actions"):
        AdaptActions(None, TWO, chain=SWAP)(rl_module=None, batch={"obs": 1}, episodes=[])
    with pytest.raises(PieceError, match="input_action_space"):
        AdaptActions(chain=SWAP)(rl_module=None, batch={"actions": np.zeros(1)}, episodes=[])
