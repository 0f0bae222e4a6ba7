"""A policy from an old checkpoint acts in a changed environment, and says what it needs to know."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.bridge.adapting.adapt import adapt, policy_spaces, suggest_adapter
from rlconnect.bridge.rollout import rollout
from rlconnect.core.adapters import DropFeatures, ExtendAction, InsertFeatures, SelectFeatures
from rlconnect.core.errors import PieceError, SpaceError
from rlconnect.legacy import Policy, batch_policy_inference, local_policy_inference

CHECKPOINT = Path(__file__).parents[3] / "examples" / "checkpoints" / "ppo-cartpole-ray-2.60"


class WiderCartPole(gym.Env):
    """CartPole with two more features and one more number in its action."""

    def __init__(self):
        self.env = gym.make("CartPole-v1")
        self.observation_space = spaces.Box(-10, 10, (6,), np.float32)
        self.action_space = spaces.MultiDiscrete([2, 2])

    def _seen(self, obs):
        return np.hstack([obs, [8.0, 6.0]]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        obs, info = self.env.reset(seed=seed)
        return self._seen(obs), info

    def step(self, action):
        obs, *rest = self.env.step(action[0])
        return self._seen(obs), *rest


class Asked(gym.Wrapper):
    """A wrapper that holds nothing for its environment, and fails where it is asked to."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise AssertionError(f"gymnasium 0.29 warns of {name}")


@pytest.fixture(scope="module")
def policy():
    loaded = Policy.from_checkpoint(CHECKPOINT)
    return loaded["default_policy"] if isinstance(loaded, dict) else loaded


def episode(policy, env, seed):
    """Rewards and actions of one episode without exploration."""
    obs, _ = env.reset(seed=seed)
    policy.reset_connectors(seed)
    actions, reward, done = [], None, False
    while not done:
        ((action, _, _),) = local_policy_inference(policy, seed, "a", obs, reward, explore=False)
        obs, reward, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
        actions.append(int(np.atleast_1d(action)[0]))
    return actions


def test_the_adapted_policy_plays_as_the_old_one_did(policy):
    """In three lines the policy plays the changed game, move by move as it played the old."""
    env = WiderCartPole()

    adapted = adapt(policy, env=env, obs=DropFeatures([4, 5]), action=ExtendAction([0]))

    for seed in range(3):
        assert episode(adapted, env, seed) == episode(policy, gym.make("CartPole-v1"), seed)
    assert policy_spaces(adapted) == (env.observation_space, spaces.MultiDiscrete([2, 1]))
    assert len(policy.agent_connectors) == len(adapted.agent_connectors) - 1


def test_an_unchanged_environment_needs_no_step(policy):
    """The CartPole of today is the one an old policy knows, whatever its infinite bounds are."""
    suggestion = suggest_adapter(policy, "CartPole-v1")

    assert not suggestion.observations
    assert not suggestion.actions
    assert suggestion.is_sure


def test_an_adapted_policy_is_one_checkpoint(policy, tmp_path):
    """Saved and loaded, it is adapted still: same connectors, same answers bit for bit."""
    adapted = adapt(policy, env=WiderCartPole, obs=DropFeatures([4, 5]), action=ExtendAction([0]))
    obs = 0.1 * np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)

    adapted.export_checkpoint(tmp_path / "adapted")
    again = Policy.from_checkpoint(tmp_path / "adapted")

    slots = list(range(8)), ["a"] * 8
    ours = batch_policy_inference(adapted, *slots, obs, explore=False)
    theirs = batch_policy_inference(again, *slots, obs, explore=False)
    assert str(again.agent_connectors) == str(adapted.agent_connectors)
    for (action, _, fetches), (other, _, other_fetches) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(action, other)
        np.testing.assert_array_equal(
            fetches["action_dist_inputs"], other_fetches["action_dist_inputs"]
        )


def test_what_spaces_prove_needs_no_word():
    """Bounds that tell features apart are enough: no steps have to be given."""
    bounds = np.array([1, 2, 3], np.float32)
    old = Policy(spaces.Box(-bounds, bounds), spaces.Discrete(2), {"model": {"fcnet_hiddens": [4]}})
    order = [2, 0, 1]
    new = spaces.Box(-bounds[order], bounds[order])

    adapted = adapt(old, observation_space=new, action_space=old.action_space)

    seen = adapted.agent_connectors[0][0].chain.obs
    assert seen == (SelectFeatures((1, 2, 0)),)


def test_open_questions_are_asked_not_guessed(policy):
    """Where the spaces leave doubt, adapt() refuses and proposes; suggest_adapter() explains."""
    suggestion = suggest_adapter(policy, WiderCartPole())

    assert not suggestion.is_sure
    assert "DropFeatures(indices=(4, 5))" in str(suggestion)
    assert len(suggestion.questions) == 3
    with pytest.raises(PieceError, match="open") as error:
        adapt(policy, env=WiderCartPole())
    assert "DropFeatures" in error.value.hint


def test_adapters_add_up(policy):
    """A policy that was adapted can be adapted again; the newest environment stands outside."""
    once = adapt(policy, env=WiderCartPole(), obs=DropFeatures([4, 5]), action=ExtendAction([0]))
    fewer = spaces.Box(-10, 10, (5,), np.float32)

    twice = adapt(
        once,
        observation_space=fewer,
        action_space=spaces.MultiDiscrete([2, 1, 3]),
        obs=InsertFeatures([0], [0.5]),
        action=ExtendAction([2]),
    )

    obs = np.float32([0.1, 0.2, 0.3, 8, 6])
    ((action, _, _),) = local_policy_inference(twice, "e", "a", obs, explore=False)
    whole = np.concatenate([[np.float32(0.5)], obs])
    ((expected, _, _),) = local_policy_inference(once, "e", "a", whole, explore=False)
    assert action.tolist() == [*expected.tolist(), 2]


@pytest.mark.parametrize(
    ("steps", "match"),
    [
        ({"obs": DropFeatures([4]), "action": ExtendAction([0])}, "policy knows"),
        ({"obs": DropFeatures([4, 5]), "action": ()}, "adapted action"),
        ({"obs": DropFeatures([9]), "action": ExtendAction([0])}, "feature 9"),
    ],
)
def test_steps_that_do_not_lead_there_are_refused(policy, steps, match):
    """A chain that ends in another space is told when it is made."""
    with pytest.raises((SpaceError, PieceError), match=match):
        adapt(policy, env=WiderCartPole(), **steps)


def test_somebody_has_to_say_what_is_new(policy):
    """Without an environment and without spaces there is nothing to adapt to."""
    with pytest.raises(PieceError, match="new environment"):
        adapt(policy)


def test_a_wrapper_is_not_asked_for_what_only_many_environments_have(policy):
    """gymnasium 0.29 shows a warning for each such question, on the screen of the user."""
    env = Asked(gym.make("CartPole-v1"))

    assert len(rollout(adapt(policy, env=env), env, episodes=1).returns) == 1


def test_the_spaces_of_one_of_many_environments_are_taken(policy):
    """An environment that is many at once is adapted to as one of them is."""
    envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)

    adapted = adapt(policy, env=envs)

    assert policy_spaces(adapted)[0].shape == envs.single_observation_space.shape
