"""Policies behind a port: sessions with memory, batched, swapped while they run.

`server` is where to begin reading: it loads policies into an `App` (the endpoints), which puts
each request into a `Session` and lets a `Version` of a `Model` act. `application` is the ASGI
application around them, `server` runs it on uvicorn.
"""

from __future__ import annotations

from typing import Final

from ..core.importing.lazy_names import lazy_names

_HOME: Final = {
    "Acted": ".asking",
    "App": ".app",
    "Application": ".application",
    "AsyncClient": ".async_client",
    "Client": ".client",
    "ClientSession": ".client",
    "ServeError": ".errors",
    "ServeSettings": ".settings",
    "Server": ".server",
    "SessionGoneError": ".errors",
    "app_of": ".server",
    "asgi": ".application",
    "run": ".server",
}

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME)
