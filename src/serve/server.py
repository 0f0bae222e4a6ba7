"""A server from its first policy to its last answer."""

from __future__ import annotations

import asyncio
import gc
import signal
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from ..core.errors import CheckpointNotFoundError, ConfigError, RlconnectError
from . import admin, kserve
from .admin import first_versions
from .answers import log
from .app import App
from .errors import ServeError
from .http.messages import Request
from .http.parsing import HttpLimits
from .http.protocol import Answer, Connections
from .http.websocket import Message, WebSocket, accept
from .models import Model
from .sessions import SessionTable
from .settings import ServeSettings
from .wire import JSON_CODEC, MSGPACK_CODEC, Codec


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


_GRACE = 0.25
"""Seconds in which idle clients may still send what they were just about to."""
_TIDY = 2.0
"""Seconds after which there is time to look for what loading left behind."""


def app_of(settings: ServeSettings, **loading: Any) -> App:
    """The endpoints with all policies loaded.

    Raises:
        ConfigError: No policy is named, two by one name, or an agent's is none of them.
        CheckpointError: One cannot be read.
    """
    app = empty_app(settings)
    watch = None if app.recorder is None else app.recorder.watch
    versions, app.casting = first_versions(settings, **loading)
    for version in versions:
        if version.name in app.models:
            raise ConfigError(
                f"two policies are called {version.name!r}", hint="name them: --name NAME=PATH."
            )
        moves = settings.move_sessions
        app.models[version.name] = Model(version.name, version, app.sessions, watch, moves=moves)
    return app


def empty_app(settings: ServeSettings) -> App:
    """The endpoints without a policy.

    Raises:
        ConfigError: Nothing can be recorded where it should be.
    """
    recorder = None
    if settings.record:
        from .recording import Recorder

        recorder = Recorder(settings.record)
    app = App(
        SessionTable(most=settings.max_sessions, time_to_live=settings.session_ttl),
        token=settings.token or None,
        cors=settings.cors,
        max_message=settings.max_body,
        access_log=settings.access_log,
        recorder=recorder,
    )
    admin.mount(app, settings.admin_token)
    kserve.mount(app)
    app.mounted["/v1/stream"] = open_stream
    return app


class Others(Protocol):
    """Other processes that serve the same sessions."""

    async def begin(self) -> None:
        """Be like them, and answer what they ask."""

    async def reload(self) -> None:
        """Load each policy from its path once more, in all of them."""

    async def leave(self, end: float) -> None:
        """Answer until they have no more to ask, or until the loop's clock shows `end`."""


class Server:
    """Listens, answers, and ends without losing what it accepted.

    Attributes:
        address: Where it listens, once it does.
    """

    def __init__(self, app: App, settings: ServeSettings, crew: Others | None = None) -> None:
        self.app, self.settings, self._crew = app, settings, crew
        limits = HttpLimits(
            max_body=settings.max_body,
            max_connections=settings.max_connections,
            read_timeout=settings.read_timeout,
        )
        self._ports = [("--port", settings.port, Connections(app, limits))]
        words: dict[str, Any] = {"token": settings.token, "access_log": settings.access_log}
        if settings.policy_server_port:
            from .policy_server import PolicyServer

            connections = Connections(PolicyServer(app, **words), limits)
            self._ports.append(("--policy-server-port", settings.policy_server_port, connections))
        if settings.rllink_port:
            from .rllink import RLlink

            patient = replace(limits, idle_timeout=settings.session_ttl)
            connections = RLlink(app, **words).connections(patient)
            self._ports.append(("--rllink-port", settings.rllink_port, connections))
        self._servers: list[asyncio.Server] = []
        self._ends = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.address: tuple[str, int] = ("", 0)

    async def start(self) -> None:
        """Listen.

        Raises:
            ConfigError: Nobody can listen there.
        """
        loop = asyncio.get_running_loop()
        if self._crew is not None:
            await self._crew.begin()
        for place in self._ports:
            await self._listen(*place)
        host, port = self._servers[0].sockets[0].getsockname()[:2]
        self.address = host, port
        self._tasks = [loop.create_task(connections.watch()) for _, _, connections in self._ports]
        self._tasks.append(loop.create_task(self._sweep()))
        self.app.is_ready = True

    async def _listen(self, flag: str, port: int, connections: Connections) -> None:
        settings = self.settings
        try:
            server = await asyncio.get_running_loop().create_server(
                connections.protocol,
                settings.host,
                port,
                ssl=_tls(settings),
                backlog=1024,
                reuse_port=True if self._crew is not None else None,
            )
        except OSError as error:
            for other in self._servers:
                other.close()
            raise ConfigError(
                f"cannot listen on {settings.host}:{port}: {error.strerror or error}",
                hint=f"name another one: {flag} PORT.",
            ) from None
        self._servers.append(server)

    async def run(self, started: Callable[[Server], None] | None = None) -> None:
        """Serve until `stop` is called or a signal comes."""
        await self.start()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.stop)
        with suppress(NotImplementedError, AttributeError, RuntimeError, ValueError):
            loop.add_signal_handler(signal.SIGHUP, self.reload)
        loop.call_later(_TIDY, _tidy)
        if started is not None:
            started(self)
        await self._ends.wait()
        await self.drain()

    def stop(self) -> None:
        """End when what was accepted is answered."""
        self._ends.set()

    def reload(self) -> None:
        """Load each policy from its path once more; one that cannot be read stays as it is."""
        loop = asyncio.get_running_loop()
        if self._crew is not None:
            self._tasks.append(loop.create_task(self._crew.reload()))
            return
        for model in self.app.models.values():
            self._tasks.append(loop.create_task(self._reloaded(model)))

    async def drain(self) -> None:
        """Take no new connections, answer what was accepted, end."""
        self.app.is_ready = False
        for server in self._servers:
            server.close()
        parts = [connections for _, _, connections in self._ports]
        for part in parts:
            part.is_draining = True
        loop = asyncio.get_running_loop()
        end = loop.time() + self.settings.drain_timeout
        await asyncio.sleep(_GRACE)
        while any(part.open for part in parts) and loop.time() < end:
            for connection in [connection for part in parts for connection in part.open]:
                connection.drain()
            await asyncio.sleep(0.02)
        for connection in [connection for part in parts for connection in part.open]:
            connection.abort()
        if self._crew is not None:
            await self._crew.leave(end)
        for task in self._tasks:
            task.cancel()
        for model in self.app.models.values():
            for version in model.versions.values():
                version.close()
        if self.app.recorder is not None:
            await loop.run_in_executor(None, self.app.recorder.close)

    async def _reloaded(self, model: Model) -> None:
        try:
            version = await admin.load(model, model.current.path)
            model.promote(version)
            log.warning("policy %s: version %d acts now", model.name, version.number)
        except RlconnectError as error:
            log.error("policy %s stays as it is: %s", model.name, error)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.app.sessions.sweep()


def _tidy() -> None:
    gc.collect()
    gc.freeze()  # what is there now stays, and need not be looked through again
    gc.enable()


def run_loop(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine in a loop of its own; in uvloop's where that is installed."""
    try:
        import uvloop  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        asyncio.run(main())
    else:
        uvloop.run(main())


def _tls(settings: ServeSettings) -> ssl.SSLContext | None:
    if not settings.tls_cert:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key or None)
    except FileNotFoundError as error:
        raise CheckpointNotFoundError(f"no certificate lies at {error.filename}") from None
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"{settings.tls_cert} is no certificate with a key: {error}") from None
    return context
