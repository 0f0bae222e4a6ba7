"""The random generators of a process, and where a runner in it is, to be saved and taken back."""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...core.data.checked import mapping
from ...core.data.damage import at
from ...core.data.random_states import (
    checked_numpy_state,
    checked_python_state,
    checked_torch_state,
)
from ..env_runners.paused import go_on, paused
from ..envs.generator_states import generator_state, set_generator_state

_NAME: Final = "the state of a run"


class LostPlaceWarning(UserWarning):
    """A run that is resumed begins its episodes anew, although their place was saved."""


def random_state_of(runner: Any) -> dict[str, Any]:
    """The generators of the process a runner is in, and where the runner is, as plain data.

    Where running episodes cannot be held, only the generators of the environments are; those in
    processes of their own, and those without a `np_random`, are left out.
    """
    import torch

    version, numbers, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002
    return {
        "python": {"version": version, "numbers": np.asarray(numbers, np.uint64), "gauss": gauss},
        "numpy": {
            "kind": str(kind),
            "keys": np.asarray(keys),
            "position": int(position),
            "has_gauss": int(has_gauss),
            "cached": float(cached),
        },
        "torch": torch.get_rng_state().numpy(),
        "envs": [_of_env(env) for env in _environments(runner)],
        **({} if runner is None else _of_runner(runner)),
    }


def _of_runner(runner: Any) -> dict[str, Any]:
    """Where a runner is: its averages, which go on; whether it began; its running episodes."""
    return {
        "metrics": runner.metrics.get_state(),
        "is_begun": bool(getattr(runner, "is_begun", True)),
        "paused": paused(runner),
    }


def set_random_state(runner: Any, state: Mapping[str, Any]) -> None:
    """Take back what `random_state_of` gave.

    Running episodes go on; where there are none, environments begin with a reset that draws on
    their generators.

    Raises:
        CorruptCheckpointError: The state is damaged.
    """
    with at(_NAME):
        _set_generators(state)
        if runner is not None:
            _set_runner(runner, state)


def _set_generators(state: Mapping[str, Any]) -> None:
    import torch

    size = len(torch.get_rng_state())
    python = checked_python_state(state["python"], ("python",), name=_NAME)
    numpy = checked_numpy_state(state["numpy"], ("numpy",), name=_NAME)
    words = checked_torch_state(state["torch"], size, ("torch",), name=_NAME)
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
    torch.set_rng_state(torch.from_numpy(words))


def _set_runner(runner: Any, state: Mapping[str, Any]) -> None:
    runner.needs_initial_reset = True
    if "metrics" in state:
        with at("metrics"):
            runner.metrics.set_state(mapping(state["metrics"]))
    where = state.get("paused")
    if where is not None:
        if go_on(runner, where):
            runner.is_begun = True
            return
        warnings.warn(
            "the episodes that were running begin anew: environments here are built in another way "
            "than those that were saved (other wrappers, settings or another release of gymnasium)",
            LostPlaceWarning,
            stacklevel=2,
        )
    environments = _environments(runner)
    held: Sequence[Any] = state["envs"]
    if not held or len(held) != len(environments):
        return
    for env, own in zip(environments, held, strict=True):
        if own is not None:
            set_generator_state(env.np_random, own)
    # The first reset is seeded; later ones draw on the generators.
    runner.is_begun = bool(state.get("is_begun", True))


def _environments(holder: Any) -> list[Any]:
    """The environments of a runner, those inside of others included."""
    found = []
    for env in getattr(getattr(holder, "env", holder), "envs", None) or ():
        inner = getattr(env, "unwrapped", env)
        found += [inner, *_environments(inner)]
    return found


def _of_env(env: Any) -> dict[str, Any] | None:
    generator = getattr(env, "np_random", None)
    if not isinstance(generator, np.random.Generator):
        return None
    return generator_state(generator)
