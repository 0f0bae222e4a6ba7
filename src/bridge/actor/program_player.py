"""An exported program acting for many slots."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ...core import array_namespace as xp
from ...core import nest
from ...core.errors import PieceError
from ...core.step.plan import ActPlan
from ...core.step.slots import Key, Slots
from ...core.types import Nest
from ...legacy.batches.step_rows import zero_of
from ..exported.opened import Artifact
from .player import SlotPlayer, Turn, arrays_kind


class ProgramPlayer(SlotPlayer):
    """A `.onnx` or `.pt2` file that acts; it always takes the best action."""

    def __init__(self, program: Artifact) -> None:
        start = program.states
        plan = ActPlan(
            program.name,
            program.observation_space,
            program.action_space,
            _NoBrain(),
            origin=program.manifest.get("origin", {}),
        )
        super().__init__(plan, is_planned=True)
        self.program = program
        self.slots = Slots(list(start.values()))
        self._states = list(start)
        self.remembers = bool(start)
        self._inputs = [port["name"] for port in program.manifest["inputs"]]
        self.needs_reward = "reward" in self._inputs
        self._actions = [
            port["name"]
            for port in program.manifest["outputs"]
            if not port["name"].startswith("next_state.")
        ]
        self._action = zero_of(program.action_space)

    @property
    def policy(self) -> Artifact:
        """The exported program."""
        return self.program

    @property
    def memory_kind(self) -> Hashable:
        """The names of its states, with what a row of each is."""
        return arrays_kind(self._states, self.slots.start)

    def act(self, obs: Nest, turn: Turn) -> Nest:
        """Actions for observations with a leading axis."""
        keys, reward, ended, explore, _, starts_anew = turn
        if explore:
            raise PieceError(
                "an exported program does not explore",
                expected="explore=False",
                hint="load the checkpoint that it was exported from.",
            )
        count = len(nest.a_leaf(obs))
        inputs = dict(nest.named_leaves("obs", nest.map_structure(xp.to_numpy, obs)))
        rows: Any = None
        if self.remembers:
            rows = self.slots.rows(count if keys is None else keys)
            if ended is not None:
                ended = np.asarray(xp.to_numpy(ended), bool)
                if starts_anew:
                    self.slots.end(rows, ended)
            inputs["first"] = self.slots.first[rows]
            memory = zip(self._states, self.slots.memory, strict=True)
            inputs.update({f"state.{name}": column[rows] for name, column in memory})
        if self.needs_reward:
            first = inputs["first"] if self.remembers else np.zeros(count, bool)
            inputs["reward"] = xp.to_numpy(self.earned(reward, first, count))
        outputs = self.program(**{name: inputs[name] for name in self._inputs})
        if self.remembers:
            self.slots.keep(rows, [outputs[f"next_state.{name}"] for name in self._states])
            if ended is not None and not starts_anew:
                self.slots.end(rows, ended)
        return nest.unflatten_as(self._action, [outputs[name] for name in self._actions])

    def remember(self, keys: Sequence[Key], actions: Any) -> None:
        """Take other actions for those of the last step, where it remembers them at all."""
        if "actions" in self._states:
            rows = self.slots.rows(keys)
            self.slots.memory[self._states.index("actions")][rows, -1] = actions

    def to(self, device: str | None) -> None:
        """Stay where it was exported to run: on the host."""
        if device not in (None, "cpu"):
            raise PieceError(
                "an exported program runs on the host",
                expected="'cpu'",
                found=str(device),
                hint="compile_actor(actor, device=...) runs the policy itself on a device.",
            )


class _NoBrain:
    """A program computes by itself; there is only its count of steps to keep."""

    timestep = 0

    def __getattr__(self, name: str) -> Any:
        raise PieceError("an exported program does not show its network", hint="load its source.")
