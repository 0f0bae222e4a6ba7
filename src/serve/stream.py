"""A WebSocket on which each message is a step."""

from __future__ import annotations

from typing import Any

from .app import App
from .errors import ServeError
from .http.messages import Request
from .http.protocol import Answer
from .http.websocket import Message, WebSocket, accept
from .wire import JSON_CODEC, MSGPACK_CODEC, Codec


def mount(app: App) -> None:
    """Answer at /v1/stream."""
    app.mounted["/v1/stream"] = open_stream


def open_stream(app: App, request: Request, answer: Answer) -> WebSocket:
    """A WebSocket on which each message is a step, and a session that ends with it."""
    standard = {"policy": request.query.get("policy"), "session": app.sessions.new_id()}

    def on_message(socket: WebSocket, message: Message) -> None:
        codec: Codec = JSON_CODEC if isinstance(message, str) else MSGPACK_CODEC

        def reply(status: int, document: Any) -> None:
            status, data = codec.encoded(status, document)
            if status != 200:
                data = codec.encode({**codec.decode(data), "status": status})
            socket.send(data.decode() if codec is JSON_CODEC else data)

        try:
            fields = codec.decode(message.encode() if isinstance(message, str) else message)
        except ServeError as error:
            reply(error.status, error.to_dict())
            return
        app.act({**standard, **fields} if isinstance(fields, dict) else fields, reply)

    def on_end() -> None:
        app.end_sessions(standard["session"] or "")

    return WebSocket(accept(request), on_message, on_end, app.max_message)
