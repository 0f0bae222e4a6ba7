"""A teacher beside a runner: it sees what environments give, and episodes keep what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.columns import DEFAULT_MODULE_ID
from ...core.data.teachers import Teacher, open_teacher
from ...core.errors import ConfigError
from ...core.types import Array
from ..config.file_settings import ToldPath
from ..envs.multi_agent_envs import AgentTransitions
from ..envs.vector_stepper import Transitions


class Teaching:
    """Asks a teacher what it would do where the student is."""

    def __init__(self, teacher: Teacher, num_envs: int) -> None:
        self._teacher, self._env_ids = teacher, range(num_envs)
        self._reward: Any = None
        self._ended: set[int] = set()

    @classmethod
    def of(cls, config: Any, env: Any) -> Teaching | None:
        """The teacher that a config names; None where it names none, or nobody learns."""
        source = getattr(config, "teacher", None)
        if source is None or config.in_evaluation:
            return None
        if isinstance(source, ToldPath):
            return cls(_ToldTeacher(source), env.num_envs)
        is_one = not config.is_multi_agent
        teacher = open_teacher(
            source,
            observation_space=env.single_observation_space if is_one else None,
            action_space=env.single_action_space if is_one else None,
            is_stretched=config.normalize_actions,
        )
        return cls(teacher, env.num_envs)

    def begin(self) -> None:
        """Forget all: every environment was reset."""
        self._teacher.forget()
        self._reward, self._ended = None, set()

    def follow(self, transitions: Transitions) -> None:
        """Take in a step of environments with one agent each."""
        begun = self._ended | transitions.finals.keys() | transitions.failed.keys()
        ends = zip(transitions.terminateds, transitions.truncateds, strict=True)
        over = {index for index, end in enumerate(ends) if True in end}
        self._ended = over - transitions.finals.keys() - transitions.failed.keys()
        self._reward = np.asarray(transitions.rewards)
        if begun:
            self._teacher.forget([*begun])

    def columns(self, observations: Any) -> dict[str, Array]:
        """What it says of the last observations, a row for each environment."""
        ids = self._env_ids
        return self._teacher.answer(DEFAULT_MODULE_ID, observations, ids, reward=self._reward) or {}

    def follow_agents(self, transitions: AgentTransitions, waiting: Sequence[bool]) -> None:
        """Take in a step of environments with several agents."""
        self._reward = transitions.rewards
        begun = [index for index in self._env_ids if waiting[index] or index in transitions.failed]
        if begun:
            self._teacher.forget(begun)

    def put(self, outputs: Sequence[Mapping[Any, dict[str, Any]]], running: Any) -> None:
        """Put what it says beside what modules said.

        Args:
            outputs: By environment and agent; they are changed.
            running: The running episodes.
        """
        places_by_module: dict[str, list[tuple[int, Any]]] = {}
        for index, by_agent in enumerate(outputs):
            for agent in by_agent:
                places_by_module.setdefault(running.episodes[index].module_for(agent), []).append(
                    (index, agent)
                )
        for module_id, places in places_by_module.items():
            env_ids, agent_ids = zip(*places, strict=True)
            answers = self._teacher.answer(
                module_id,
                [running.seen[index][agent] for index, agent in places],
                env_ids,
                agent_ids=agent_ids,
                reward=self._reward and [self._reward[i].get(agent, 0.0) for i, agent in places],
            )
            for name, rows in (answers or {}).items():
                for (index, agent), row in zip(places, rows, strict=True):
                    outputs[index][agent][name] = row

    def get_state(self) -> dict[str, Any]:
        """Where it is in running episodes, as plain data."""
        ended, reward = sorted(self._ended), self._reward
        return {"teacher": self._teacher.get_state(), "ended": ended, "reward": reward}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `get_state` gave."""
        self._teacher.set_state(state["teacher"])
        self._ended, self._reward = set(state["ended"]), state["reward"]


class _ToldTeacher:
    """What stands for a teacher that a checkpoint names: its path is not opened."""

    def __init__(self, path: ToldPath) -> None:
        self._path = path

    def answer(self, *args: Any, **kwargs: Any) -> dict[str, Array]:
        """Say who has to give the teacher.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            "the checkpoint names the teacher that it learnt from, which is not opened",
            found=repr(self._path)[:200],
            hint="give it: from_checkpoint(path, settings={'teacher': ...}), or None for none.",
        )

    def forget(self, env_ids: Sequence[int] | None = None) -> None:
        """There is nothing to forget."""

    def get_state(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Nothing is taken over."""
