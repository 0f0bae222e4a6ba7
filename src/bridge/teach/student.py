"""A student: its settings, its loss, its filters, where it plays, and what random actions earn."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import torch
from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from ...core.data.teachers import TEACHER_VALUES
from ...core.errors import ConfigError
from ...v2.config.algorithm_config import AlgorithmConfig
from ...v2.config.connector_builders import call_with_fitting
from ...v2.connectors.env_to_module.mean_std_filter import MeanStdFilter
from ...v2.learning.losses import TEACHER_KL, RowMean, teacher_kl
from ...v2.learning.torch_learner import TorchLearner
from ...v2.modules.apis import ValueFunctionAPI
from ..actor.episodes import Played, play
from ..environments import agents_of, close, live_env, spaces_of_one
from ..migrate.front_door import migrate
from ..triple import V2Triple
from .labels import PolicyTeacher

_SETTLING: Final = 2_000
_SHARE: Final = 8
"""It takes an eighth of the steps at most."""
_VALUES: Final = "teacher_value_error"

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
    close(env)
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
        close(env)


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


class TaughtTorchLearner(TorchLearner):
    """Learns a teacher's distributions, and its values where it has some.

    `learner_config_dict["teacher_values"]` says how much values count beside the divergence.
    """

    @override
    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> Tensor:
        """Compute the divergence from the teacher, and the error of values."""
        mean = RowMean(batch.get(Columns.LOSS_MASK))
        module = self.module[module_id].unwrapped()
        terms = {TEACHER_KL: mean(teacher_kl(module, batch, fwd_out))}
        loss = terms[TEACHER_KL]
        share = config.learner_config_dict.get(TEACHER_VALUES, 0.0)
        if share and isinstance(module, ValueFunctionAPI):
            values = module.compute_values(batch, embeddings=fwd_out.get(Columns.EMBEDDINGS))
            error = torch.nn.functional.smooth_l1_loss(
                values, batch[TEACHER_VALUES].reshape(values.shape), reduction="none"
            )
            terms[_VALUES] = mean(error)
            loss = loss + share * terms[_VALUES]
        self._keep_terms(module_id, terms)
        return loss


class Settling:
    """Filters that count what they see.

    Episodes hold what a filter made of a state when it was seen. While it counts, the same state
    becomes something else each time, and a student that learns from all of them learns nothing
    well. What was begun elsewhere (grafted, taught before) has weights that fit its filters: these
    stand still from the start.

    Args:
        pieces: The pieces that a student sees through.
        steps: How many steps are played at most.
    """

    def __init__(self, pieces: Iterable[Any], steps: int) -> None:
        mine = [
            piece for piece in pieces if isinstance(piece, MeanStdFilter) and piece.update_stats
        ]
        self._filters = mine
        self._first = 0 if any(piece.num_counted for piece in mine) else steps // _SHARE
        self._is_over = not mine

    def is_over_at(self, played: int) -> bool:
        """Stop the filters once enough was played; True the one time that this happens."""
        if self._is_over or played < min(_SETTLING, self._first):
            return False
        self._is_over = True
        for piece in self._filters:
            piece.update_stats = False
        return True

    def end(self) -> None:
        """Let filters count again, for what comes after the lessons."""
        for piece in self._filters:
            piece.update_stats = True
