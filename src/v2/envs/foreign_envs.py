"""Vector environments that others made, read in either of gymnasium's ways of resetting."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import gymnasium as gym
from gymnasium.vector.utils import iterate

from ...core.errors import ConfigError
from .failures import step_error, told
from .rows import RowReader
from .sub_envs import Seeds, Transitions

_FINAL: Final = (("final_obs", "final_info"), ("final_observation", "final_info"))


class ForeignEnvs:
    """Steps any `gymnasium.vector.VectorEnv` and splits what it returns.

    Gymnasium 1.x says in its metadata whether an environment whose episode ends is reset in the
    same step or in the next one; before, it was the same step always.

    Args:
        make: Makes the vector environment.
        is_restarting: Whether it is made anew, all of it, when it raises; else it is an error.

    Attributes:
        vector_env: The vector environment.
    """

    def __init__(self, make: Callable[[], Any], *, is_restarting: bool = False) -> None:
        self._make, self._is_restarting = make, is_restarting
        self.vector_env = make()
        self.num_envs: int = self.vector_env.num_envs
        self.num_restarts = 0
        self._read = RowReader(self.vector_env.single_observation_space)
        self.is_same_step = _resets_in_same_step(self.vector_env)

    def reset_all(
        self, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """Reset all environments; see `SubEnvs.reset_all`."""
        observations, infos = self.vector_env.reset(seed=seed, options=options)
        return self._rows(observations), split_infos(infos, self.num_envs)

    def advance(self, actions: Any) -> Transitions:
        """Step all environments; see `SubEnvs.advance`."""
        try:
            returned = self.vector_env.step(actions)
        except Exception as error:
            return self._made_anew(error)
        observations, rewards, terminateds, truncateds, infos = returned
        split = split_infos(infos, self.num_envs)
        ends = [bool(a or b) for a, b in zip(terminateds, truncateds, strict=True)]
        finals = {}
        if self.is_same_step:
            for index in (index for index, is_end in enumerate(ends) if is_end):
                finals[index] = self._final(split[index])
        return Transitions(
            self._rows(observations),
            [*map(float, rewards)],
            [*map(bool, terminateds)],
            [*map(bool, truncateds)],
            split,
            finals,
            {},
        )

    def _made_anew(self, error: Exception) -> Transitions:
        """Go on with a new vector: all episodes of the old one are lost."""
        if not self._is_restarting:
            raise step_error(0, "step()", told(error)) from error
        with contextlib.suppress(Exception):  # It has failed already.
            self.vector_env.close()
        self.vector_env = self._make()
        self.num_restarts += self.num_envs
        rows, infos = self.reset_all()
        count = self.num_envs
        none = [False] * count
        failed = dict.fromkeys(range(count), told(error))
        return Transitions(rows, [0.0] * count, none, none, infos, {}, failed)

    def _rows(self, observations: Any) -> Any:
        return self._read(list(iterate(self.vector_env.observation_space, observations)))

    def _final(self, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Take the last observation and infos of an episode out of the infos of its end."""
        for observation, infos in _FINAL:
            if observation in info:
                last = info.pop(observation)
                return self._read([last])[0], info.pop(infos, None) or {}
        raise ConfigError(
            "a vector environment that resets in the same step gave no last observation",
            expected="infos['final_obs'] (before gymnasium 1.1: 'final_observation')",
            found=f"infos {sorted(map(str, info))}",
        )


def split_infos(infos: Any, num_envs: int) -> list[dict[str, Any]]:
    """Each environment's infos from the arrays of a vector environment.

    Args:
        infos: By name, an item for each environment, and under `_name` who has one.
        num_envs: How many there are.

    Example:
        >>> split_infos({"a": [1, 2], "_a": [True, False]}, 2)
        [{'a': 1}, {}]
    """
    if isinstance(infos, (list, tuple)):
        return [dict(info) for info in infos]
    split: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for name, values in infos.items():
        if isinstance(name, str) and name.startswith("_") and name[1:] in infos:
            continue
        owners = infos.get(f"_{name}", [True] * num_envs)
        for index, value in enumerate(_items(values, num_envs)):
            if owners[index]:
                split[index][name] = value
    return split


def _items(values: Any, num_envs: int) -> Sequence[Any]:
    if isinstance(values, dict):
        return split_infos(values, num_envs)
    return values  # type: ignore[no-any-return]  # an array or a list, by gymnasium's promise


def _resets_in_same_step(env: Any) -> bool:
    mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
    if mode is None:
        return not hasattr(gym.vector, "AutoresetMode") and gym.__version__.startswith("0.")
    name = str(getattr(mode, "value", mode)).replace("_", "").lower()
    if name == "disabled":
        raise ConfigError(
            "the vector environment does not reset environments whose episode ends",
            expected="autoreset_mode NEXT_STEP or SAME_STEP",
            found=str(mode),
        )
    return name == "samestep"
