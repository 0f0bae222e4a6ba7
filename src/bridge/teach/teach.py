"""One policy teaches another network: the student plays, the teacher says what it would do."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete

from ...core.columns import DEFAULT_MODULE_ID, Columns
from ...core.data.teachers import TEACHER_INPUTS, TEACHER_VALUES
from ...core.errors import ConfigError
from ...core.types import Array
from ...v2.config.algorithm_config import AlgorithmConfig
from ...v2.config.connector_builders import call_with_fitting
from ...v2.env_runners.single_agent import SingleAgentEnvRunner
from ...v2.learning.teaching import TEACHER_KL
from ..actor.actor import Actor
from ..actor.episodes import Played, play
from ..environments import live_env, spaces_of_one
from ..loading.natives import Source
from ..migrate.front_door import migrate
from ..over_data.watched import dataset_at
from ..played_episodes import play_alone
from ..triple import V2Triple
from .labels import PolicyTeacher, teacher_of
from .learners import TaughtTorchLearner
from .recorded_env import RecordedEnv, over_and_over

_NEAR: Final = 0.05
"""Numbers of actions agree when they are no further apart, as a share of [-1, 1]."""

_FORGETS: Final = (
    "the teacher remembers what it has seen, the student does not: give it model_config.use_lstm"
)

Student = AlgorithmConfig | V2Triple | str | os.PathLike[str]


@dataclass(frozen=True)
class Lesson:
    """One round: the student played, then learnt from what it was told.

    Args:
        steps: How many steps were played so far.
        agreement: The share of the round's steps in which both had the same best action.
        divergence: How far the distributions were apart after learning.
    """

    steps: int
    agreement: float
    divergence: float


@dataclass(frozen=True)
class Taught:
    """What came of teaching.

    Args:
        student: The taught policy.
        lessons: Round by round.
        until: The agreement that was asked for.
        student_returns: What it earns, without exploring.
        teacher_returns: What the teacher earns with the same seeds.
        random_returns: What random actions earn.
        remark: What stands between them, if anything does.
    """

    student: V2Triple
    lessons: tuple[Lesson, ...]
    until: float
    student_returns: Played
    teacher_returns: Played
    random_returns: Played
    remark: str = ""

    @property
    def is_reached(self) -> bool:
        """Whether the student agrees as often as was asked for."""
        return self.lessons[-1].agreement >= self.until

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the student as a folder that loads and trains on, like a migrated one."""
        migrate(self.student, path)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the student as plain data."""
        returns = (self.student_returns, self.teacher_returns, self.random_returns)
        named = zip(("student", "teacher", "random"), returns, strict=True)
        return {
            "until": self.until,
            "is_reached": self.is_reached,
            "remark": self.remark,
            "lessons": [asdict(lesson) for lesson in self.lessons],
            "returns": {name: each.to_dict() for name, each in named},
        }

    def __str__(self) -> str:
        last = self.lessons[-1]
        verb = "reached" if self.is_reached else "not reached"
        mine, theirs = self.student_returns, self.teacher_returns
        return (
            f"agreement {last.agreement:.1%} after {last.steps:,} steps; {self.until:.0%} {verb}\n"
            f"return of the student {mine.mean:.1f} ± {mine.half_interval:.1f}, "
            f"of the teacher {theirs.mean:.1f} ± {theirs.half_interval:.1f}, "
            f"of random actions {self.random_returns.mean:.1f}"
            + (f"\n{self.remark}" if self.remark else "")
        )


def teach(
    student: Student,
    teacher: Source,
    env: Any = None,
    *,
    until: float = 0.98,
    steps: int = 50_000,
    round_steps: int = 2_000,
    num_envs: int = 16,
    lr: float = 1e-3,
    epochs: int = 4,
    minibatch_size: int = 256,
    values: float = 0.5,
    episodes: int = 20,
    seed: int = 0,
    progress: Callable[[Lesson], None] | None = None,
    out: str | os.PathLike[str] | None = None,
    data: Any = None,
) -> Taught:
    """Let a policy teach another network what it does, in the states that the student gets into.

    The student plays; at each step the teacher says how likely it would take each action, and what
    the step is worth. The student learns from all rounds together.

    Args:
        student: A config of the new stack that says the network, a policy that was grafted or
            migrated, or its folder. Its observations may pass other pieces than the teacher's.
        teacher: Any policy for this environment: adapted, migrated, of either stack.
        env: The environment: an id or a function that makes one; the config's if None.
        until: The agreement that is enough: the share of steps with the same best action.
        steps: How many steps are played at most.
        round_steps: How many of them a round has.
        num_envs: How many environments are played side by side.
        lr: The learning rate.
        epochs: How often a round's learning goes over what it learns from.
        minibatch_size: Steps of each gradient step.
        values: How much the teacher's values count beside its actions.
        episodes: How many episodes both are compared by at the end.
        seed: Of weights, environments and draws.
        progress: Called after each round.
        out: A folder in which the student lies after each round, whole, as `Taught.save` writes
            it: what ends the teaching leaves the student of the round before.
        data: A path for `rlconnect.offline.open_dataset`, or what it gave: the student learns in
            the states that were recorded, read piece by piece, and plays in `env` at the end.

    Returns:
        The student, what it agrees on and earns beside the teacher.

    Raises:
        ConfigError: The teacher earns less than random actions do, or there is no environment.
        SpaceError: The teacher sees or does other things than the environment has.
        PieceError: It does not say how likely its actions are.
        LossError: A loss is no number.
        CheckpointWriteError: The disk refuses; what was there before is untouched.
    """
    config, weights = _student_of(student)
    made = config.env if env is None else env
    if made is None:
        raise ConfigError(
            "teach() needs an environment", hint="give env=, or config.environment()."
        )
    playing = _maker(made, config)
    actor = teacher if isinstance(teacher, Actor) else Actor.from_policy(teacher)
    voice = teacher_of(actor, **_spaces(playing))
    theirs = play(actor, playing(), episodes=episodes, seed=seed, explore=False)
    at_random = _random_play(playing, episodes, seed)
    if theirs.mean + theirs.half_interval < at_random.mean:
        raise ConfigError(
            "the teacher is worse than random actions",
            expected=f"more than {at_random.mean:.1f}",
            found=f"a return of {theirs.mean:.1f} ± {theirs.half_interval:.1f}",
            hint="does it see what it was trained on? rlconnect adapt PATH --env ENV shows it.",
        )
    learning = playing
    if data is not None:
        recorded, spaces_there = over_and_over(dataset_at(data)), _spaces(playing)
        learning = partial(RecordedEnv, recorded, **spaces_there)
    config = _taught_config(config, learning, voice, num_envs, lr, values, seed)
    runner = SingleAgentEnvRunner(config=config)
    try:
        spaces = runner.get_spaces()
        learner = config.build_learner(spaces=spaces)
        if weights is not None:
            learner.module[DEFAULT_MODULE_ID].set_state(weights)
        memory = _Memory(steps, np.random.default_rng(seed))
        lessons: list[Lesson] = []
        played = 0
        while played < steps:
            runner.set_weights(learner.module.get_state())
            lived = runner.sample(num_timesteps=round_steps, explore=True)
            played += sum(map(len, lived))
            agreement = _agreement(lived)
            memory.add(lived)
            result = learner.update(
                episodes=memory.drawn(4 * round_steps),
                num_epochs=epochs,
                minibatch_size=minibatch_size,
                shuffle_batch_per_epoch=True,
            )
            apart = float(result[DEFAULT_MODULE_ID][TEACHER_KL].peek())
            lessons.append(Lesson(played, agreement, apart))
            module = learner.module[DEFAULT_MODULE_ID].unwrapped()
            taught = V2Triple(runner._env_to_module, module, runner._module_to_env)
            if out is not None:
                migrate(taught, out)
            if progress is not None:
                progress(lessons[-1])
            if agreement >= until:
                break
    finally:
        runner.stop()
    mine = play(Actor.from_policy(taught), playing(), episodes=episodes, seed=seed, explore=False)
    forgets = actor.remembers and not module.is_stateful()
    remark = _FORGETS if forgets else ""
    return Taught(taught, tuple(lessons), until, mine, theirs, at_random, remark)


def kickstart(
    config: AlgorithmConfig,
    teacher: Source,
    coeff: float | Sequence[Sequence[float]] = ((0, 1.0), (50_000, 0.0)),
) -> AlgorithmConfig:
    """Let a teacher's divergence be a term of PPO's loss; the config is changed and given back.

    The same as `config.training(teacher=..., teacher_coeff=...)`.

    Args:
        config: Of PPO.
        teacher: Any policy for the config's environment.
        coeff: The weight of the term: a number, or points `[step, weight]`.

    Raises:
        ConfigError: The config is of another algorithm.

    Example:
        >>> from rlconnect.legacy import Policy
        >>> from rlconnect.v2 import PPOConfig
        >>> old = Policy(Box(-1, 1, (4,)), Discrete(2), {"seed": 0})
        >>> kickstart(PPOConfig(), old, [[0, 1.0], [9_000, 0.0]]).teacher_coeff
        [[0, 1.0], [9000, 0.0]]
    """
    if "teacher" not in type(config).SECTIONS["training"].settings:
        raise ConfigError(
            "kickstart() works with PPO", expected="a PPOConfig", found=type(config).__name__
        )
    weight = coeff if isinstance(coeff, (int, float)) else [list(point) for point in coeff]
    settings: dict[str, Any] = {"teacher": teacher, "teacher_coeff": weight}
    return config.training(**settings)


class _Memory:
    """The episodes of all rounds, some of which are learnt from at a time.

    Args:
        capacity: How many steps are kept.
        rng: What draws.
    """

    def __init__(self, capacity: int, rng: np.random.Generator) -> None:
        self._capacity, self._rng = capacity, rng
        self._episodes: list[Any] = []

    def add(self, episodes: Sequence[Any]) -> None:
        """Keep episodes; the oldest go."""
        for episode in episodes:
            if len(episode):
                episode.id_ = f"{episode.id_}-{episode.t_started}"  # stretches stand by themselves
                self._episodes.append(episode.to_numpy())
        while sum(map(len, self._episodes)) > self._capacity and len(self._episodes) > 1:
            del self._episodes[0]

    def drawn(self, steps: int) -> list[Any]:
        """Different episodes, until they have so many steps."""
        found, count = [], 0
        for place in self._rng.permutation(len(self._episodes)):
            if count >= steps:
                break
            found.append(self._episodes[place])
            count += len(found[-1])
        return found


def _student_of(student: Student) -> tuple[AlgorithmConfig, Any]:
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


def _maker(env: Any, config: AlgorithmConfig) -> Callable[[], Any]:
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


def _spaces(playing: Callable[[], Any]) -> dict[str, Any]:
    env = playing()
    sees, takes = spaces_of_one(env)
    env.close()
    return {"observation_space": sees, "action_space": takes}


def _random_play(playing: Callable[[], Any], episodes: int, seed: int) -> Played:
    """What random actions earn."""
    env = playing()
    env.action_space.seed(seed)
    returns, lengths = [], []
    for number in range(episodes):
        obs, _ = env.reset(seed=seed + number)
        total, length, _ = play_alone(env, obs, lambda *_: env.action_space.sample())
        returns.append(total)
        lengths.append(length)
    env.close()
    return Played(tuple(returns), tuple(lengths))


def _taught_config(
    config: AlgorithmConfig,
    playing: Callable[[], Any],
    teacher: PolicyTeacher,
    num_envs: int,
    lr: float,
    values: float,
    seed: int,
) -> AlgorithmConfig:
    """The student's config with the teacher beside its runner and in its loss."""
    config.teacher = teacher
    config.environment(lambda settings: playing())
    config.env_runners(
        num_env_runners=0, num_envs_per_env_runner=num_envs, batch_mode="truncate_episodes"
    )
    config.debugging(seed=seed)
    config.training(lr=lr, grad_clip=1.0)
    return config.learners(
        num_learners=0,
        learner_class=TaughtTorchLearner,
        learner_config_dict={TEACHER_VALUES: values},
    )


def _agreement(episodes: Sequence[Any]) -> float:
    """The share of steps in which both would do the same if they did not explore."""
    pairs = [
        (
            np.asarray(episode.get_extra_model_outputs(Columns.ACTION_DIST_INPUTS)),
            np.asarray(episode.get_extra_model_outputs(TEACHER_INPUTS)),
            episode.action_space,
        )
        for episode in episodes
        if len(episode)
    ]
    mine, theirs = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    return float(_same_action(mine, theirs, pairs[0][2]).mean())


def _same_action(mine: Array, theirs: Array, space: Any) -> Array:
    """Row by row; inputs are choices one behind the other, or means and then deviations."""
    if isinstance(space, Box):
        half = mine.shape[-1] // 2
        apart = np.abs(np.clip(mine[:, :half], -1, 1) - np.clip(theirs[:, :half], -1, 1))
        return np.asarray((apart <= 2 * _NEAR).all(-1))
    sizes = [space.n] if isinstance(space, Discrete) else np.ravel(space.nvec)
    same = np.ones(len(mine), bool)
    for start, stop in pairwise(np.cumsum([0, *sizes])):
        same &= mine[:, start:stop].argmax(-1) == theirs[:, start:stop].argmax(-1)
    return same
