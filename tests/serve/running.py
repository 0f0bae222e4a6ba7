"""A server in a thread of the test's process, and raw bytes for it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from gymnasium import spaces
from rlconnect.bridge.front.load import as_policies
from rlconnect.legacy import Policy, create_connectors_for_policy
from rlconnect.serve import App, Server, ServeSettings
from rlconnect.serve.models import Model
from rlconnect.serve.server import empty_app
from rlconnect.serve.versions import Version

BOX = spaces.Box(-1.0, 1.0, (4,), np.float32)


def policy_of(observation_space: Any = BOX, action_space: Any = None, **config: Any) -> Policy:
    """A fresh policy with its default connectors."""
    policy = Policy(observation_space, action_space or spaces.Discrete(3), {"seed": 3, **config})
    create_connectors_for_policy(policy, policy.config)
    return policy


def recurrent(**config: Any) -> Policy:
    """One that remembers."""
    return policy_of(model={"use_lstm": True, "lstm_cell_size": 8, "fcnet_hiddens": [8]}, **config)


def app_with(policies: dict[str, Any], **settings: Any) -> App:
    """Endpoints for policies by name."""
    told = ServeSettings(**settings)
    app = empty_app(told)
    watch = None if app.recorder is None else app.recorder.watch
    for name, policy in policies.items():
        loaded = as_policies(policy).only
        version = Version(name, 1, loaded, loaded.path, told.max_waiting)
        version.try_out()
        app.models[name] = Model(name, version, app.sessions, watch, moves=told.move_sessions)
    return app


class Evil:
    """Runs a command when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RawWebSocket:
    """A client's side of a WebSocket, frame by frame.

    Args:
        connection: After the handshake was sent.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._data = b""

    def until(self, mark: bytes) -> bytes:
        """What comes up to and with a mark."""
        while mark not in self._data:
            part = self.connection.recv(65536)
            assert part, self._data
            self._data += part
        head, _, self._data = self._data.partition(mark)
        return head + mark

    def _take(self, count: int) -> bytes:
        while len(self._data) < count:
            part = self.connection.recv(65536)
            assert part, self._data
            self._data += part
        taken, self._data = self._data[:count], self._data[count:]
        return taken

    def send(self, data: bytes, kind: int = 1, *, is_last: bool = True, mask: bool = True) -> None:
        """Send a frame."""
        size = len(data)
        if size < 126:
            length = bytes([size | 0x80 * mask])
        else:
            length = bytes([126 | 0x80 * mask]) + size.to_bytes(2, "big")
        key = b"\x01\x02\x03\x04" if mask else b""
        hidden = bytes(byte ^ key[at % 4] for at, byte in enumerate(data)) if mask else data
        self.connection.sendall(bytes([0x80 * is_last | kind]) + length + key + hidden)

    def frame(self) -> tuple[int, bytes]:
        """The kind and content of the next frame."""
        kind, size = self._take(2)
        if size in (126, 127):
            size = int.from_bytes(self._take(2 if size == 126 else 8), "big")
        return kind & 0x0F, self._take(size)

    def receive(self) -> bytes:
        """The next message."""
        kind, data = self.frame()
        assert kind in (1, 2), (kind, data)
        return data


class Running:
    """A server that listens.

    Args:
        app: Its endpoints.
        server: It.
        loop: The loop it runs in, in its own thread.
    """

    def __init__(self, app: App, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        self.app, self.server, self.loop = app, server, loop
        self.port = server.address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def raw(self, data: bytes, *, then_close: bool = True, port: int = 0) -> bytes:
        """What is answered to bytes, until the server hangs up."""
        with socket.create_connection(("127.0.0.1", port or self.port), timeout=20) as connection:
            try:
                connection.sendall(data)
                if then_close:
                    connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it was refused before its end
            got = bytearray()
            try:
                while part := connection.recv(65536):
                    got += part
            except ConnectionResetError:
                pass
            return bytes(got)

    def ask(self, method: str, path: str, document: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and document of an answer."""
        body = b"" if document is None else json.dumps(document).encode()
        told = {"host": "here", "content-length": str(len(body)), "connection": "close"}
        if body:
            told["content-type"] = "application/json"
        told |= {name.replace("_", "-"): own for name, own in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        answer = self.raw(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        head, _, rest = answer.partition(b"\r\n\r\n")
        is_json = b"application/json" in head
        return int(head[9:12]), json.loads(rest) if is_json and rest else rest

    def act(self, obs: Any, **fields: Any) -> dict[str, Any]:
        """The document of an action."""
        status, document = self.ask("POST", "/v1/act", {"obs": obs, **fields})
        assert status == 200, document
        found: dict[str, Any] = document
        return found

    @contextmanager
    def websocket(self, path: str) -> Iterator[RawWebSocket]:
        """A connection for messages."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(
                f"GET {path} HTTP/1.1\r\nhost: h\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
                "sec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
                "".encode()
            )
            found = RawWebSocket(connection)
            head = found.until(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 101"), head
            assert b"BACScCJPNqyz+UBoqMH89VmURoA=" in head
            yield found

    def call(self, function: Any, *args: Any) -> Any:
        """Run something in the server's own thread."""
        done: Any = threading.Event()
        found: list[Any] = []

        def run() -> None:
            try:
                found.append(function(*args))
            finally:
                done.set()

        self.loop.call_soon_threadsafe(run)
        assert done.wait(20)
        return found[0]


@contextmanager
def running(policies: dict[str, Any], **settings: Any) -> Iterator[Running]:
    """A server for a `with` block, on a port that is free."""
    settings = {"port": 0, "drain_timeout": 5.0, "allow_host": "h, here", **settings}
    app = app_with(policies, **settings)
    loop = asyncio.new_event_loop()
    server: list[Server] = []
    is_up = threading.Event()

    async def main() -> None:
        server.append(Server(app, ServeSettings(**settings)))
        await server[0].run(lambda _: is_up.set())

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), daemon=True)
    thread.start()
    assert is_up.wait(60)
    try:
        yield Running(app, server[0], loop)
    finally:
        loop.call_soon_threadsafe(server[0].stop)
        thread.join(30)
        assert not thread.is_alive()
        loop.close()
