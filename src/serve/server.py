"""Run the ASGI application on uvicorn, with the ports of RLlib's clients beside it."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import signal
import socket
import ssl
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from ..core.errors import CheckpointNotFoundError, ConfigError, MissingExtraError, RlconnectError
from . import admin
from .admin import first_versions
from .answers import log
from .app import App
from .application import Application
from .models import Model
from .sessions import SessionTable
from .settings import ServeSettings

_ORIGIN: Final = re.compile(r"\*|[a-z][a-z0-9+.-]*://[A-Za-z0-9.:\[\]-]+")
_TIDY: Final = 2.0
"""Seconds after which there is time to look for what loading left behind."""
_KEEP_ALIVE: Final = 75
"""Seconds that a connection may wait for its next request."""
_KEPT_FILES: Final = 64
"""File descriptors that are not used for connections."""


def run(
    settings: ServeSettings,
    started: Callable[[Server], None] | None = None,
    **loading: Any,
) -> None:
    """Load policies and serve them until the process is told to end.

    Args:
        settings: What to serve, and how.
        started: Called when the server listens.
        **loading: As for `app_of`.

    Raises:
        MissingExtraError: uvicorn is not installed.
    """
    _check_extra()
    if settings.access_log:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logging.getLogger("rlconnect.serve.access").addHandler(handler)
        logging.getLogger("rlconnect.serve.access").setLevel(logging.INFO)
    app = app_of(settings, **loading)
    run_loop(lambda: Server(app, settings).run(started))


def app_of(settings: ServeSettings, **loading: Any) -> App:
    """Return the endpoints with all policies loaded.

    Raises:
        ConfigError: No policy is named, two have one name, or an agent's is none of them.
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
    """Return the endpoints without a policy.

    Raises:
        ConfigError: Episodes cannot be recorded at the given place, or `cors` is not an origin.
    """
    if settings.cors and not _ORIGIN.fullmatch(settings.cors):
        raise ConfigError("cors", expected="an origin such as https://pages.example, or *",
                          found=repr(settings.cors)[:80])  # fmt: skip
    recorder = None
    if settings.record:
        from .recording import Recorder

        recorder = Recorder(settings.record)
    app = App(
        SessionTable(most=settings.max_sessions, time_to_live=settings.session_ttl),
        token=settings.token or None,
        cors=settings.cors,
        access_log=settings.access_log,
        recorder=recorder,
    )
    admin.mount(app, settings.admin_token)
    return app


