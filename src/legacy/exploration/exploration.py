"""How an old-stack policy explores when it acts, rebuilt from its config and saved state.

An exploration picks actions from an `ActionSource` (a distribution bound to its inputs, numpy or
torch) with an explicit random generator. Its settings never change; `get_state` holds what does.
Noises on real-valued actions: `exploration_noise.py`; from a config: `exploration_config.py`;
`policy/acting.py` turns the result into what a policy returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Protocol

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from ...core import nest
from ...core.data.checked import count, mapping
from ...core.data.damage import at
from ...core.errors import ConfigError, SpaceError
from ...core.formulas.schedules import ConstantSchedule, PiecewiseSchedule, Schedule, schedule_from
from ...core.importing.torch_needed import torch_needed
from ...core.types import Array
from ..distributions.action_leaves import leaf_spaces, nest_leaves
from ..distributions.families import Family


def random_actions(space: Space[Any], batch_size: int, rng: np.random.Generator) -> Any:
    """One random action a row, nested like the space.

    Bounded components are uniform, half-bounded ones exponential, unbounded ones normal, as
    Gymnasium samples them. Integers leave as int32 and reals as float32, like a policy's.
    """
    return nest_leaves(space, [_leaf(leaf, batch_size, rng) for leaf in leaf_spaces(space)])


def _leaf(space: Space[Any], batch_size: int, rng: np.random.Generator) -> Array:
    if isinstance(space, Discrete):
        return np.asarray(rng.integers(0, space.n, batch_size) + space.start, np.int32)
    if isinstance(space, MultiDiscrete):
        nvec = np.asarray(space.nvec)
        drawn = rng.integers(0, nvec, (batch_size, *nvec.shape)) + getattr(space, "start", 0)
        return np.asarray(drawn, np.int32)
    if isinstance(space, MultiBinary):
        return rng.integers(0, 2, (batch_size, *(space.shape or ())), np.int8)
    if isinstance(space, Box):
        return _box(space, batch_size, rng)
    if type(space).__name__ == "Simplex":
        drawn = rng.standard_exponential((batch_size, *(space.shape or ())))
        return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True), np.float32)
    raise SpaceError(
        "random actions cannot be drawn from this space",
        expected="Discrete, MultiDiscrete, MultiBinary, Box, Simplex, or a Dict or Tuple of them",
        found=str(space),
    )


def _box(space: Box, batch_size: int, rng: np.random.Generator) -> Array:
    shape = (batch_size, *space.shape)
    if np.issubdtype(space.dtype or np.float32, np.integer):
        lowest, highest = space.low.astype(np.int64), space.high.astype(np.int64)
        drawn = rng.integers(lowest, highest, shape, np.int64, endpoint=True)
        return np.asarray(drawn, np.int32 if space.dtype == np.int64 else space.dtype)
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    above, below = np.isfinite(low), np.isfinite(high)
    floor, ceiling = np.where(above, low, 0.0), np.where(below, high, 0.0)
    even = rng.uniform(floor, np.maximum(ceiling, floor), shape)
    free = np.where(
        above,
        floor + rng.standard_exponential(shape),
        np.where(below, ceiling - rng.standard_exponential(shape), rng.standard_normal(shape)),
    )
    return np.where(above & below, even, free).astype(np.float32)


Choice = tuple[Any, Array]

MASKED_Q: Final = np.float32(-3.4e38)
"""An action value that low means: this action is not allowed."""


class ActionSource(Protocol):
    """A distribution over actions together with its inputs."""

    @property
    def inputs(self) -> Array:
        """Distribution inputs, (B, n)."""

    def deterministic(self) -> Any:
        """The actions taken without exploration, arrays nested like the space."""

    def sample(self) -> Choice:
        """Random actions and their log-probabilities (B,)."""


class ArraySource:
    """An `ActionSource` on numpy arrays."""

    def __init__(self, distribution: Family, inputs: Array, rng: np.random.Generator) -> None:
        self.distribution, self.inputs, self.rng = distribution, inputs, rng

    def deterministic(self) -> Any:
        """The actions taken without exploration."""
        return self.distribution.deterministic(self.inputs)

    def sample(self) -> Choice:
        """Random actions and their log-probabilities."""
        actions, logp = self.distribution.sample_with_logp(self.inputs, self.rng)
        return actions, logp.astype(np.float32, copy=False)


class Exploration:
    """Base: acts without exploring, counts timesteps.

    Args:
        action_space: Where the actions go.
        framework: Only torch and numpy are there.
        policy_config: The trainer config.
        model: The network whose actions these are.
        num_workers: How many rollout workers there are.
        worker_index: Which of them this is.

    Example:
        >>> import torch
        >>> from rlconnect.legacy import TorchCategorical
        >>> greedy = EpsilonGreedy(Discrete(2), initial_epsilon=0.0, final_epsilon=0.0)
        >>> dist = TorchCategorical(torch.tensor([[0.0, 1.0]]))
        >>> greedy.get_exploration_action(action_distribution=dist, timestep=1)
        (tensor([1]), tensor([0.]))
    """

    state_keys: ClassVar[tuple[str, ...]] = ()
    random_timesteps: int = 0
    """Before this timestep an exploring policy acts at random."""

    def __init__(
        self,
        action_space: Space[Any],
        *,
        framework: str | None = "torch",
        policy_config: Mapping[str, Any] | None = None,
        model: Any = None,
        num_workers: int = 0,
        worker_index: int = 0,
    ) -> None:
        self.action_space: Final = action_space
        self.framework = framework
        self.policy_config = policy_config or {}
        self.model = model
        self.num_workers = num_workers
        self.worker_index = worker_index
        self.last_timestep = 0

    def prepare(self, inputs: Any) -> Any:
        """Transform distribution inputs; by default they are unchanged."""
        return inputs

    def choose(
        self,
        source: ActionSource,
        *,
        explore: bool,
        timestep: int | None,
        rng: np.random.Generator,
    ) -> Choice:
        """Pick one action a row.

        Args:
            source: The distribution, its inputs already passed through `prepare`.
            explore: False takes the deterministic action.
            timestep: The policy's global timestep; None counts on from the last one.
            rng: Where random numbers come from.

        Returns:
            Actions, and the log-probabilities Ray reports: zeros wherever it did not sample.
        """
        self.see_timestep(timestep)
        if not explore:
            return source.deterministic(), no_logp(source)
        if self.last_timestep < self.random_timesteps:
            return random_actions(self.action_space, len(source.inputs), rng), no_logp(source)
        return self._explore(source, rng)

    def see_timestep(self, timestep: int | None) -> None:
        """Take note of the policy's global timestep; None counts on from the last one."""
        self.last_timestep = self.last_timestep + 1 if timestep is None else int(timestep)

    def _explore(self, source: ActionSource, rng: np.random.Generator) -> Choice:
        return source.sample()

    def get_exploration_action(
        self, *, action_distribution: Any, timestep: Any = None, explore: bool = True
    ) -> tuple[Any, Any]:
        """Actions and log-probabilities as tensors, from one of the `Torch...` distributions.

        Args:
            action_distribution: Built from inputs and model.
            timestep: The policy's global timestep; None counts on from the last one.
            explore: False takes the deterministic action.
        """
        with torch_needed("exploring in tensors"):
            from .tensors import tensor_choice

        return tensor_choice(self, action_distribution, timestep=timestep, explore=explore)

    def get_state(self, sess: Any = None) -> dict[str, Any]:
        """Return the `_exploration_state` of a checkpoint."""
        return {name: getattr(self, name) for name in self.state_keys}

    @at()
    def set_state(self, state: Mapping[str, Any], sess: Any = None) -> None:
        """Restore the `_exploration_state` of a checkpoint."""
        if "last_timestep" in mapping(state):
            with at("last_timestep"):
                self.last_timestep = count(state["last_timestep"])


