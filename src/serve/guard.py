"""Checks of the headers Host and Origin, so that web pages cannot use a local server."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from .errors import ServeError

_MOST_KNOWN: Final = 1024


class Guard:
    """Refuse requests that a web page of another site may have caused.

    A connection over loopback has to name a loopback host (against DNS rebinding), and a browser's
    request has to come from a page of the server itself. Connections over other interfaces are
    checked if hosts or origins are configured.

    Args:
        hosts: Further host names, separated by commas; `*` allows all.
        origins: Origins of further web pages, separated by commas; `*` allows all.

    Example:
        >>> Guard("policies.example").check("127.0.0.1", {b"host": b"policies.example:8000"})
        >>> Guard().check("127.0.0.1", {b"host": b"rebound.example"})
        Traceback (most recent call last):
        rlconnect.serve.errors.ServeError: the host 'rebound.example' is not one of this server
          hint: start the server with --allow-host rebound.example if it is.
    """

    def __init__(self, hosts: str = "", origins: str = "") -> None:
        self._hosts = {host.strip().lower() for host in hosts.split(",") if host.strip()}
        self._origins = {origin.strip().lower() for origin in origins.split(",") if origin.strip()}
        self._allowed: set[tuple[str, bytes]] = set()

    def check(self, server: str, headers: Mapping[bytes, bytes]) -> None:
        """Check the headers of one request.

        Args:
            server: The local address of its connection.
            headers: By name in lower case.

        Raises:
            ServeError: The host or the origin is not allowed.
        """
        host = headers.get(b"host")
        if host is not None and (server, host) not in self._allowed:
            self._check_host(server, host.decode("latin-1"))
            if len(self._allowed) < _MOST_KNOWN:
                self._allowed.add((server, host))
        origin = headers.get(b"origin")
        if origin is not None:
            self._check_origin(server, origin.decode("latin-1").lower(), host or b"")

    def _check_host(self, server: str, host: str) -> None:
        name = _host_name(host)
        if "*" in self._hosts or name in self._hosts or name == server:
            return
        if not self._hosts and not _is_loopback(server):
            return
        if not _is_loopback(name):
            raise ServeError(
                403, "foreign_host", f"the host {name[:100]!r} is not one of this server",
                hint=f"start the server with --allow-host {name[:100]} if it is.",
            )  # fmt: skip

    def _check_origin(self, server: str, origin: str, host: bytes) -> None:
        if "*" in self._origins or origin in self._origins:
            return
        if not self._origins and not _is_loopback(server):
            return
        if origin.partition("://")[2] != host.decode("latin-1").lower():
            raise ServeError(
                403, "foreign_origin", f"pages of {origin[:100]!r} may not use this server",
                hint=f"start the server with --allow-origin {origin[:100]} if they may.",
            )  # fmt: skip


def server_of(scope: Mapping[str, Any]) -> str:
    """Return the local address of a connection from its ASGI scope."""
    server = scope.get("server")
    return str(server[0]) if server else ""


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or bool(getattr(address, "ipv4_mapped", None) and
                                       address.ipv4_mapped.is_loopback)  # type: ignore[union-attr]  # fmt: skip
