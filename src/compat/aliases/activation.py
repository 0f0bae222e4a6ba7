"""Switching Ray's names on and off."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from typing import Final

from ...core.errors import ConfigError
from ...core.importing.ray_modules import loaded_module
from .finder import RLLIB, RayFinder, RayModule

_RAY: Final = "ray"
_finder: Final = RayFinder()
_counted: Final[list[Activation]] = []


class Activation:
    """One call of `activate()`; leaving it as a context undoes that call.

    Attributes:
        steps_aside: Real Ray is installed, so nothing was done.
    """

    def __init__(self, steps_aside: bool) -> None:
        self.steps_aside = steps_aside

    def __enter__(self) -> Activation:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Take back this activation; Ray's names go when no other one is left."""
        if self in _counted:
            _counted.remove(self)
            if not _counted:
                _switch_off()


def is_ray_installed() -> bool:
    """Whether real Ray could be imported, or has been."""
    loaded = sys.modules.get(_RAY)
    if loaded is not None and not isinstance(loaded, RayModule):
        return True
    spec = PathFinder.find_spec(_RAY)
    return spec is not None and spec.loader is not None and spec.origin is not None


def activate(force: bool = False) -> Activation:
    """Let `import ray...` find rlconnect.

    Args:
        force: Also if Ray is installed. Then only `ray.rllib` is rlconnect's; `ray.tune` and all
            else stay Ray's. `ray.rllib` must not have been imported yet.

    Returns:
        A context whose end undoes this call; `deactivate()` undoes all.

    Raises:
        ConfigError: With `force`, if RLlib has been imported already.

    Example:
        >>> with activate(force=True):
        ...     from ray.rllib.connectors.connector_v2 import ConnectorV2
        >>> ConnectorV2.__name__
        'ConnectorV2'
    """
    is_installed = is_ray_installed()
    if is_installed and not force:
        return Activation(steps_aside=True)
    if loaded_module(RLLIB) is not None:
        raise ConfigError(
            "ray_aliases.activate(force=True)",
            expected="a process that has not imported ray.rllib",
            found="ray.rllib, imported already",
            hint="activate before anything imports ray.rllib, or run `python -m "
            "rlconnect.compat.ray_aliases --force SCRIPT`.",
        )
    _finder.root = RLLIB if is_installed else _RAY
    activation = Activation(steps_aside=False)
    _counted.append(activation)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    return activation


def deactivate() -> None:
    """Forget Ray's names; what has been imported through them stays usable."""
    _counted.clear()
    _switch_off()


def is_active() -> bool:
    """Whether Ray's names lead to rlconnect now."""
    return _finder in sys.meta_path


def _switch_off() -> None:
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in [name for name, module in sys.modules.items() if isinstance(module, RayModule)]:
        del sys.modules[name]
    ray = sys.modules.get(_RAY)
    if isinstance(vars(ray).get("rllib") if ray else None, RayModule):
        del ray.rllib  # type: ignore[union-attr]  # what importing it left in Ray's own package