def no_logp(source: ActionSource) -> Array:
    """Zeros, (B,): the log-probability Ray reports where nothing was sampled."""
    return np.zeros(len(source.inputs), np.float32)


class StochasticSampling(Exploration):
    """Sample from the action distribution; before `random_timesteps` from the space."""

    def __init__(
        self, action_space: Space[Any], *, random_timesteps: int = 0, **settings: Any
    ) -> None:
        super().__init__(action_space, **settings)
        self.random_timesteps = random_timesteps


class SoftQ(StochasticSampling):
    """Sample from Q values divided by a temperature, which the reported values are as well."""

    def __init__(
        self, action_space: Space[Any], *, temperature: float = 1.0, **settings: Any
    ) -> None:
        if temperature <= 0:
            raise ConfigError("SoftQ needs a temperature above 0", found=str(temperature))
        super().__init__(action_space, **settings)
        self.temperature: Final = float(temperature)

    def prepare(self, inputs: Any) -> Any:
        """The inputs divided by the temperature."""
        return inputs if self.temperature == 1.0 else inputs / self.temperature


class UpperConfidenceBound(Exploration):
    """The best action: a bandit's scores hold what is not known of its arms already."""

    def _explore(self, source: ActionSource, rng: np.random.Generator) -> Choice:
        return source.deterministic(), no_logp(source)


