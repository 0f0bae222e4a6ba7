"""Any checkpoint as an application of Ray Serve, for where one machine is outgrown.

    serve run rlconnect.serve.ray_serve:app path=path/to/checkpoint min_replicas=2 max_replicas=8

A replica is an `App`: paths, bodies, sessions and batches are those of `rlconnect serve`. Ray sends
a session to its replica by the header that its name comes in, and a replica that gets a request
without it passes it on. When replicas come or go, some sessions are another one's: they are gone,
as their clients are told, so a session has to say when it begins (`"step": 0`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import asdict
from typing import Any, Final

from ..core.errors import ConfigError, MissingExtraError
from .app import Reply
from .messages import Request, Response
from .server import app_of
from .settings import ServeSettings

_ROUTER: Final = "ray.serve.experimental.consistent_hash_router.ConsistentHashRouter"
_HEADER: Final = "RAY_SERVE_SESSION_ID_HEADER_KEY"
_NUMBERS: Final[Mapping[str, tuple[type, Any]]] = {
    "min_replicas": (int, 1),
    "max_replicas": (int, None),
    "target_ongoing_requests": (float, 16.0),
    "max_ongoing_requests": (int, 1000),
    "num_cpus": (float, 1.0),
}
_home: ContextVar[Any] = ContextVar("home", default=None)
"""The session for which the request at hand was routed here; True if that was a replica's doing."""


def app(args: Mapping[str, Any]) -> Any:
    """An application that `serve run` or `ray.serve.run` starts.

    Args:
        args: `path` of a checkpoint, or `policies`, a dict of paths by name; `min_replicas` and
            `max_replicas` (autoscaling, where they differ) with `target_ongoing_requests`,
            `max_ongoing_requests`, `num_cpus` and `name`; and what a server is told besides:
            `max_sessions`, `session_ttl`, `max_waiting`, `token`, `record`.

    Raises:
        MissingExtraError: Ray Serve is not installed.
        ConfigError: An argument is unknown, or of a wrong type.
    """
    try:
        from ray import serve
        from ray.serve.config import AutoscalingConfig, RequestRouterConfig
    except ImportError as error:
        raise MissingExtraError(
            f"Ray Serve cannot be imported: {error}", hint="pip install 'ray[serve]>=2.56'"
        ) from error
    settings_data = {**args}
    name = str(settings_data.pop("name", "policy"))
    numbers = {key: _number(key, settings_data.pop(key, None)) for key in _NUMBERS}
    if "path" in settings_data:
        settings_data["policies"] = {"": str(settings_data.pop("path"))}
    settings = ServeSettings.read(settings_data, {})
    least, most = numbers["min_replicas"], numbers["max_replicas"]
    if most is None or most == least:
        count: dict[str, Any] = {"num_replicas": least}
    else:
        scaling = AutoscalingConfig(
            min_replicas=least,
            max_replicas=most,
            target_ongoing_requests=numbers["target_ongoing_requests"],
        )
        count = {"autoscaling_config": scaling}
    deployment = serve.deployment(
        Replica,
        name=name,
        max_ongoing_requests=numbers["max_ongoing_requests"],
        ray_actor_options={"num_cpus": numbers["num_cpus"]},
        request_router_config=RequestRouterConfig(
            request_router_class=_ROUTER, request_router_kwargs={"num_fallback_replicas": 0}
        ),
        **count,
    )
    return deployment.bind(asdict(settings))


def _number(name: str, value: Any) -> Any:
    kind, usual = _NUMBERS[name]
    if value is None:
        return usual
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise ConfigError(name, expected=kind.__name__, found=repr(value)[:80]) from None


class Replica:
    """One process that serves, as Ray starts it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from ray import serve

        self._app = app_of(ServeSettings(**settings))
        self._app.is_ready = self._app.is_strict = True
        self._app.passes_on = self._passes_on
        self._header = os.environ.get(_HEADER, "x-session-id").lower()
        here = serve.get_replica_context()
        self._all = serve.get_deployment_handle(here.deployment, here.app_name)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_swept = False

    async def __call__(self, request: Any) -> Any:
        """Answer a request over HTTP."""
        from starlette.responses import Response as Answer

        url, peer = request.url, request.client
        question = Request(
            request.method,
            url.path,
            dict(request.headers.raw),
            await request.body(),
            url.query.encode("latin-1"),
            peer.host if peer else "",
        )
        _home.set(request.headers.get(self._header))
        response: Response = await self._answered(lambda answer: self._app.handle(question, answer))
        known = {**response.headers, "x-session-header": self._header}
        return Answer(response.body, response.status, known, response.content_type)

    async def act(self, fields: Any) -> tuple[int, Any]:
        """Act for a request of a session that has its home here."""
        _home.set(True)
        result: tuple[int, Any] = await self._answered(
            lambda reply: self._app.act(fields, lambda *answer: reply(answer))
        )
        return result

    def check_health(self) -> None:
        """Come back if all is well."""

    async def _answered(self, ask: Any) -> Any:
        loop = asyncio.get_running_loop()
        if not self._is_swept:
            self._is_swept = True
            self._soon(self._sweep())
        answered: asyncio.Future[Any] = loop.create_future()
        ask(lambda answer: None if answered.done() else answered.set_result(answer))
        return await answered

    def _passes_on(self, document: Any, reply: Reply) -> bool:
        """Let the replica answer to which Ray routes a session; False if that is this one."""
        id_ = document.get("session") if isinstance(document, dict) else None
        home = _home.get()
        if home is True or id_ is None or id_ is False or id_ == home:
            return False
        if id_ is True:
            id_ = f"r-{os.urandom(12).hex()}"
            document = {**document, "session": id_, "step": 0}
        if not isinstance(id_, str):
            return False
        name = id_

        async def ask() -> None:
            reply(*await self._all.options(session_id=name).act.remote(document))

        self._soon(ask())
        return True

    def _soon(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self._app.sessions.sweep()
