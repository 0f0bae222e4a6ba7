"""Policies as an ASGI application, for any ASGI server and inside other ASGI applications."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from .answers import log, may, refusal
from .app import App
from .errors import ServeError
from .guard import Guard, server_of
from .messages import Answer, Request, Response, error_response
from .settings import ServeSettings
from .wire import JSON_CODEC, MSGPACK_CODEC, Codec, when_read

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
_SWEEP: Final = 1.0
"""Seconds between two checks for sessions that were not used for too long."""


def asgi(policies: Any, **settings: Any) -> Application:
    """Return an ASGI application that serves policies.

    Args:
        policies: A path or URL of a checkpoint, anything else that `rlconnect.load` returns, or a
            mapping of these by the names to serve them under.
        **settings: Those of `ServeSettings` that do not concern ports: `max_sessions`, `token`,
            `admin_token`, `record`, `allow_host` and so on; and `options`, a mapping of keyword
            arguments for `rlconnect.load`.

    Raises:
        ConfigError: A setting is unknown, or has a wrong type.
        CheckpointError: A checkpoint cannot be read.

    Example:
        In a module that `uvicorn mymodule:app` serves:

        app = fastapi.FastAPI()
        app.mount("/policy", rlconnect.serve.asgi("path/to/checkpoint"))
    """
    from .server import app_of

    options = settings.pop("options", {})
    sources = policies if isinstance(policies, Mapping) else {"": policies}
    named = {
        name: os.fspath(source) if isinstance(source, os.PathLike) else source
        for name, source in sources.items()
    }
    parsed = replace(ServeSettings.read(settings, {}), policies=named)
    app = app_of(parsed, options=options)
    app.is_ready = True
    return Application(app, parsed, app)


class Handler(Protocol):
    """Answers requests."""

    def handle(self, request: Request, answer: Answer) -> None:
        """Answer a request now or later."""


class Application:
    """ASGI application around a handler of requests.

    Args:
        handler: Answers the requests.
        settings: Limits, allowed hosts and origins.
        app: The policies; also takes WebSockets if it is the handler itself.
    """

    def __init__(self, handler: Handler, settings: ServeSettings, app: App) -> None:
        self.app = app
        self._handler, self._most = handler, settings.max_body
        origins = ",".join(filter(None, (settings.allow_origin, settings.cors)))
        self._guard = Guard(settings.allow_host, origins)
        self._sweeping: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI defines it."""
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.get_running_loop().create_task(self._sweep())
        kind = scope["type"]
        if kind == "http":
            await self._http(scope, receive, send)
        elif kind == "websocket":
            await self._websocket(scope, receive, send)
        elif kind == "lifespan":
            await self._lifespan(receive, send)

    async def close(self) -> None:
        """Write recorded episodes and release the policies' threads."""
        self.app.is_ready = False
        if self._sweeping is not None:
            self._sweeping.cancel()
        for model in self.app.models.values():
            for version in model.versions.values():
                version.close()
        if self.app.recorder is not None:
            await asyncio.get_running_loop().run_in_executor(None, self.app.recorder.close)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            self.app.sessions.sweep()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    # HTTP.

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._response(scope, receive)
        if response is None:  # the client is gone
            return
        headers = [
            (b"content-type", response.content_type.encode()),
            (b"content-length", b"%d" % len(response.body)),
        ]
        for name, value in response.headers.items():
            headers.append((name.encode(), value.encode("latin-1")))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})

    async def _response(self, scope: Scope, receive: Receive) -> Response | None:
        try:
            headers = self._checked_headers(scope)
            body = await self._body(headers, receive)
        except ServeError as error:
            return refusal(error)
        if body is None:
            return None
        peer = scope.get("client")
        request = Request(
            scope["method"],
            _path_of(scope),
            headers,
            body,
            scope["query_string"],
            peer[0] if peer else "",
        )
        answered: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        def answer(response: Response) -> None:
            if not answered.done():
                answered.set_result(response)

        try:
            self._handler.handle(request, answer)
        except Exception:
            log.exception("a request could not be answered")
            answer(error_response(500, "the server made a mistake; its log tells which"))
        return await answered

    def _checked_headers(self, scope: Scope) -> dict[bytes, bytes]:
        listed = scope["headers"]
        headers = dict(listed)
        if len(headers) != len(listed) and sum(name == b"host" for name, _ in listed) > 1:
            raise ServeError(400, "bad_request", "the request has several Host headers")
        version = scope["http_version"]
        if version in ("0.9", "2.0"):
            raise ServeError(400, "bad_request", f"HTTP/{version} is not supported")
        if b"host" not in headers and version == "1.1":
            raise ServeError(400, "bad_request", "the request has no Host header")
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            raise ServeError(400, "bad_request", "the body has an unknown transfer coding")
        self._guard.check(server_of(scope), headers)
        return headers

    async def _body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes | None:
        """Return the body of a request; None if the client left before its end."""
        length = headers.get(b"content-length", b"0")
        if len(length) > 18 or not length.isdigit() or int(length) > self._most:
            raise self._too_large()
        message = await receive()
        body: bytes = message.get("body", b"")
        if message.get("more_body") or len(body) > self._most:
            parts, size = [body], len(body)
            while message.get("more_body") and size <= self._most:
                message = await receive()
                parts.append(message.get("body", b""))
                size += len(parts[-1])
            if size > self._most:
                raise self._too_large()
            body = b"".join(parts)
        return None if message["type"] == "http.disconnect" else body

    def _too_large(self) -> ServeError:
        return ServeError(
            413, "request_entity_too_large", f"a body of more than {self._most:,} bytes"
        )

    # WebSockets.

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a WebSocket: each message is a step of a session that ends with it."""
        await receive()
        try:
            headers = self._checked_headers(scope)
            request = Request("GET", _path_of(scope), headers, b"", scope["query_string"])
            if self.app is not self._handler or request.path != "/v1/stream":
                raise ServeError(404, "not_found", f"no WebSocket is at {request.path[:200]}")
            if self.app.token is not None and not may(request, self.app.token):
                raise ServeError(401, "unauthorized", "a token is needed")
        except ServeError as error:
            await _reject(scope, send, refusal(error))
            return
        session = self.app.sessions.new_id()
        standard = {"policy": request.query.get("policy"), "session": session}
        await send({"type": "websocket.accept"})
        try:
            while (message := await receive())["type"] == "websocket.receive":
                await send({"type": "websocket.send", **await self._step(message, standard)})
        finally:
            self.app.end_sessions(session)

    async def _step(self, message: Mapping[str, Any], standard: Mapping[str, Any]) -> Any:
        """Act for one message, and return the reply in the same format."""
        text = message.get("text")
        codec: Codec = MSGPACK_CODEC if text is None else JSON_CODEC
        body = message["bytes"] if text is None else text.encode()
        answered: asyncio.Future[tuple[int, Any]] = asyncio.get_running_loop().create_future()

        def reply(status: int, document: Any) -> None:
            if not answered.done():
                answered.set_result((status, document))

        def act(fields: Any) -> None:
            if isinstance(fields, ServeError):
                reply(fields.status, fields.to_dict())
            else:
                self.app.act({**standard, **fields} if isinstance(fields, dict) else fields, reply)

        if len(body) > self._most:
            act(self._too_large())
        else:
            when_read(codec.decode, body, act)
        status, data = codec.encoded(*await answered)
        if status != 200:
            data = codec.encode({**codec.decode(data), "status": status})
        return {"bytes": data} if text is None else {"text": data.decode()}


async def _reject(scope: Scope, send: Send, response: Response) -> None:
    """Refuse a WebSocket, with a response if the server can send one."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    kind, body = "websocket.http.response", response.body
    headers = [(b"content-type", response.content_type.encode())]
    await send({"type": f"{kind}.start", "status": response.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})


def _path_of(scope: Scope) -> str:
    """Return the path of a request below the prefix that the application is mounted at."""
    path: str = scope["path"]
    prefix = scope.get("root_path")
    if prefix and path.startswith(prefix):
        return path[len(prefix) :] or "/"
    return path
