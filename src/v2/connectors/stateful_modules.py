"""Which module an item belongs to, and what its state asks of a batch; several modules, too."""

from __future__ import annotations

from typing import Any

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import PieceError


def is_multi(rl_module: Any) -> bool:
    """Whether it is several modules by id."""
    return hasattr(rl_module, "rl_module_specs")


def is_stateful(rl_module: Any) -> bool:
    """Whether there is a module and it carries a state."""
    return rl_module is not None and bool(rl_module.is_stateful())


def stateful_module(rl_module: Any, module_id: Any = None) -> Any:
    """The module of that id if it carries a state, else None.

    Args:
        rl_module: A module, or several by id.
        module_id: None for the module of a single agent.
    """
    module = rl_module
    if is_multi(rl_module):
        module = rl_module.get(DEFAULT_MODULE_ID if module_id is None else module_id, None)
    return module if is_stateful(module) else None


def max_seq_len(rl_module: Any, piece: object) -> int:
    """How many steps a row of the train batch of a stateful module has.

    Raises:
        PieceError: The module's settings do not say it.
    """
    settings = rl_module.model_config
    length = (
        settings.get("max_seq_len")
        if hasattr(settings, "get")
        else getattr(settings, "max_seq_len", None)
    )
    if length is None:
        raise PieceError(
            f"{type(piece).__name__} cannot cut episodes into rows: the model_config of stateful "
            f"{type(rl_module).__name__} has no 'max_seq_len'",
            hint="config.rl_module(model_config={'max_seq_len': 20}) sets it.",
        )
    return int(length)
