"""A runner in the middle of its episodes, as plain data, and going on from there.

What is held: environments, running episodes, what pieces share, and the batch that the module is
to act on next. It comes back into a runner that was made from the same settings. Where something
of it is no data, or environments run elsewhere, there is nothing to hold, and the next sample
begins with a reset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...core import array_namespace as xp
from ...core.data.damage import at
from ...core.data.plain_data import NotPlainError, from_data, to_data

_ATTRIBUTES: Final = (
    "_cached_to_module",
    "_shared_data",
    "_seen",
    "_was_random",
    "_explored",
    "_is_mixed",
)
_TEACHING: Final = "teaching"
_TENSOR: Final = "tensor"
_NAME: Final = "the state of a runner in the middle of its episodes"


def paused(runner: Any) -> Any:
    """Where a runner is, as data; None if its next sample begins with a reset anyway."""
    envs = getattr(getattr(runner, "stepper", None), "memory", None)
    if runner.needs_initial_reset or envs is None:
        return None
    attributes = {name: getattr(runner, name) for name in _ATTRIBUTES if hasattr(runner, name)}
    try:
        if runner.teaching is not None:
            attributes[_TEACHING] = runner.teaching.get_state()
        env_states = envs()
        if env_states is None:
            return None
        episodes = to_data(runner.running.get_state())
        return {"envs": env_states, "running": episodes, "own": to_data(attributes, _written)}
    except NotPlainError:
        return None


def go_on(runner: Any, state: Mapping[str, Any]) -> bool:
    """Bring a runner to where another one was.

    Args:
        runner: It has been made, and has weights and connector states already.
        state: What `paused` gave.

    Returns:
        Whether it is there. If not, its next sample has to begin with a reset.

    Raises:
        CorruptCheckpointError: The state is damaged.
    """
    stepper = runner.stepper
    if not hasattr(stepper, "remember"):
        return False

    def read(data: Mapping[str, Any], now: Any) -> Any:
        return _tensor(data, runner.device)

    with at(_NAME):
        try:
            saved = from_data(state["own"], read, name=_NAME)
            running = runner.new_running()
            running.set_state(from_data(state["running"], name=_NAME))
            if len(running.episodes) != runner.num_envs or not stepper.remember(state["envs"]):
                return False
            attributes = {name: saved[name] for name in _ATTRIBUTES if name in saved}
            if runner.teaching is not None:
                if _TEACHING not in saved:
                    return False
                runner.teaching.set_state(saved[_TEACHING])
        except NotPlainError:
            return False
    runner.running = running
    for name, value in attributes.items():
        setattr(runner, name, value)
    runner.needs_initial_reset = False
    return True


def _written(value: Any, data: Callable[[Any], Any]) -> dict[str, Any]:
    if not xp.is_tensor(value):
        raise NotPlainError(type(value).__name__)
    return {_TENSOR: value.detach().cpu().numpy().copy()}


def _tensor(data: Mapping[str, Any], device: str) -> Any:
    import torch

    return torch.from_numpy(data[_TENSOR].copy()).to(device)
