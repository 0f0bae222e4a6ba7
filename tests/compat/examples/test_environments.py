"""Small environments of RLlib's examples; numbers are what Ray 2.60 gives for the same calls."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.compat.examples import environments as ours
from rlconnect.core.errors import ConfigError, SpaceError


def played(env, actions, seed=0):
    """The observations, rewards and ends of some steps."""
    seen = [env.reset(seed=seed)[0]]
    made = [env.step(action) for action in actions]
    return [*seen, *(step[0] for step in made)], [step[1] for step in made], made


def test_a_random_environment_ends_as_it_is_told():
    """The length is a truncation that stays, the probability a termination."""
    long = ours.RandomEnv({"p_terminated": 0.0, "max_episode_len": 3})
    short = ours.RandomEnv({"p_done": 1.0})

    *_, made = played(long, [0] * 5)
    *_, ended = played(short, [0] * 2)

    assert [step[2:4] for step in made] == [(False, each) for each in (0, 0, 1, 1, 1)]
    assert [step[2:4] for step in ended] == [(True, False)] * 2


def test_a_random_environment_of_given_spaces():
    """Draws lie in their spaces; static ones repeat, and actions are checked if so wished."""
    spaces = {"observation_space": Discrete(3), "reward_space": Box(5.0, 6.0, ())}
    env = ours.RandomEnv(
        {
            **spaces,
            "action_space": Box(-1, 1, (2,)),
            "static_samples": True,
            "check_action_bounds": True,
        }
    )

    seen, rewards, _ = played(env, [np.zeros(2, np.float32)] * 3)

    assert len(set(seen)) == len(set(map(float, rewards))) == 1
    assert env.reward_space.contains(rewards[0])
    with pytest.raises(SpaceError, match="Illegal action"):
        env.step(np.array([3.0, 3.0], np.float32))


def test_masked_actions_are_refused():
    """There is always an action that may be taken, and those that may not are errors."""
    env = ours.ActionMaskEnv({"observation_space": Box(-1, 1, (5,)), "action_space": Discrete(4)})
    refused = 0
    for seed in range(20):
        seen, _ = env.reset(seed=seed)
        assert seen["observations"].shape == (5,)
        assert seen["action_mask"].any()
        forbidden = np.flatnonzero(seen["action_mask"] == 0)
        if len(forbidden):
            refused += 1
            with pytest.raises(SpaceError, match="Invalid action"):
                env.step(int(forbidden[0]))

    assert refused


@pytest.mark.parametrize(
    ("make", "name", "kept", "actions"),
    [
        (ours.StatelessCartPole, "CartPole-v1", [0, 2], [0, 1]),
        (ours.StatelessPendulum, "Pendulum-v1", [0, 1], [np.array([0.5], np.float32)]),
    ],
)
def test_environments_without_velocities(make, name, kept, actions):
    """They are gymnasium's but for what they show."""
    env = make({"a": 1})

    seen, rewards, _ = played(env, actions)
    whole, earned, _ = played(gym.make(name), actions)

    assert np.array_equal(seen, [each[kept] for each in whole])
    assert rewards == earned
    assert env.observation_space.contains(seen[-1])


@pytest.mark.parametrize(("delay", "length", "steps"), [(1, 100, 100), (2, 5, 4)])
def test_repeating_earlier_observations(delay, length, steps):
    """The observation `delay` steps ago is wanted, zeros before there is one."""
    env = ours.RepeatAfterMeEnv({"repeat_delay": delay, "episode_len": length})

    seen = [env.reset(seed=0)[0]]
    wanted = [0] * delay + seen
    for step in range(steps):
        action = int(wanted[step]) if step % 2 else 1 - int(wanted[step])
        observed, reward, is_over, is_cut, _ = env.step(action)
        wanted.append(observed)
        assert reward == (1.0 if step % 2 else -1.0)
        assert (is_over, is_cut) == (step == steps - 1,) * 2


def test_repeating_points():
    """Points count by their distance in each direction."""
    env = ours.RepeatAfterMeEnv({"continuous": True})
    first, _ = env.reset(seed=0)

    beginning = env.step(np.array([0.5, 0.5]))[1]
    second = env.step(np.zeros(2))[1]

    assert beginning == -1.0
    assert second == pytest.approx(-np.abs(first).sum())


def test_a_corridor():
    """Steps cost a little until the end; nobody walks through the wall behind."""
    env = ours.SimpleCorridor({"corridor_length": 3})

    seen, rewards, made = played(env, [0, 1, 1, 0, 1, 1])

    assert np.array_equal(np.ravel(seen), [0, 0, 1, 2, 1, 2, 3])
    assert rewards == [-0.01] * 5 + [1.0]
    assert made[-1][2]
    with pytest.raises(ConfigError):
        env.step(5)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (ours.MultiAgentCartPole, (4,)),
        (ours.MultiAgentMountainCar, (2,)),
        (ours.MultiAgentPendulum, (3,)),
        (ours.MultiAgentStatelessCartPole, (2,)),
    ],
)
def test_environments_of_several_agents(make, shape):
    """Each agent plays one of its own."""
    env = make({"num_agents": 2})

    seen, _ = env.reset(seed=0)

    assert {agent: each.shape for agent, each in seen.items()} == {0: shape, 1: shape}
