"""One policy teaches another network: the student plays, the teacher says what it would do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import ConfigError
from ...v2.config.algorithm_config import AlgorithmConfig
from ...v2.env_runners.multi_agent import MultiAgentEnvRunner
from ...v2.env_runners.single_agent import SingleAgentEnvRunner
from ...v2.envs.vectorising import mode_of
from ...v2.learning.losses import TEACHER_KL
from ...v2.metrics.names import NUM_ENV_STEPS_SAMPLED_LIFETIME
from ..actor.actor import Actor
from ..actor.episodes import Played, play
from ..loading.mapping import PolicyMapping
from ..loading.natives import Source, natives_of
from ..loading.triples import triples_of
from ..over_data.watched import dataset_at
from ..triple import V2Triple
from .labels import PolicyTeacher, teacher_of
from .recorded_env import RecordedEnv, over_and_over
from .student import Settling, Student, agent_spaces, maker, random_play, student_of, taught_config
from .taught import Lesson, Taught, agreement, is_enough, save_student

_ROUNDS: Final = 16
"""How many rounds' worth of steps are learnt from at a time, of all that were played."""

_FORGETS: Final = (
    "the teacher remembers what it has seen, the student does not: give it model_config.use_lstm"
)


def teach(
    student: Student,
    teacher: Source,
    env: Any = None,
    *,
    until: float = 0.98,
    steps: int = 50_000,
    round_steps: int = 500,
    num_envs: int = 16,
    lr: float = 3e-3,
    epochs: int = 25,
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
        student: A config of the new stack that says the network (of several agents, those of its
            policies), a policy that was grafted or migrated, or its folder. Its observations may
            pass other pieces than the teacher's; a new `MeanStdFilter` counts for 2,000 steps (an
            eighth of `steps`, if that is less), which are not learnt from later, and then rests.
        teacher: Any policy for this environment: adapted, migrated, of either stack. One teaches
            all of several students; several teach those of their names.
        env: The environment: an id or a function that makes one; the config's if None.
        until: The agreement that is enough in two rounds running: the share of steps with the same
            best action.
        steps: How many steps are played at most.
        round_steps: How many of them a round has; of each environment some 30, as every stretch of
            an episode costs something.
        num_envs: How many environments are played side by side.
        lr: The learning rate at first; after `steps` it is a tenth of that.
        epochs: How many steps are learnt from after a round, for each that was played in it; the
            steps of all rounds take part.
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
    config, weights = student_of(student)
    env_source = config.env if env is None else env
    if env_source is None:
        raise ConfigError(
            "teach() needs an environment", hint="give env=, or config.environment()."
        )
    playing = maker(env_source, config)
    by_agent = agent_spaces(playing)
    mapping = _students(config, by_agent)
    actor = teacher if isinstance(teacher, Actor) else _actor(teacher, mapping)
    voice = teacher_of(actor)
    _check_teachers(voice, by_agent, mapping)
    theirs = play(actor, playing(), episodes=episodes, seed=seed, explore=False)
    at_random = random_play(playing, episodes, seed)
    _check_worth(theirs, at_random)
    learning: Callable[[], Any] | str = playing
    if data is not None:
        if mapping is not None:
            raise ConfigError(
                "recorded steps teach one agent", hint="leave out data=: the students play."
            )
        learning = partial(RecordedEnv, over_and_over(dataset_at(data)), *by_agent[None])
    elif (
        isinstance(env_source, str)
        and mode_of(config.gym_env_vectorize_mode) == "vector_entry_point"
    ):
        learning = env_source
    config = taught_config(config, learning, voice, num_envs, lr, steps, values, seed)
    kind = SingleAgentEnvRunner if mapping is None else MultiAgentEnvRunner
    runner = kind(config=config)
    settling = Settling(runner.env_to_module.connectors, steps)
    try:
        learner = config.build_learner(spaces=runner.get_spaces())
        if weights is not None:
            learner.module[DEFAULT_MODULE_ID].set_state(weights)
        memory = _Memory(steps, np.random.default_rng(seed))
        lessons: list[Lesson] = []
        played = 0
        while played < steps:
            if settling.is_over_at(played):
                memory.forget()
            runner.set_weights(learner.module.get_state())
            lived = runner.sample(num_timesteps=round_steps, explore=True)
            played += sum(map(len, lived))
            alike = agreement(lived)
            memory.add(lived)
            drawn = memory.drawn(min(_ROUNDS, epochs) * round_steps)
            rows = sum(map(len, drawn))
            result = learner.update(
                episodes=drawn,
                timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: played},
                num_epochs=max(1, round(epochs * round_steps / rows)),
                minibatch_size=minibatch_size,
                shuffle_batch_per_epoch=True,
            )
            divergences = [result[name][TEACHER_KL].peek() for name in learner.module]
            lessons.append(Lesson(played, alike, float(np.mean(divergences))))
            modules = {name: module.unwrapped() for name, module in learner.module.items()}
            pipelines = runner.env_to_module, runner.module_to_env
            taught: Any = triples_of(modules, *pipelines)
            if mapping is None:
                taught = V2Triple(pipelines[0], modules[DEFAULT_MODULE_ID], pipelines[1])
            if out is not None:
                save_student(taught, out, mapping)
            if progress is not None:
                progress(lessons[-1])
            if len(lessons) > 1 and is_enough(lessons, until):
                break
    finally:
        settling.end()
        runner.stop()
    mine = play(_actor(taught, mapping), playing(), episodes=episodes, seed=seed, explore=False)
    forgets = any(
        getattr(voice.of(name), "remembers", False) and not module.is_stateful()
        for name, module in modules.items()
    )
    remark = _FORGETS if forgets else ""
    return Taught(taught, tuple(lessons), until, mine, theirs, at_random, remark, mapping)


