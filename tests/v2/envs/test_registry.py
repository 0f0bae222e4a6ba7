"""Environments by name, class or function, and what they are told when they are made."""

import re

import gymnasium as gym
import pytest
from rlconnect.core.errors import ConfigError, UnsafeCheckpointError
from rlconnect.v2 import EnvContext, register_env
from rlconnect.v2.envs.registry import env_creator_of, env_of_file


def test_a_context_is_a_dict_with_its_place_as_attributes():
    """Settings lie in the dict; overriding one thing keeps the others."""
    context = EnvContext({"a": 1}, worker_index=3, vector_index=2, num_workers=5)
    other = context.copy_with_overrides(vector_index=0, env_config={"b": 2})
    assert dict(context) == {"a": 1}
    assert (context.worker_index, context.vector_index, context.num_workers) == (3, 2, 5)
    assert (dict(other), other.worker_index, other.vector_index) == ({"b": 2}, 3, 0)
    other.set_defaults({"b": 9, "c": 3})
    assert dict(other) == {"b": 2, "c": 3}


def test_a_registered_name_wins_over_a_gymnasium_id():
    """The creator gets the context; registering anew gives the name its new meaning."""
    register_env("Taken-v0", lambda context: ("first", context))
    register_env("Taken-v0", lambda context: ("second", context))
    assert env_creator_of("Taken-v0")(EnvContext({"a": 1})) == ("second", {"a": 1})


def test_a_gymnasium_id_takes_settings_as_keyword_arguments():
    """`env_config` reaches `gym.make`."""
    env = env_creator_of("CartPole-v1")(EnvContext({"max_episode_steps": 7}))
    assert env.spec.max_episode_steps == 7


def test_an_unknown_name_is_told_with_the_nearest_one():
    """The error is gymnasium's kind, too."""
    with pytest.raises(gym.error.NameNotFound, match="CartPole-v1"):
        env_creator_of("CartPoole-v1")(EnvContext())


def test_none_and_objects_are_refused():
    """Nothing but a name, a class or a function makes environments."""
    with pytest.raises(ConfigError, match="no environment"):
        env_creator_of(None)
    with pytest.raises(ConfigError, match="environment"):
        env_creator_of(3)
    with pytest.raises(ConfigError, match="register_env"):
        register_env("x", 3)


WRAPPED = "TimeLimit(TimeAwareObservation(CartPole-v1), max_episode_steps=3)"


def test_wrappers_are_named_around_an_environment():
    """The outermost comes first; `env_config` reaches the environment."""
    env = env_creator_of(WRAPPED)(EnvContext({"sutton_barto_reward": True}))
    env.reset(seed=0)

    ends = [env.step(0)[3] for _ in range(3)]

    assert ends == [False, False, True]
    assert env.observation_space.shape == (5,)
    assert env.unwrapped._sutton_barto_reward


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("TimeLimit(CartPole-v1, 3)", "its settings are no TOML"),
        ("TimeLimit(CartPole-v1, steps=3)", "does not take these settings"),
        ("TimeLimit(CartPoole-v1, max_episode_steps=3)", "no environment is called 'CartPoole-v1'"),
        ("RecordVideo(CartPole-v1, video_folder='x')", "wrappers by name: AtariPreprocessing, "),
        ("TimeLimit(" * 40 + "CartPole-v1" + ")" * 40, "no environment is called"),
    ],
)
def test_what_wraps_nothing_is_told(name, says):
    """Wrong settings, unknown names, and wrappers that write files."""
    with pytest.raises(ConfigError, match=re.escape(says)):
        env_creator_of(name)(EnvContext())


def test_a_file_may_name_wrappers_of_known_environments():
    """Modules before ids are dropped as ever; nothing else is wrapped."""
    inner = "somebodys:CartPole-v1"

    assert env_of_file(WRAPPED) == WRAPPED
    assert env_of_file(f"TimeLimit({inner}, max_episode_steps=3)") == (
        "TimeLimit(CartPole-v1, max_episode_steps=3)"
    )
    assert env_of_file("TimeLimit(Theirs-v0, max_episode_steps=3)") is None
    assert env_of_file(f"RecordVideo({inner}, video_folder='x')") is None


@pytest.mark.parametrize(
    "name",
    [
        "FrameStackObservation(CartPole-v1, stack_size=10_000_000)",
        "ResizeObservation(CartPole-v1, shape=[100_000, 100_000])",
        "RepeatAction(" * 4 + "CartPole-v1" + ", num_repeats=100)" * 4,
    ],
)
def test_wrappers_of_a_file_make_nothing_huge(name):
    """Neither memory nor time; how long episodes are is no matter."""
    with pytest.raises(UnsafeCheckpointError, match="too large or slow"):
        env_of_file(name)

    assert env_of_file("TimeLimit(CartPole-v1, max_episode_steps=10_000_000)") is not None
