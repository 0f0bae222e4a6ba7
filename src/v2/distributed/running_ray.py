"""Ray Core, for all that works in actors of its own."""

from __future__ import annotations

from typing import Any

from ...core.errors import MissingExtraError


def running_ray(what: str) -> Any:
    """Ray Core, running.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError(f"{what} need Ray.", hint="pip install 'rlconnect[ray]'") from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    return ray