def _students(config: AlgorithmConfig, by_agent: Mapping[Any, Any]) -> dict[Any, str] | None:
    """Which student each agent is; None for one agent without a name."""
    if config.is_multi_agent:
        return {agent: str(config.policy_mapping_fn(agent, None)) for agent in by_agent}
    if None not in by_agent:
        raise ConfigError(
            "the student is of one agent",
            expected="config.multi_agent(policies={...}, policy_mapping_fn=...)",
            found=f"an environment of {sorted(map(str, by_agent))}",
        )
    return None


def _check_teachers(
    voice: PolicyTeacher, by_agent: Mapping[Any, Any], mapping: dict[Any, str] | None
) -> None:
    """Refuse teachers that teach nobody for an agent, or see or do other things than it."""
    for agent, (sees, takes) in by_agent.items():
        if mapping and voice.of(mapping[agent]) is None:
            raise ConfigError(
                f"nobody teaches {mapping[agent]!r}",
                expected="one teacher for all, or one named after each student",
                found=f"teachers named {sorted(voice.actors)}",
            )
        voice.check(sees, takes, mapping[agent] if mapping else "")


def _check_worth(theirs: Played, at_random: Played) -> None:
    """Refuse a teacher that earns less than random actions do."""
    if theirs.mean + theirs.half_interval < at_random.mean:
        raise ConfigError(
            "the teacher is worse than random actions",
            expected=f"more than {at_random.mean:.1f}",
            found=f"a return of {theirs.mean:.1f} ± {theirs.half_interval:.1f}",
            hint="give one that was trained. If it sees other things here than where it was, adapt "
            "it with a step that says so: obs=[...] of rlconnect adapt.",
        )


def _actor(source: Source, mapping: PolicyMapping) -> Actor:
    """An actor of a policy, which plays all agents, or of several."""
    natives = natives_of(source)
    is_one = len(natives.policies) == 1
    return Actor.from_policy(natives, policy_mapping_fn=None if is_one else mapping)


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
        >>> from gymnasium.spaces import Box, Discrete
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
        self._seen = self._steps = 0

    def add(self, episodes: Sequence[Any]) -> None:
        """Keep episodes; the oldest go."""
        for episode in episodes:
            if len(episode):
                # Stretches of an episode stand by themselves.
                episode.id_ = f"{episode.id_}-{self._seen}"
                self._episodes.append(episode.to_numpy())
                self._seen += 1
                self._steps += len(episode)
        while self._steps > self._capacity and len(self._episodes) > 1:
            self._steps -= len(self._episodes.pop(0))

    def forget(self) -> None:
        """Keep nothing of what there was."""
        self._episodes, self._steps = [], 0

    def drawn(self, steps: int) -> list[Any]:
        """Different episodes, until they have so many steps."""
        episodes, count = [], 0
        for place in self._rng.permutation(len(self._episodes)):
            if count >= steps:
                break
            episodes.append(self._episodes[place])
            count += len(episodes[-1])
        return episodes
