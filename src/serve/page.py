"""The page for people at `/`."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def page() -> bytes:
    """It, whole: nothing else is fetched but what it shows."""
    return Path(__file__).with_name("page.html").read_bytes()
