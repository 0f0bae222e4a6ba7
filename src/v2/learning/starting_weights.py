"""Weights from checkpoints, for modules that begin to learn."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..modules.multi_rl_module import MultiRLModule, UnknownModuleError
from ..modules.rl_module import RLModule


def load_starting_weights(module: MultiRLModule, spec: Any) -> None:
    """Take over the weights that specs name in `load_state_path`.

    Args:
        module: The modules by id.
        spec: The spec of one or of all; that of a single module wins over that of all.
    """
    by_module = getattr(spec, "rl_module_specs", None)
    if by_module is None:
        by_module = dict.fromkeys(module.keys(), spec)
    elif spec.load_state_path:
        load_modules(module, spec.load_state_path, spec.modules_to_load)
    for module_id, own in by_module.items():
        if own.load_state_path:
            load_module(module, module_id, own.load_state_path)


def load_modules(module: MultiRLModule, path: str, only: Collection[str] | None = None) -> None:
    """Take over the weights of modules that lie together in one folder.

    Args:
        module: The modules by id.
        path: The folder.
        only: Which of them; None for all that are in both.

    Raises:
        UnknownModuleError: One that is asked for is not in the folder.
    """
    loaded: MultiRLModule = RLModule.from_checkpoint(path).as_multi_rl_module()
    for module_id in only or ():
        if module_id not in loaded:
            raise UnknownModuleError.of(module_id, loaded.keys())
    module.set_state(loaded.get_state(components=only))


def load_module(module: Mapping[str, Any] | MultiRLModule, module_id: str, path: str) -> None:
    """Take over the weights of one module from its folder."""
    module[module_id].restore_from_path(path)
