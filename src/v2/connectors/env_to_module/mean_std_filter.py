"""Observations standardised by a running mean and deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Space
from typing_extensions import override

from ....core import nest
from ....core.arrays.moments import V2_VARIANCE, Moments, VarianceRule
from ....core.data.damage import at
from ....core.errors import ConfigError, PieceError, SpaceError, UnknownNameError
from ....core.formulas.filters import FrozenFilter, filter_running
from ....core.formulas.running_stat import RunningStat, moments_since_merge
from ....core.spaces.walk import leaf_spaces, zeros_like
from ....core.step.part import NOTHING, Contribution, filter_part
from ....core.types import Array
from ...episodes.column_items import stacked
from ...saving.checkpointable import Components
from ..batch_items import single_agent_episode_iterator
from ..common.written_observations import LastObservations, by_agent, own_space
from ..connector import ConnectorV2


class UnknownAgentError(PieceError, UnknownNameError, KeyError):
    """There are no statistics for an agent."""


class MeanStdFilter(ConnectorV2):
    """Write each last observation into its episode minus the mean, divided by the deviation.

    Statistics are counted agent by agent, and each observation counts before it is filtered: the
    very first one becomes 0.

    Args:
        input_observation_space: Of what comes in; by agent id for several agents.
        multi_agent: Whether spaces are by agent id.
        de_mean_to_zero: Whether to subtract the mean.
        de_std_to_one: Whether to divide by the deviation.
        clip_by_value: Bound of the result on both sides; None for none.
        update_stats: Whether observations are counted.
        lone_variance: The variance of fewer than two observations: "zero", or "mean_squared" as
            filters of the old stack have it.
        is_narrow: Whether variances are rounded to float32; old filters mostly kept float64.

    Example:
        >>> piece = MeanStdFilter(spaces.Box(-100.0, 100.0, (2,)), clip_by_value=5.0)
        >>> float(piece.observation_space.high[0])
        5.0
    """

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        multi_agent: bool = False,
        de_mean_to_zero: bool = True,
        de_std_to_one: bool = True,
        clip_by_value: float | None = 10.0,
        update_stats: bool = True,
        lone_variance: Literal["zero", "mean_squared"] = "zero",
        is_narrow: bool = True,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.multi_agent = multi_agent
        self.de_mean_to_zero = de_mean_to_zero
        self.de_std_to_one = de_std_to_one
        self.clip_by_value = clip_by_value
        self.update_stats = update_stats
        self.lone_variance: Literal["zero", "mean_squared"] = lone_variance
        self.is_narrow = is_narrow
        # By agent id, None for a single agent; in the order of an observation's leaves.
        self._stats: dict[Any, list[RunningStat]] = {}

    @override
    def recompute_output_observation_space(
        self, input_observation_space: Space[Any], input_action_space: Space[Any]
    ) -> Any:
        return self._output_space(input_observation_space)

    def _output_space(self, space: Any) -> Any:
        if isinstance(space, spaces.Dict):
            parts = space.spaces.items()
            return spaces.Dict({key: self._output_space(part) for key, part in parts})
        if isinstance(space, spaces.Tuple):
            return spaces.Tuple([self._output_space(part) for part in space.spaces])
        dtype = np.dtype(space.dtype)
        if dtype.kind not in "fi" or space.shape is None:
            raise SpaceError(
                f"{type(self).__name__} makes numbers of either sign",
                expected="a space of floats or signed integers",
                found=str(space),
                hint="cast the observations before it.",
            )
        bound = np.inf if self.clip_by_value is None else self.clip_by_value
        if dtype.kind == "i":
            bound = min(bound, np.iinfo(dtype).max)
        return spaces.Box(-bound, bound, space.shape, dtype.type)

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        for agent_id, episodes_of in by_agent(single_agent_episode_iterator(episodes)).items():
            self._filter(agent_id, episodes_of)
        return batch

    def _filter(self, agent_id: Any, episodes: Sequence[Any]) -> None:
        """Filter the last observations of one agent, in the order of the episodes."""
        stats = self.stats_of(agent_id)
        last = LastObservations(episodes)
        observations = last.seen
        space = own_space(self.observation_space, episodes[0])
        if len(stats) == 1 and {*map(type, observations)} == {np.ndarray}:
            stack = stacked(observations) if len(observations) > 1 else observations[0][None]
            rows = self._rows(stats[0], stack)
            last.replace(rows if rows.ndim > 1 else map(np.asarray, rows), space)
            return
        columns = zip(*map(nest.flatten, observations), strict=True)
        filtered = [
            self._rows(stat, np.stack([np.asarray(leaf) for leaf in leaves]))
            for stat, leaves in zip(stats, columns, strict=True)
        ]
        new = [
            nest.unflatten_as(old, [np.asarray(rows[place]) for rows in filtered])
            for place, old in enumerate(observations)
        ]
        last.replace(new, space)

    def _rows(self, stat: RunningStat, rows: Array) -> Array:
        if self.update_stats:
            demean, destd, clip = self.de_mean_to_zero, self.de_std_to_one, self.clip_by_value
            rule = self.variance_rule
            return filter_running(stat, rows, rule=rule, demean=demean, destd=destd, clip=clip)
        return np.asarray(self._frozen(stat)(rows))

    def _frozen(self, stat: RunningStat) -> FrozenFilter:
        return FrozenFilter.of(
            stat,
            rule=self.variance_rule,
            demean=self.de_mean_to_zero,
            destd=self.de_std_to_one,
            clip=self.clip_by_value,
        )

    def part(self) -> Contribution:
        """Return the transformation with frozen statistics as data, for a single agent."""
        filters = [*map(self._frozen, self.stats_of(None))]
        space = self.input_observation_space
        is_nested = isinstance(space, (spaces.Dict, spaces.Tuple))
        by_leaf = nest.unflatten_as(zeros_like(space), filters) if is_nested else filters[0]
        part = filter_part(type(self).__name__, by_leaf)
        return NOTHING if part is None else Contribution(obs=(part,))

    @property
    def num_counted(self) -> int:
        """Number of observations, over all agents."""
        return sum(stats[0].num_pushes for stats in self._stats.values() if stats)

    @property
    def variance_rule(self) -> VarianceRule:
        """The rule for the variance of few observations."""
        if self.lone_variance == "zero" and self.is_narrow:
            return V2_VARIANCE
        return VarianceRule(
            self.lone_variance, np.dtype(np.float32 if self.is_narrow else np.float64)
        )

    def stats_of(self, agent_id: Any) -> list[RunningStat]:
        """Return the statistics of an agent, one per leaf; None stands for a single agent."""
        if agent_id not in self._stats:
            self._stats[agent_id] = [
                RunningStat(leaf.shape or (), tracks_delta=True)
                for _, leaf in leaf_spaces(self._space_of(agent_id))
            ]
        return self._stats[agent_id]

    def _expected_agents(self) -> list[Any]:
        """The agents whose observations are expected, according to the space."""
        space = self.input_observation_space
        if not self.multi_agent:
            return [] if space is None else [None]
        return list(space.spaces) if isinstance(space, spaces.Dict) else []

    def _space_of(self, agent_id: Any) -> Any:
        space = self.input_observation_space
        if space is None:
            raise PieceError(
                f"{type(self).__name__} does not know the observation space",
                hint="set input_observation_space of the piece or its pipeline.",
            )
        if self.multi_agent == (agent_id is None):
            raise UnknownAgentError(
                f"{type(self).__name__}(multi_agent={self.multi_agent}) met an episode of "
                + ("a single agent" if agent_id is None else f"agent {agent_id!r}"),
                hint=f"use multi_agent={not self.multi_agent}.",
            )
        if agent_id is None:
            return space
        if agent_id not in space.spaces:
            raise UnknownAgentError(
                f"{type(self).__name__} knows no space of agent {agent_id!r}",
                expected=f"one of {list(space.spaces)}",
            )
        return space[agent_id]

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[Any, Any]:
        """Return settings and statistics by agent id, None for a single agent."""
        for agent_id in self._expected_agents():
            self.stats_of(agent_id)
        return {
            agent_id: {
                # An array, as RLlib has it: it takes a tuple for a nest of shapes.
                "shape": _shapes(stats) if len(stats) != 1 else _shapes(stats)[0],
                **self._settings(),
                "running_stats": [stat.to_state("v2") for stat in stats],
            }
            for agent_id, stats in self._stats.items()
        }

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments; settings that RLlib does not have are left out where unused."""
        args, kwargs = super().get_ctor_args_and_kwargs()
        for name, usual in (("lone_variance", "zero"), ("is_narrow", True)):
            if kwargs.get(name) == usual:
                del kwargs[name]
        return args, kwargs

    def _settings(self) -> dict[str, Any]:
        return {
            "de_mean_to_zero": self.de_mean_to_zero,
            "de_std_to_one": self.de_std_to_one,
            "clip_by_value": self.clip_by_value,
        }

    @override
    def set_state(self, state: Mapping[Any, Any]) -> None:
        """Take statistics over; what is counted from here on is what the next merge adds."""
        fresh = {}
        for agent_id, agent_state in state.items():
            with at(agent_id, "running_stats"):
                fresh[agent_id] = self._stats_from(agent_id, agent_state["running_stats"])
        self._stats.update(fresh)

    def _stats_from(self, agent_id: Any, states: Sequence[Any]) -> list[RunningStat]:
        stats = [RunningStat.from_state(each, with_delta=False) for each in states]
        if agent_id in self._expected_agents():
            leaves = leaf_spaces(self._space_of(agent_id))
            shapes = [leaf.shape or () for _, leaf in leaves], [stat.shape for stat in stats]
            if shapes[0] != shapes[1]:
                raise ValueError(f"statistics of shapes {shapes[0]} were expected, not {shapes[1]}")
        for stat in stats:
            stat.start_delta()
        return stats

    @override
    def reset_state(self) -> None:
        """Forget all observations.

        Raises:
            ConfigError: It does not count any, so it could never be of use again.
        """
        if not self.update_stats:
            raise ConfigError(
                f"{type(self).__name__} cannot be reset with update_stats=False",
                hint="its statistics would never come back.",
            )
        self._stats.clear()

    @override
    def merge_states(self, states: Sequence[Mapping[Any, Any]]) -> dict[Any, Any]:
        """Count what other filters have counted since their states were last set.

        Args:
            states: Of filters with the same settings as each other.

        Returns:
            The state of this filter, which has changed, for all of them.

        Raises:
            ConfigError: The states are of filters with different settings.
        """
        by_agent_id: dict[Any, list[list[Moments]]] = {}
        common: dict[Any, dict[str, Any]] = {}
        for agent_id, agent_state in (
            (key, agent_state) for state in states for key, agent_state in state.items()
        ):
            settings = {key: agent_state[key] for key in self._settings()}
            expected = common.setdefault(agent_id, settings)
            if settings != expected:
                raise ConfigError(
                    f"{type(self).__name__} merges filters of the same settings only",
                    expected=str(expected),
                    found=str(settings),
                )
            moments = [moments_since_merge(each) for each in agent_state["running_stats"]]
            by_agent_id.setdefault(agent_id, []).append(moments)
        for agent_id, others in by_agent_id.items():
            if agent_id not in self._stats:
                self._stats[agent_id] = [
                    RunningStat(first.mean.shape, tracks_delta=True) for first in others[0]
                ]
            for stat, streams in zip(self._stats[agent_id], zip(*others, strict=True), strict=True):
                stat.merge(Moments.of_all(streams))
        return self.get_state()


def _shapes(stats: Sequence[RunningStat]) -> list[Array]:
    return [np.array(stat.shape, np.int64) for stat in stats]
