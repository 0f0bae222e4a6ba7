"""From an old trainer config and a saved state to the exploration a policy acts with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from ...core.data.checked import number
from ...core.data.damage import at
from ...core.errors import ConfigError, UnknownNameError
from ...core.formulas.schedules import class_name
from ...core.registry import Registry
from .exploration import (
    ActionSource,
    Choice,
    EpsilonGreedy,
    Exploration,
    PerWorkerEpsilonGreedy,
    Random,
    SoftQ,
    StochasticSampling,
    ThompsonSampling,
    UpperConfidenceBound,
)
from .noise import (
    GaussianNoise,
    OrnsteinUhlenbeckNoise,
    PerWorkerGaussianNoise,
    PerWorkerOrnsteinUhlenbeckNoise,
)

Settings = Mapping[str, Any]
_GIVEN: Final = frozenset(
    {"self", "action_space", "policy_config", "num_workers", "worker_index", "settings", "kwargs"}
)


class ParameterNoise(Exploration):
    """Noise on the weights, which a restored policy does not have: acts as its sub-exploration.

    Ray draws weight noise when a training episode starts; between that and now only the size of
    the noise (`cur_stddev`) is saved, and it is kept.

    Args:
        action_space: Where the actions go.
        sub: What explores on top of the noisy weights.
        cur_stddev: Standard deviation of the weight noise.
    """

    state_keys = ("cur_stddev",)

    def __init__(
        self, action_space: Space[Any], *, sub: Exploration, cur_stddev: float = 1.0
    ) -> None:
        super().__init__(action_space)
        self.sub: Final = sub
        self.cur_stddev = float(cur_stddev)

    def prepare(self, inputs: Any) -> Any:
        """Whatever the sub-exploration does."""
        return self.sub.prepare(inputs)

    def choose(self, source: ActionSource, **how: Any) -> Choice:
        """Whatever the sub-exploration does."""
        return self.sub.choose(source, **how)

    @at()
    def set_state(self, state: Mapping[str, Any], sess: Any = None) -> None:
        """Restore a saved state."""
        super().set_state(state)
        with at("cur_stddev"):
            self.cur_stddev = number(state.get("cur_stddev", self.cur_stddev))


class AbsentExploration(Exploration):
    """Placeholder for a missing custom class; only supports greedy actions."""

    def __init__(self, action_space: Space[Any], *, name: str) -> None:
        super().__init__(action_space)
        self.name: Final = name

    def _explore(self, source: ActionSource, rng: np.random.Generator) -> Choice:
        raise UnknownNameError(
            f"the policy explores by the class {self.name!r}, which is not here",
            hint="act with explore=False, or choose another: Policy.from_checkpoint(path, "
            'config={"exploration_config": {"type": "StochasticSampling"}}).',
            name=self.name,
        )


def exploration_for(
    action_space: Space[Any],
    config: Settings | None = None,
    state: Settings | None = None,
) -> Exploration:
    """The exploration of a policy.

    Args:
        action_space: The policy's action space.
        config: The trainer config; `exploration_config` says what to do (default: sample), the
            number of workers and `worker_index` matter to the per-worker kinds.
        state: The checkpoint's `_exploration_state`.

    Example:
        >>> config = {"exploration_config": {"type": "EpsilonGreedy", "epsilon_timesteps": 100}}
        >>> exploration_for(Discrete(2), config, {"last_timestep": 50}).get_state()
        {'cur_epsilon': 0.525, 'last_timestep': 50}
    """
    config = config or {}
    built = _build(action_space, config.get("exploration_config") or {}, config)
    if state:
        built.set_state(state)
    return built


def _build(space: Space[Any], settings: Settings, config: Settings) -> Exploration:
    kind = settings.get("type", "StochasticSampling")
    if isinstance(kind, Exploration):
        return kind
    if isinstance(kind, type) and issubclass(kind, Exploration):
        return _made(kind, space, settings, config)
    if isinstance(kind, str) and "." in kind and class_name(kind) not in EXPLORATIONS:
        return AbsentExploration(space, name=kind)
    return EXPLORATIONS.get(class_name(kind))(space, settings, config)


def _made(
    kind: type[Exploration], space: Space[Any], settings: Settings, config: Settings
) -> Exploration:
    """An exploration of some class, with those settings that are of this kind.

    Other keys are left-overs of another kind: Ray merges exploration configs and ignores them.
    """
    if kind.get_exploration_action is not Exploration.get_exploration_action:
        raise ConfigError(
            f"{kind.__name__} overrides get_exploration_action(), which policies do not ask here",
            expected="choose(source, explore=, timestep=, rng=)",
            hint="override choose() of rlconnect.legacy.Exploration.",
        )
    constructors = [
        vars(base)["__init__"] for base in kind.__mro__[:-1] if "__init__" in vars(base)
    ]
    parameters = {
        name for constructor in constructors for name in signature(constructor).parameters
    } - _GIVEN
    counts = [config.get(k) for k in ("num_env_runners", "num_rollout_workers", "num_workers")]
    return kind(
        space,
        policy_config=config,
        num_workers=next((count for count in counts if isinstance(count, int)), 0),
        worker_index=int(config.get("worker_index") or 0),
        **{name: value for name, value in settings.items() if name in parameters},
    )


def _parameter_noise(space: Space[Any], settings: Settings, config: Settings) -> Exploration:
    sub = settings.get("sub_exploration") or _below_noise(
        space, int(settings.get("random_timesteps", 10_000))
    )
    stddev = float(settings.get("initial_stddev", 1.0))
    return ParameterNoise(space, sub=_build(space, sub, config), cur_stddev=stddev)


def _below_noise(space: Space[Any], wait: int) -> Settings:
    if isinstance(space, Discrete):
        steps = {
            "type": "PiecewiseSchedule",
            "endpoints": [(0, 1.0), (wait + 1, 1.0), (wait + 2, 0.01)],
            "outside_value": 0.01,
        }
        return {"type": "EpsilonGreedy", "epsilon_schedule": steps}
    if isinstance(space, Box):
        return {"type": "OrnsteinUhlenbeckNoise", "random_timesteps": wait}
    raise ConfigError(
        "ParameterNoise needs a sub_exploration for this action space", found=str(space)
    )


def _wrapped(space: Space[Any], settings: Settings, config: Settings) -> Exploration:
    # Curiosity and its like change rewards in training; they act through their sub-exploration.
    return _build(space, settings.get("sub_exploration") or {}, config)


_KINDS: Final[Mapping[str, Callable[[Space[Any], Settings, Settings], Exploration]]] = {
    "Curiosity": _wrapped,
    "ParameterNoise": _parameter_noise,
    "RE3": _wrapped,
    **{
        kind.__name__: partial(_made, kind)
        for kind in (
            EpsilonGreedy,
            GaussianNoise,
            OrnsteinUhlenbeckNoise,
            PerWorkerEpsilonGreedy,
            PerWorkerGaussianNoise,
            PerWorkerOrnsteinUhlenbeckNoise,
            Random,
            SoftQ,
            StochasticSampling,
            ThompsonSampling,
            UpperConfidenceBound,
        )
    },
}
EXPLORATIONS: Final = Registry[Exploration]("exploration", _KINDS)