class Server:
    """Listen, answer, and shut down without losing accepted requests.

    Attributes:
        address: Host and port, once it listens.
    """

    def __init__(self, app: App, settings: ServeSettings) -> None:
        self.app, self.settings = app, settings
        self._application = Application(app, settings, app)
        self._ports = [("--port", settings.port, self._application)]
        words: dict[str, Any] = {"token": settings.token, "access_log": settings.access_log}
        if settings.policy_server_port:
            from .policy_server import PolicyServer

            application = Application(PolicyServer(app, **words), settings, app)
            self._ports.append(("--policy-server-port", settings.policy_server_port, application))
        self._rllink: Any = None
        if settings.rllink_port:
            from .rllink import RLlink

            self._rllink = RLlink(app, settings)
        self._servers: list[Any] = []
        self._ends = asyncio.Event()
        self._serving: list[asyncio.Task[None]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.address: tuple[str, int] = ("", 0)

    async def start(self) -> None:
        """Listen.

        Raises:
            ConfigError: A port cannot be listened on.
            MissingExtraError: uvicorn is not installed.
        """
        _check_extra()
        loop = asyncio.get_running_loop()
        configs = [self._config(application) for _, _, application in self._ports]
        sockets: list[socket.socket] = []
        try:
            for flag, port, _ in self._ports:
                sockets.append(self._bound(flag, port))
            if self._rllink is not None:
                flag, port = "--rllink-port", self.settings.rllink_port
                await self._rllink.listen(self._bound(flag, port), configs[0].ssl)
        except ConfigError:
            for listening in sockets:
                listening.close()
            raise
        self.address = sockets[0].getsockname()[:2]
        for config, listening in zip(configs, sockets, strict=True):
            server = _uvicorn_server(config)
            self._servers.append(server)
            self._serving.append(loop.create_task(server.serve([listening])))
            while not (server.started or self._serving[-1].done()):
                await asyncio.sleep(0.001)
        self._tasks.append(loop.create_task(self._expire()))
        self.app.is_ready = True

    def _config(self, application: Application) -> Any:
        import uvicorn

        from .protocol import LimitedProtocol

        settings = self.settings
        limits: dict[str, Any] = {
            "most": settings.max_connections,
            "read_timeout": settings.read_timeout,
            "refused": deque(),
        }
        with suppress(ImportError):
            import resource

            files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            if files != resource.RLIM_INFINITY:
                limits["most"] = min(limits["most"], max(files - _KEPT_FILES, 8))
        config = uvicorn.Config(
            application,
            http=type("Protocol", (LimitedProtocol,), limits),
            ws="websockets-sansio",
            ws_max_size=settings.max_body,
            interface="asgi3",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            backlog=1024,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=settings.drain_timeout,  # type: ignore[arg-type]
            ssl_certfile=settings.tls_cert or None,
            ssl_keyfile=settings.tls_key or None,
        )
        try:
            config.load()
        except FileNotFoundError as error:
            raise CheckpointNotFoundError(
                f"no such file: {error.filename or settings.tls_cert}"
            ) from None
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"{settings.tls_cert} is not a certificate with a key: {error}"
            ) from None
        return config

    def _bound(self, flag: str, port: int) -> socket.socket:
        """Return a socket that is bound to a port of the host."""
        host = self.settings.host
        try:
            family, _, _, _, place = socket.getaddrinfo(
                host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            return socket.create_server(place[:2], family=family, backlog=1024)
        except (OSError, OverflowError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(
                f"cannot listen on {host}:{port}: {reason}", hint=f"name another one: {flag} PORT."
            ) from None

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
        """End when accepted requests are answered."""
        self._ends.set()

    def reload(self) -> None:
        """Load each policy from its path again; one that cannot be read stays as it is."""
        loop = asyncio.get_running_loop()
        for model in self.app.models.values():
            self._tasks.append(loop.create_task(self._reloaded(model)))

    async def drain(self) -> None:
        """Accept no connections, answer accepted requests, and end."""
        self.app.is_ready = False
        for server in self._servers:
            server.should_exit = True
        if self._rllink is not None:
            await self._rllink.close(self.settings.drain_timeout)
        await asyncio.gather(*self._serving, return_exceptions=True)
        for task in self._tasks:
            task.cancel()
        await self._application.close()

    async def _reloaded(self, model: Model) -> None:
        try:
            version = await admin.load(model, model.current.path)
            model.promote(version)
            log.warning("policy %s: version %d acts now", model.name, version.number)
        except RlconnectError as error:
            log.error("policy %s stays as it is: %s", model.name, error)

    async def _expire(self) -> None:
        from .protocol import LimitedProtocol

        while True:
            await asyncio.sleep(min(0.5, self.settings.read_timeout / 4))
            now = asyncio.get_running_loop().time()
            for server in self._servers:
                for connection in [*server.server_state.connections]:
                    if isinstance(connection, LimitedProtocol):
                        connection.expire(now)


def _uvicorn_server(config: Any) -> Any:
    """Return a server of uvicorn that leaves signals to us."""
    import uvicorn

    class Quiet(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Quiet(config)


def _check_extra() -> None:
    try:
        import httptools  # noqa: F401
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"serving needs uvicorn with httptools and websockets: {error}",
            hint="pip install 'rlconnect[serve]'",
        ) from error


def _tidy() -> None:
    gc.collect()
    gc.freeze()  # what is there now stays, and need not be looked through again
    gc.enable()


def run_loop(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine in a new loop, of uvloop if that is installed."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main())
    else:
        uvloop.run(main())
