"""Clear errors where torch or another optional package is needed and missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

from ..errors import MissingExtraError


@cache
def has_torch() -> bool:
    """True if torch is installed; it is not imported to find out."""
    return find_spec("torch") is not None


@contextmanager
def extra_needed(package: str, what: str, extra: str = "offline") -> Iterator[None]:
    """Tell that a package is missing where something imports it, and how to get it.

    `what` needs it, as the subject of a sentence; `extra` of ours brings it.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or package).partition(".")[0] != package:
            raise
        raise MissingExtraError(
            f"{what} needs {package}, which is not installed",
            hint=f'pip install "rlconnect[{extra}]"',
        ) from None


@contextmanager
def torch_needed(what: str) -> Iterator[None]:
    """Tell that torch is missing where something imports it, and how to get it.

    `what` needs it, as the subject of a sentence.

    Example:
        >>> with torch_needed("a forward pass"):
        ...     import torch
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise MissingExtraError(
            f"{what} needs torch, which is not installed.", hint="pip install torch"
        ) from error
