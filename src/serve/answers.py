"""Checks tokens, turns errors into answers, and logs requests."""

from __future__ import annotations

import hmac
import json
import logging
import time
from typing import Any, Final

from ..core.errors import CheckpointError, RlconnectError
from .errors import ServeError
from .messages import Answer, Request, Response
from .wire import JSON_CODEC

log: Final = logging.getLogger("rlconnect.serve")
access_log: Final = logging.getLogger("rlconnect.serve.access")


def may(request: Request, token: str) -> bool:
    """Whether a request shows a token, or asks for what everybody may see."""
    if request.path in ("/healthz", "/readyz", "/"):
        return True
    header = request.headers.get(b"authorization", b"")
    return hmac.compare_digest(header, f"Bearer {token}".encode())


def logged(request: Request, answer: Answer) -> Answer:
    """Return an answer that is also logged."""
    began = time.perf_counter()

    def tell(response: Response) -> None:
        answer(response)
        log_request(request, response, began)

    return tell


def log_request(request: Request, response: Any, began: float) -> None:
    """Log a request and its response as a line of JSON."""
    access_log.info(
        json.dumps(
            {
                "at": round(time.time(), 3),
                "peer": request.peer,
                "method": request.method,
                "path": request.path[:200],
                "status": response.status,
                "in": len(request.body),
                "out": len(response.body),
                "ms": round(1e3 * (time.perf_counter() - began), 3),
            }
        )
    )


def status_of(error: Exception) -> tuple[int, dict[str, str]]:
    """The status and the document for an action that did not come."""
    if isinstance(error, ServeError):
        return error.status, error.to_dict()
    if isinstance(error, RlconnectError) and not isinstance(error, CheckpointError):
        document = {"error": error.summary, "code": "bad_request"}
        return 400, {**document, "hint": error.hint} if error.hint else document
    log.error("a policy failed", exc_info=error)
    return 500, {"error": "the policy failed; the server's log tells how", "code": "failed"}


def refusal(error: ServeError) -> Response:
    """The answer to a request that is refused."""
    headers = {"retry-after": "1"} if error.status in (429, 503) else {}
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(error.status, JSON_CODEC.encode(error.to_dict()), headers=headers)
