"""A triple of the new stack, taken step by step: what each stage of it gives."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core import array_namespace as xp
from ...core import nest
from ...core.arrays.batching import batch as batch_items
from ...core.columns import Columns
from ...core.spaces.text import short_space
from ...core.types import Nest
from ...legacy.connectors.agent.obs_preproc import ObsPreprocessorConnector
from ...legacy.policy.stages import stages_of
from ...v2.connectors.stateful_modules import is_stateful
from ..actor.episode_player import RunningEpisodes
from ..actor.module_brain import values_of
from ..triple import V2Triple
from ..wrap.policy_module import LegacyPolicyModule

_LSTM = ("h", "c")


class V2Stages:
    """The stages of a copy of a triple for one agent; of the triple itself where `is_mine`.

    While it `is_at_rest`, as where one compares, its filters stand still; they learn otherwise.
    """

    def __init__(
        self, triple: V2Triple | Sequence[Any], name: str = "", *, is_mine: bool = False
    ) -> None:
        given = V2Triple.of(triple)
        self.triple = (given if is_mine else copy.deepcopy(given)).with_pipelines()
        self.env_to_module, self.module, self.module_to_env = self.triple
        kind = type(self.module).__name__
        if isinstance(self.module, LegacyPolicyModule):
            kind = f"{self.module.policy.algorithm} {self.module.policy.name}"
        self.name = name or f"{kind} (new stack)"
        self._filters = [
            piece for piece in _pieces(self.env_to_module) if getattr(piece, "update_stats", False)
        ]
        self.is_at_rest = False
        self._running = RunningEpisodes(self.triple)

    @property
    def observation_space(self) -> Any:
        """What an environment gives it."""
        return self.triple.observation_space

    @property
    def action_space(self) -> Any:
        """What an environment takes from it."""
        return self.triple.action_space

    def pieces(self) -> list[tuple[str, str]]:
        """Pieces, with the module between them."""
        count = sum(np.size(weight) for weight in nest.flatten(self.module.get_state()))
        return [
            ("environment", short_space(self.observation_space)),
            *((type(piece).__name__, _detail(piece)) for piece in _pieces(self.env_to_module)),
            (type(self.module).__name__, f"{count:,} numbers"),
            *((type(piece).__name__, _detail(piece)) for piece in _pieces(self.module_to_env)),
            ("environment", short_space(self.action_space)),
        ]

    def reset(self, slots: Sequence[Hashable]) -> None:
        """Begin an episode in each slot."""
        self._running.forget(slots)

    def step(
        self, slots: Sequence[Hashable], observations: Sequence[Nest], rewards: Sequence[Any] | None
    ) -> dict[str, Nest]:
        """Act in some slots without exploring: arrays by stage, one row a slot."""
        all_rewards = [None] * len(slots) if rewards is None else rewards
        earned = [0.0 if reward is None else reward for reward in all_rewards]
        episodes = self._running.seen(slots, observations, earned)
        with self._filters_at_rest():
            batch, columns = self._running.passed(episodes, self.module.forward_inference)
        observed, values = self._seen(batch), values_of(self.module, batch)
        actions = columns.pop(Columns.ACTIONS)
        for_env = columns.pop(Columns.ACTIONS_FOR_ENV, actions)
        self._running.did(slots, actions, columns)
        outputs = {
            name: batch_items(list(column))
            for name, column in columns.items()
            if name in (Columns.ACTION_DIST_INPUTS, Columns.VF_PREDS, "q_values")
        }
        for name, column in (("q_values", "qf_preds"), (Columns.VF_PREDS, Columns.VF_PREDS)):
            if column in values:
                outputs.setdefault(name, values[column])
        states = columns.get(Columns.STATE_OUT)
        carried = [] if states is None else self._states(batch_items(list(states)))
        return stages_of(observed, outputs, carried, nest.map_structure(np.asarray, for_env))

    @contextmanager
    def _filters_at_rest(self) -> Iterator[None]:
        for piece in self._filters:
            piece.update_stats = not self.is_at_rest
        try:
            yield
        finally:
            for piece in self._filters:
                piece.update_stats = True

    def _seen(self, batch: Mapping[str, Any]) -> Nest:
        """The observations as the module gets them, one row a slot."""
        observations = nest.map_structure(
            lambda leaf: np.array(xp.to_numpy(leaf) if xp.is_tensor(leaf) else leaf),
            batch[Columns.OBS],
        )
        if is_stateful(self.module):
            return nest.map_structure(lambda leaf: leaf[:, 0], observations)
        return observations

    def _states(self, state: Any) -> list[Any]:
        """States as an old policy would give them, where there is a like one."""
        if isinstance(self.module, LegacyPolicyModule):
            return self.module.policy_states(state)
        actor_state = state.get("actor", state)
        if set(actor_state) == set(_LSTM):  # with an axis for one layer
            return [actor_state[name].reshape(len(actor_state[name]), -1) for name in _LSTM]
        return nest.flatten(state)


def without_checks(triple: V2Triple) -> V2Triple:
    """The triple, whose wrapped preprocessors no longer check observations now and then.

    That an adapter leads out of a policy's space is something to look at in a proof, no error.
    """
    for piece in _pieces(triple.env_to_module):
        wrapped = getattr(piece, "connector", None)
        for connector in getattr(wrapped, "connectors", [wrapped]):
            if isinstance(connector, ObsPreprocessorConnector):
                connector.stop_checking()
    return triple


def _pieces(pipeline: Any) -> list[Any]:
    return list(getattr(pipeline, "connectors", [pipeline]))


def _detail(piece: Any) -> str:
    chain = getattr(piece, "chain", None)
    if chain is not None:
        return ", ".join(type(step).__name__ for step in chain.obs or chain.action or chain.reward)
    wrapped = getattr(piece, "connector", None)
    inner = getattr(wrapped, "connectors", [wrapped] if wrapped is not None else [])
    return ", ".join(type(connector).__name__ for connector in inner)
