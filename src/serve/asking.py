"""What clients of a server share: where it is, what they send, and what its answers say."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from ..core.errors import ConfigError
from .errors import ServeError, SessionGoneError
from .wire import MSGPACK_CODEC, codec_of

TRIES: Final = 3
"""How often what may be asked twice is asked."""

NO_ANSWER: Final = (OSError, http.client.HTTPException, asyncio.IncompleteReadError, EOFError)
"""What says that nothing came back."""

_ODD: Final = (
    *(AttributeError, LookupError, RecursionError, TypeError, ValueError),
    asyncio.LimitOverrunError,
)


@dataclass(frozen=True)
class Acted:
    """An answer of a server.

    Args:
        action: What to do; of a batch, a row for each observation.
        session: Whose memory it went into; None if nothing was kept.
        policy: Which policy acted.
        version: And which version of it.
        recorded: Whether the server keeps episodes, and so wants to see how this one ends.
        fetches: What the network gave beside the action, of what was asked for, by name.
    """

    action: Any
    session: str | None
    policy: str
    version: int
    recorded: bool = False
    fetches: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Address:
    """The address of a server, with the token for it.

    Args:
        url: Such as "http://127.0.0.1:8000".
        token: What the server wants to be shown.
        timeout: Seconds that an answer may take.
    """

    url: str
    token: str | None = None
    timeout: float = 30.0

    def parts(self) -> tuple[str, int, bool]:
        """Host, port, and whether it is HTTPS.

        Raises:
            ConfigError: This is no address of a server.
        """
        split = urlsplit(self.url if "//" in self.url else f"http://{self.url}")
        if split.scheme not in ("http", "https") or not split.hostname:
            raise ConfigError("no address of a server", expected="http://HOST:PORT", found=self.url)
        is_tls = split.scheme == "https"
        return split.hostname, split.port or (443 if is_tls else 80), is_tls

    def headers(self, body: bytes | None) -> dict[str, str]:
        """What goes before a body."""
        headers = {"accept": MSGPACK_CODEC.content_type}
        if body is not None:
            headers["content-type"] = MSGPACK_CODEC.content_type
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        return headers


def asked_body(obs: Any, fields: Mapping[str, Any]) -> bytes:
    """The body of a request to act."""
    present = {name: value for name, value in fields.items() if value is not None}
    return MSGPACK_CODEC.encode({"obs": obs, **present})


@contextmanager
def usual_answers() -> Iterator[None]:
    """Raise a `ServeError` for an answer that no server of this package gives.

    Also a decorator.
    """
    try:
        yield
    except (ServeError, *NO_ANSWER):
        raise
    except _ODD as error:
        raise ServeError(
            502,
            "bad_answer",
            f"not an answer of a policy server ({type(error).__name__}: {str(error)[:120]})",
            hint="check the URL.",
        ) from None


@usual_answers()
def document_of(status: int, content_type: str, body: bytes) -> Any:
    """The document of an answer.

    Raises:
        SessionGoneError: The session's memory is lost; begin the episode anew.
        ServeError: The server refused.
    """
    try:
        document = codec_of(content_type.partition(";")[0]).decode(body) if body else {}
        if not isinstance(document, dict):
            raise TypeError(f"a document of type {type(document).__name__}")
    except ServeError:
        document = {"error": body[:200].decode(errors="replace"), "code": "no_document"}
    if status < 400:
        return document
    kind = SessionGoneError if document.get("code") == "session_gone" else ServeError
    raise kind(
        status,
        str(document.get("code", "")),
        str(document.get("error", f"status {status}")),
        hint=str(document.get("hint", "")),
    )


@usual_answers()
def acted_in(document: Any) -> Acted:
    """What a document of the server says."""
    return Acted(
        document["action"],
        document["session"],
        document["policy"],
        document["version"],
        document.get("recorded", False),
        document.get("fetches", {}),
    )


class Asking:
    """What both clients know: where the server is, and which policy is asked.

    Args:
        url: Such as "http://127.0.0.1:8000".
        policy: Which policy to ask, if there are several.
        token: What the server wants to be shown.
        timeout: Seconds that an answer may take.
    """

    def __init__(
        self, url: str, *, policy: str | None = None, token: str | None = None, timeout: float = 30
    ) -> None:
        self._address = Address(url, token, timeout)
        self._parts = self._address.parts()
        self._policy = policy
        self._session_header = ""

    def _headers(self, body: bytes | None, session: Any) -> dict[str, str]:
        """Headers of a request, with the session's name for load balancers that route by it."""
        headers = self._address.headers(body)
        if isinstance(session, str) and session.isascii() and session.isprintable():
            headers[self._session_header or "x-session-id"] = session
        return headers

    def _no_answer(self, error: BaseException) -> ServeError:
        return ServeError(
            0, "no_answer", f"no answer from {self._address.url}: {error}",
            hint="is the server running there? rlconnect serve PATH starts one.",
        )  # fmt: skip
