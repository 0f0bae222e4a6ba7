"""Environments that go on where others were."""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.core.errors import CorruptCheckpointError
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.decode.msgpack_file import decode_msgpack
from rlconnect.v2 import make_multi_agent
from rlconnect.v2.envs.env_memory import memory_of, remember
from rlconnect.v2.saving.checkpoint_files import packed_state


class _Keeper(gym.Env[Any, Any]):
    """Holds state in every form there is: containers, generators, another environment."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.inner = gym.make("CartPole-v1")
        self.recent: deque[Any] = deque(maxlen=3)
        self.seen: set[Any] = set()
        self.table = {(0, 1): [1, 2], "big": 2**100, "now": np.float32(1.5)}
        self.noise = np.random.Generator(np.random.MT19937(3))
        self.chosen = max

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.inner.reset(seed=seed)
        self.appears_here = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        observation = self.inner.step(action)[0]
        self.appears_here += 1
        self.recent.append(float(observation[0]))
        self.seen.add(self.appears_here)
        self.table["big"] += action
        value = sum(self.recent) + self.noise.normal() + len(self.seen) + self.table["big"] % 7
        return np.array([value, observation[1]], np.float32), 0.0, False, False, {}


def _through_a_file(memory: Any) -> Any:
    data = packed_state(memory)
    return decode_msgpack(data, Budget(Limits(), len(data)))


def _course(env: Any, count: int) -> list[Any]:
    """What an environment answers to one action."""
    made = [env.step(1 if isinstance(env.action_space, gym.spaces.Discrete) else [0.5])]
    made += [
        env.step(0 if isinstance(env.action_space, gym.spaces.Discrete) else [-0.5])
        for _ in range(count - 1)
    ]
    return [np.hstack([np.ravel(step[0]), step[1], step[2], step[3]]).tolist() for step in made]


@pytest.mark.parametrize(
    "make",
    [
        lambda: gym.make("CartPole-v1"),
        lambda: gym.make("Pendulum-v1"),
        lambda: gym.make("MountainCar-v0"),
        lambda: gym.make("FrozenLake-v1", is_slippery=True),
        lambda: gym.make("Acrobot-v1"),
        lambda: gym.wrappers.TimeLimit(_Keeper(), 30),
        lambda: gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1")),
    ],
)
def test_an_environment_goes_on_where_another_was(make: Any) -> None:
    """After a round trip through a file format, both give the same, and their resets as well."""
    first, second = make(), make()
    first.reset(seed=4)
    _course(first, 5)

    memory = _through_a_file(memory_of(first))
    is_there = remember(second, memory)

    assert is_there
    assert _course(second, 6) == _course(first, 6)
    assert np.array_equal(first.reset()[0], second.reset()[0])
    assert _course(second, 6) == _course(first, 6)


def test_many_agents_go_on() -> None:
    """Environments inside of a multi-agent one are remembered with it."""
    make = make_multi_agent("CartPole-v1")
    first, second = make({"num_agents": 2}), make({"num_agents": 2})
    first.reset(seed=1)
    first.step({0: 1, 1: 0})

    assert remember(second, memory_of(first) or [])

    assert str(second.step({0: 1, 1: 1})) == str(first.step({0: 1, 1: 1}))


class _Own(gym.Env[Any, Any]):
    """Says itself what it needs."""

    def __init__(self) -> None:
        self.simulator = object()
        self.at = 0

    def get_state(self) -> Any:
        return {"at": self.at}

    def set_state(self, state: Any) -> None:
        self.at = state["at"]


def test_an_environment_may_say_itself_what_it_needs() -> None:
    """`get_state` and `set_state` take the place of attributes."""
    first, second = _Own(), _Own()
    first.at = 7

    assert remember(second, memory_of(first) or [])

    assert second.at == 7


def test_what_is_no_data_has_no_memory() -> None:
    """A simulator cannot be put into a file: None."""
    env = _Keeper()
    env.simulator = object()  # type: ignore[attr-defined]
    wide = _Keeper()
    wide.table = dict.fromkeys(range(200_000))  # type: ignore[arg-type]

    assert memory_of(env) is None
    assert memory_of(wide) is None


def test_another_environment_does_not_go_on() -> None:
    """A memory of other wrappers, or one that somebody has tampered with, is refused."""
    plain = gym.make("CartPole-v1").unwrapped
    memory = memory_of(gym.make("CartPole-v1")) or []
    tampered = memory_of(plain) or []
    tampered[0]["attributes"]["step"] = 3

    assert not remember(plain, memory)
    assert not remember(plain, tampered)
    assert callable(plain.step)


@pytest.mark.parametrize(
    "damaged",
    [
        5,
        [{}],
        [{"class": "class"}],
        [{"class": "class", "attributes": {"state": {"who": 1}}}],
        [{"class": "class", "attributes": {"state": {"generator": {"bit_generator": "PCG64"}}}}],
    ],
)
def test_a_damaged_memory_is_told(damaged: Any) -> None:
    """What nobody can have written is an error that says so, not one of Python's."""
    env = gym.make("CartPole-v1").unwrapped
    name = (memory_of(env) or [])[0]["class"]
    if isinstance(damaged, list) and "class" in damaged[0]:
        damaged = [{**damaged[0], "class": name}]

    with pytest.raises(CorruptCheckpointError, match="is damaged"):
        remember(env, damaged)


def test_an_episode_goes_on_where_gymnasium_moved_its_wrappers() -> None:
    """`TimeLimit` lay in a module of its own before gymnasium 1.0: its steps are counted on."""
    one, other = gym.make("CartPole-v1"), gym.make("CartPole-v1")
    one.reset(seed=1)
    one.step(1)
    memory = memory_of(one)
    assert memory is not None
    old = {"common": "time_limit", "time_limit": "common"}
    for layer in memory:
        parts = layer["class"].split(".")
        if parts[:2] == ["gymnasium", "wrappers"]:
            parts[2] = old.get(parts[2], "elsewhere")
            layer["class"] = ".".join(parts)

    assert remember(other, memory)

    assert np.array_equal(one.step(0)[0], other.step(0)[0])
    assert other.get_wrapper_attr("_elapsed_steps") == 2


def test_a_moved_wrapper_that_counts_by_another_name_does_not_go_on() -> None:
    """Its count would be lost in silence, so the episode begins anew."""
    env = gym.make("CartPole-v1")
    env.reset(seed=1)
    memory = memory_of(env) or []
    held = memory[0]["attributes"]
    memory[0]["class"] = "gymnasium.wrappers.elsewhere.TimeLimit"
    held["_steps"] = held.pop("_elapsed_steps")

    assert not remember(gym.make("CartPole-v1"), memory)


def test_what_newer_checks_wait_for_is_not_waited_for() -> None:
    """Each release of gymnasium checks first steps by marks that others did not write."""
    one, other = gym.make("CartPole-v1"), gym.make("CartPole-v1")
    one.reset(seed=1)
    one.step(1)
    memory = memory_of(one) or []
    (checker,) = (layer for layer in memory if layer["class"].endswith("PassiveEnvChecker"))
    checker["attributes"] = {"checked_reset": True, "checked_step": True, "of_another": None}

    assert remember(other, memory)

    assert np.array_equal(one.step(0)[0], other.step(0)[0])
    assert np.array_equal(one.step(0)[0], other.step(0)[0])
