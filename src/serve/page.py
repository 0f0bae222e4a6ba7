"""The page for people at `/`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from .messages import Response

_HEADERS: Final = {
    "content-security-policy": "default-src 'self'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}


@cache
def page() -> bytes:
    """It, whole: nothing else is fetched but what it shows."""
    return Path(__file__).with_name("page.html").read_bytes()


def response() -> Response:
    """The page as an answer."""
    return Response(200, page(), "text/html; charset=utf-8", _HEADERS)
