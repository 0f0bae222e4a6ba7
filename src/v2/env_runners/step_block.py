"""Steps of a vector of environments as rows of shared arrays, cut into episodes afterwards.

While nobody looks at running episodes there is no need to hand each of them an item in each step:
what all environments gave in a step is kept as it came, and becomes columns once for many steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ...core import nest
from ...core.types import Array, Nest
from ..envs.vector_stepper import Transitions


class Stretch(NamedTuple):
    """The steps of one episode in a block: those from `start` up to `stop`.

    Attributes:
        env: The place of its environment.
        is_begun: Whether its first observation is the block's, the one before step `start`.
        is_over: Whether it ended with the last of these steps.
    """

    env: int
    start: int
    stop: int
    is_begun: bool
    is_over: bool
    terminated: bool
    truncated: bool


class StepBlock:
    """Collects the steps of all environments.

    Args:
        observations: The last one of each environment, as rows.
        pending: Which environments are reset in the next step.

    Attributes:
        begun: Which environments gave a first observation in the last step.
        num_ended: How many episodes ended.
        steps: How many steps of environments it has.
    """

    def __init__(self, observations: Nest, pending: Sequence[bool]) -> None:
        self._observations = [observations]
        self._actions: list[Array] = []
        self._rewards: list[list[float]] = []
        self._infos: list[list[dict[str, Any]]] = []
        self._outputs: list[dict[str, Nest]] = []
        self._times: list[float] = []
        self._starts = [0] * len(pending)
        self._is_begun = [False] * len(pending)
        self._waiting = [index for index, waits in enumerate(pending) if waits]
        self._over: list[Stretch] = []
        self.begun: list[int] = []
        self.num_ended = self.steps = 0

    def __len__(self) -> int:
        return len(self._actions)

    def takes(self, actions: Any, outputs: Mapping[str, Nest]) -> bool:
        """Whether a step has arrays for actions, and the outputs of the steps before."""
        if type(actions) is not np.ndarray:
            return False
        return not self._outputs or outputs.keys() == self._outputs[0].keys()

    def add(
        self,
        observations: Nest,
        transitions: Transitions,
        actions: Array,
        outputs: dict[str, Nest],
        may_end: int | None,
    ) -> int:
        """Add a step of all environments.

        Args:
            observations: The last one of each, as rows.
            transitions: What they returned; none of them has failed.
            actions: What was recorded as sent to them.
            outputs: The module's other outputs, arrays with a row each.
            may_end: How many episodes may end; None for any number.

        Returns:
            How many steps that were: where an environment was only reset there is none.
        """
        self._observations.append(observations)
        self._actions.append(actions)
        self._rewards.append(transitions.rewards)
        self._infos.append(transitions.infos)
        self._outputs.append(outputs)
        self._times.append(perf_counter())
        self.begun = begun = self._waiting
        stop = len(self._actions)
        for index in begun:
            self._starts[index], self._is_begun[index] = stop, True
        if True in transitions.terminateds or True in transitions.truncateds:
            self._waiting = self._ended(transitions, stop, may_end)
        elif begun:
            self._waiting = []
        steps = len(transitions.rewards) - len(begun)
        self.steps += steps
        return steps

    def _ended(self, transitions: Transitions, stop: int, may_end: int | None) -> list[int]:
        waiting = []
        ends = zip(transitions.terminateds, transitions.truncateds, strict=True)
        for index, (terminated, truncated) in enumerate(ends):
            if (terminated or truncated) and self.num_ended != may_end:
                start, is_begun = self._starts[index], self._is_begun[index]
                self._over.append(
                    Stretch(index, start, stop, is_begun, True, terminated, truncated)
                )
                self.num_ended += 1
                waiting.append(index)
        return waiting

    def stretches(self) -> list[Stretch]:
        """The stretches of episodes that ended, in order, and then of those that go on."""
        stop = len(self)
        waiting = set(self._waiting)
        return self._over + [
            Stretch(index, start, stop, self._is_begun[index], False, False, False)
            for index, start in enumerate(self._starts)
            if index not in waiting
        ]

    def is_last(self, stretch: Stretch) -> bool:
        """Whether it goes up to the block's last step."""
        return stretch.stop == len(self)

    def columns(self, weights_seq_no: tuple[str, int]) -> BlockColumns:
        """What was collected, as columns.

        Args:
            weights_seq_no: A column that is the same for all steps: its name and value.
        """
        first = self._outputs[0]
        outputs = {
            name: _by_env([outputs_of[name] for outputs_of in self._outputs]) for name in first
        }
        name, value = weights_seq_no
        outputs[name] = np.full((len(self._starts), len(self)), value)
        return BlockColumns(
            _by_env(self._observations),
            _by_env(self._actions),
            np.ascontiguousarray(np.array(self._rewards).T),
            self._infos,
            outputs,
            self._times,
        )


class BlockColumns(NamedTuple):
    """The columns of a block: for each environment its steps, one after the other.

    There is one observation more than steps. Infos are by step and environment.
    """

    observations: Nest
    actions: Array
    rewards: Array
    infos: list[list[dict[str, Any]]]
    outputs: dict[str, Nest]
    times: list[float]


def _by_env(rows: Sequence[Any]) -> Nest:
    if type(rows[0]) is np.ndarray:
        if len(rows) == 1:
            return rows[0][:, None]
        return np.ascontiguousarray(np.array(rows).swapaxes(0, 1))
    return nest.map_structure(lambda *leaves: _by_env(leaves), *rows)
