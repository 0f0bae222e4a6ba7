"""Environments by name, class or function, and what they are told when they are made."""

import gymnasium as gym
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import EnvContext, register_env
from rlconnect.v2.envs.registry import env_creator_of


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