class ThompsonSampling(Exploration):
    """Sample: a bandit's distribution draws what each arm is worth, and takes the best."""


class Random(Exploration):
    """Uniformly random actions."""

    def _explore(self, source: ActionSource, rng: np.random.Generator) -> Choice:
        return random_actions(self.action_space, len(source.inputs), rng), no_logp(source)


class EpsilonGreedy(Exploration):
    """With probability epsilon a random action, else the greedy one.

    Args:
        action_space: Where the actions go.
        initial_epsilon: Epsilon until the warm-up is over.
        final_epsilon: Epsilon from the end of the descent on.
        warmup_timesteps: Timestep at which the decay starts.
        epsilon_timesteps: Duration of the decay.
        epsilon_schedule: A schedule of epsilon by timestep, or its description, instead.
        **settings: As of an `Exploration`.
    """

    state_keys = ("cur_epsilon", "last_timestep")

    def __init__(
        self,
        action_space: Space[Any],
        *,
        initial_epsilon: float = 1.0,
        final_epsilon: float = 0.05,
        warmup_timesteps: int = 0,
        epsilon_timesteps: int = 100_000,
        epsilon_schedule: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__(action_space, **settings)
        done = warmup_timesteps + epsilon_timesteps
        ends = ((0, initial_epsilon), (warmup_timesteps, initial_epsilon), (done, final_epsilon))
        self.epsilon_schedule: Final[Schedule] = (
            schedule_from(epsilon_schedule)
            if epsilon_schedule
            else PiecewiseSchedule(ends, outside_value=final_epsilon)
        )

    @property
    def cur_epsilon(self) -> float:
        """Epsilon now."""
        return float(self.epsilon_schedule.value(self.last_timestep))

    def _explore(self, source: ActionSource, rng: np.random.Generator) -> Choice:
        best = source.deterministic()
        rows = rng.random(len(source.inputs)) < self.cur_epsilon
        if not rows.any():
            return best, no_logp(source)
        greedy = nest.flatten(best)
        drawn = self._anything(source, rng)
        mixed = [
            np.where(rows.reshape(-1, *[1] * (g.ndim - 1)), d.reshape(g.shape), g).astype(g.dtype)
            for g, d in zip(greedy, drawn, strict=True)
        ]
        return nest_leaves(self.action_space, mixed), no_logp(source)

    def _anything(self, source: ActionSource, rng: np.random.Generator) -> list[Array]:
        if not isinstance(self.action_space, Discrete):
            leaves = leaf_spaces(self.action_space)
            return [random_actions(leaf, len(source.inputs), rng) for leaf in leaves]
        allowed = source.inputs > MASKED_Q
        lots = np.where(allowed, rng.random(allowed.shape), -1.0)
        return [lots.argmax(axis=-1)]


class PerWorkerEpsilonGreedy(EpsilonGreedy):
    """Epsilon-greedy with a fixed epsilon that each of several workers has its own of (Ape-X)."""

    def __init__(self, action_space: Space[Any], **settings: Any) -> None:
        super().__init__(action_space, **with_worker_schedule("epsilon_schedule", settings))


def with_worker_schedule(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with a fixed amount per worker as the schedule `name`, where there are workers.

    The local worker of several explores not at all.
    """
    count, index = settings.get("num_workers") or 0, settings.get("worker_index") or 0
    if count == 0:
        return dict(settings)
    amount = 0.4 ** (1 + (index - 1) / max(count - 1, 1) * 7) if index else 0.0
    return {**settings, name: ConstantSchedule(amount)}
