"""A student before its first lesson: its settings, where it plays, and what random actions earn."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from ...core.data.teachers import TEACHER_VALUES
from ...core.errors import ConfigError
from ...v2.config.algorithm_config import AlgorithmConfig
from ...v2.config.connector_builders import call_with_fitting
from ..actor.episodes import Played, play
from ..environments import agents_of, live_env, spaces_of_one
from ..migrate.front_door import migrate
from ..triple import V2Triple
from .labels import PolicyTeacher
from .learners import TaughtTorchLearner

Student = AlgorithmConfig | V2Triple | str | os.PathLike[str]


def student_of(student: Student) -> tuple[AlgorithmConfig, Any]:
    """A config that says the student's network and pieces; and its weights, if it has some."""
    if isinstance(student, AlgorithmConfig):
        return student.copy(copy_frozen=False), None
    from ...v2.algorithms.ppo import PPOConfig

    if not isinstance(student, V2Triple):
        return PPOConfig().from_migrated(student), None
    with tempfile.TemporaryDirectory(prefix="rlconnect-") as folder:
        migrate(student, folder)
        config = PPOConfig().from_migrated(folder)
    spec: Any = copy.copy(config.rl_module_spec)
    spec.load_state_path = None  # the folder is gone
    return config.rl_module(rl_module_spec=spec), student.module.get_state()


def maker(env: Any, config: AlgorithmConfig) -> Callable[[], Any]:
    """A function that makes the environment."""
    if hasattr(env, "observation_space") and not isinstance(env, type):
        raise ConfigError(
            "teach() plays many environments side by side",
            expected="an id, or a function or class that makes one",
            found="a live environment",
        )
    if isinstance(env, str):
        return lambda: live_env(env)[0]
    settings = dict(config.env_config)
    return lambda: call_with_fitting(env, (settings,))


def agent_spaces(playing: Callable[[], Any]) -> dict[Any, tuple[Any, Any]]:
    """What each agent sees and does there, by agent; of the only one by None."""
    env = playing()
    several = agents_of(env)
    if several is None:
        by_agent: dict[Any, tuple[Any, Any]] = {None: spaces_of_one(env)}
    else:
        sees, takes = several
        by_agent = {agent: (sees[agent], takes[agent]) for agent in sees}
    env.close()
    return by_agent


def random_play(playing: Callable[[], Any], episodes: int, seed: int) -> Played:
    """What random actions earn."""
    env = playing()
    several = agents_of(env)
    spaces = {None: env.action_space} if several is None else several[1]
    for number, space in enumerate(spaces.values()):
        space.seed(seed + number)
    try:
        return play(_RandomActor(spaces), env, episodes=episodes, seed=seed, explore=False)
    finally:
        env.close()


class _RandomActor:
    """Draws actions from spaces by agent, or from that of the only agent, by None."""

    def __init__(self, spaces: Mapping[Any, Any]) -> None:
        self._spaces = spaces

    def act(self, obs: Any, **_: Any) -> Any:
        if None in self._spaces:
            return self._spaces[None].sample()
        return {agent: self._spaces[agent].sample() for agent in obs}

    def reset(self, slot: str) -> None:
        """Remember nothing, so there is nothing to forget."""


def taught_config(
    config: AlgorithmConfig,
    playing: Callable[[], Any] | str,
    teacher: PolicyTeacher,
    num_envs: int,
    lr: float,
    steps: int,
    values: float,
    seed: int,
) -> AlgorithmConfig:
    """The student's config with the teacher beside its runner and in its loss."""
    config.teacher = teacher
    config.environment(playing if isinstance(playing, str) else lambda settings: playing())
    config.env_runners(
        num_env_runners=0, num_envs_per_env_runner=num_envs, batch_mode="truncate_episodes"
    )
    config.debugging(seed=seed)
    config.training(lr=[[0, lr], [steps, lr / 10]], grad_clip=1.0)
    return config.learners(
        num_learners=0,
        learner_class=TaughtTorchLearner,
        learner_config_dict={TEACHER_VALUES: values},
    )
