"""Serving from the first line to the exit code, with one process or several."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .app import App
from .server import Server, app_of, run_loop
from .settings import ServeSettings

if TYPE_CHECKING:
    from .workers.supervisor import Post


def run(
    settings: ServeSettings,
    started: Callable[[Server], None] | None = None,
    **loading: Any,
) -> int:
    """Load, serve, and come back when the server has ended.

    Args:
        settings: What to serve, and how.
        started: Called when the server listens.
        **loading: As for `app_of`.

    Returns:
        The exit code: 0, or that of a worker that could not begin.
    """
    if settings.access_log:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logging.getLogger("rlconnect.serve.access").addHandler(handler)
        logging.getLogger("rlconnect.serve.access").setLevel(logging.INFO)
    if settings.workers > 1:
        return _run_workers(settings, started, loading)
    app = app_of(settings, **loading)
    run_loop(lambda: Server(app, settings).run(started))
    return 0


def _run_workers(
    settings: ServeSettings, started: Callable[[Server], None] | None, loading: Mapping[str, Any]
) -> int:
    """Serve with several processes; gives the exit code when all have ended.

    Raises:
        ConfigError: This system cannot, or somebody has the port.
    """
    from .workers.supervisor import Supervisor, shared_port

    listening, port = shared_port(settings.host, settings.port)

    def work(post: Post) -> None:
        share = replace(
            settings,
            port=port,
            max_sessions=-(-settings.max_sessions // post.count),
            max_connections=-(-settings.max_connections // post.count),
            # Conversations of Ray's clients are one process's.
            policy_server_port=0 if post.index else settings.policy_server_port,
        )
        app = app_of(share, **loading)
        run_loop(lambda: _serve(app, share, post, started))
        sys.stdout.flush()
        sys.stderr.flush()

    with listening:
        return Supervisor(settings.workers, work).run()


async def _serve(
    app: App, settings: ServeSettings, post: Post, started: Callable[[Server], None] | None
) -> None:
    from .workers.crew import Crew

    crew = Crew(app, post, settings.admin_token)
    server = Server(app, settings, crew)
    loop = asyncio.get_running_loop()
    is_orphan = False

    def orphaned() -> None:
        nonlocal is_orphan
        is_orphan = True
        loop.remove_reader(post.parent)
        server.stop()

    loop.add_reader(post.parent, orphaned)

    async def tell() -> None:
        await crew.all_there()
        if started is not None:
            started(server)

    telling: list[asyncio.Task[None]] = []

    def listens(server: Server) -> None:
        post.ready()
        if post.is_first and post.index == 0:
            telling.append(loop.create_task(tell()))

    await server.run(listens)
    for task in telling:
        task.cancel()
    if is_orphan:
        shutil.rmtree(post.folder, ignore_errors=True)
