"""Ray Tune, if it is installed."""

from __future__ import annotations

from typing import Any

from ...core.errors import MissingExtraError
from ...core.importing.ray_modules import loaded_module


def ray_tune(what: str) -> Any:
    """Return Ray Tune.

    Args:
        what: The feature that needs it, for the error message.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        from ray import tune
    except ImportError as error:
        raise _missing(what) from error
    if loaded_module("ray.tune.tune") is None:  # an import alias of ours
        raise _missing(what)
    return tune


def has_ray_tune() -> bool:
    """Return True if Ray Tune is installed."""
    try:
        return bool(ray_tune(""))
    except MissingExtraError:
        return False


def _missing(what: str) -> MissingExtraError:
    return MissingExtraError(
        f"{what} needs Ray Tune, which is not installed",
        hint='pip install "ray[tune]", or search without Ray: docs/howto/optuna.md.',
    )
