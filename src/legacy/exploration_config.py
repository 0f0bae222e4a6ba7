"""From an old trainer config and a saved state to the exploration a policy acts with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from gymnasium.spaces import Box, Discrete, Space

from ..core.errors import ConfigError
from ..core.registry import Registry
from .exploration import (
    ActionSource,
    Choice,
    EpsilonGreedy,
    Exploration,
    Random,
    SoftQ,
    StochasticSampling,
)
from .exploration_noise import GaussianNoise, OrnsteinUhlenbeckNoise
from .schedules import ConstantSchedule, PiecewiseSchedule, Schedule, class_name, schedule_from

Settings = Mapping[str, Any]
Worker = tuple[int, int]


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

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        super().set_state(state)
        self.cur_stddev = float(state.get("cur_stddev", self.cur_stddev))


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
    built = _build(action_space, config.get("exploration_config") or {}, _worker(config))
    if state:
        built.set_state(state)
    return built


def _build(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    kind = settings.get("type", "StochasticSampling")
    if isinstance(kind, Exploration):
        return kind
    return EXPLORATIONS.get(class_name(kind))(space, settings, worker)


def _worker(config: Settings) -> Worker:
    counts = [config.get(k) for k in ("num_env_runners", "num_rollout_workers", "num_workers")]
    count = next((c for c in counts if isinstance(c, int)), 0)
    return count, int(config.get("worker_index") or 0)


def _picked(settings: Settings, *names: str) -> dict[str, Any]:
    # Other keys are left-overs of another kind: Ray merges exploration configs and ignores them.
    return {name: settings[name] for name in names if name in settings}


def _sampling(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    return StochasticSampling(space, **_picked(settings, "random_timesteps"))


def _soft_q(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    return SoftQ(space, **_picked(settings, "temperature", "random_timesteps"))


def _random(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    return Random(space)


def _epsilon_greedy(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    if settings.get("epsilon_schedule"):
        return EpsilonGreedy(space, schedule=schedule_from(settings["epsilon_schedule"]))
    first = float(settings.get("initial_epsilon", 1.0))
    last = float(settings.get("final_epsilon", 0.05))
    warm = int(settings.get("warmup_timesteps", 0))
    done = warm + int(settings.get("epsilon_timesteps", 100_000))
    ends = ((0, first), (warm, first), (done, last))
    return EpsilonGreedy(space, schedule=PiecewiseSchedule(ends, last))


def _per_worker(worker: Worker) -> Schedule | None:
    """A fixed amount per worker (Ape-X); the local worker of several explores not at all."""
    count, index = worker
    if count == 0:
        return None
    if index == 0:
        return ConstantSchedule(0.0)
    return ConstantSchedule(0.4 ** (1 + (index - 1) / max(count - 1, 1) * 7))


def _worker_epsilon(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    fixed = _per_worker(worker)
    if fixed is None:
        return _epsilon_greedy(space, settings, worker)
    return EpsilonGreedy(space, schedule=fixed)


def _scale(settings: Settings, worker: Worker | None) -> dict[str, Any]:
    wait = int(settings.get("random_timesteps", 1000))
    first = float(settings.get("initial_scale", 1.0))
    last = float(settings.get("final_scale", 0.02))
    done = wait + int(settings.get("scale_timesteps", 10_000))
    fixed = _per_worker(worker) if worker else None
    given = settings.get("scale_schedule")
    line = schedule_from(given) if given else PiecewiseSchedule(((wait, first), (done, last)), last)
    return {"schedule": fixed or line, "random_timesteps": wait}


def _gaussian(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    return GaussianNoise(space, **_picked(settings, "stddev"), **_scale(settings, None))


def _worker_gaussian(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    return GaussianNoise(space, **_picked(settings, "stddev"), **_scale(settings, worker))


def _wandering(space: Space[Any], settings: Settings, worker: Worker | None) -> Exploration:
    own = _picked(settings, "ou_theta", "ou_sigma", "ou_base_scale")
    return OrnsteinUhlenbeckNoise(space, **own, **_scale(settings, worker))


def _ornstein_uhlenbeck(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    return _wandering(space, settings, None)


def _worker_ornstein_uhlenbeck(
    space: Space[Any], settings: Settings, worker: Worker
) -> Exploration:
    return _wandering(space, settings, worker)


def _parameter_noise(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    sub = settings.get("sub_exploration") or _below_noise(
        space, int(settings.get("random_timesteps", 10_000))
    )
    stddev = float(settings.get("initial_stddev", 1.0))
    return ParameterNoise(space, sub=_build(space, sub, worker), cur_stddev=stddev)


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


def _wrapped(space: Space[Any], settings: Settings, worker: Worker) -> Exploration:
    # Curiosity and its like change rewards in training; they act through their sub-exploration.
    return _build(space, settings.get("sub_exploration") or {}, worker)


_KINDS: Final[Mapping[str, Callable[[Space[Any], Settings, Worker], Exploration]]] = {
    "Curiosity": _wrapped,
    "EpsilonGreedy": _epsilon_greedy,
    "GaussianNoise": _gaussian,
    "OrnsteinUhlenbeckNoise": _ornstein_uhlenbeck,
    "ParameterNoise": _parameter_noise,
    "PerWorkerEpsilonGreedy": _worker_epsilon,
    "PerWorkerGaussianNoise": _worker_gaussian,
    "PerWorkerOrnsteinUhlenbeckNoise": _worker_ornstein_uhlenbeck,
    "RE3": _wrapped,
    "Random": _random,
    "SoftQ": _soft_q,
    "StochasticSampling": _sampling,
}
EXPLORATIONS: Final = Registry[Exploration]("exploration", _KINDS)
