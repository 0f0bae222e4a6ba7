"""Change policies while they are served: load, try, compare, promote, go back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ..core.errors import RlconnectError
from .answers import may
from .app import App, Reply
from .errors import ServeError
from .http.messages import Request, json_response
from .http.protocol import Answer
from .loading import next_version
from .models import Model
from .wire import codec_of, fields_of

_FIELDS: dict[str, Any] = {
    "do": str,
    "policy": str,
    "path": str,
    "version": int,
    "share": (int, float),
    "move": bool,
}


def mount(app: App, token: str) -> None:
    """Let those change policies who show a token; nobody if it is empty."""

    def handle(app: App, request: Request, answer: Answer) -> None:
        if request.method != "POST":
            raise ServeError(405, "method_not_allowed", "policies are changed by POST")
        if not token:
            raise ServeError(403, "no_admin", "policies are not changed over HTTP here",
                             hint="start the server with --admin-token TOKEN.")  # fmt: skip
        if not may(request, token):
            raise ServeError(401, "unauthorized", "the admin's token is needed")
        asked = codec_of(request.content_type).decode(request.body)
        change(app, asked, lambda status, told: answer(json_response(told, status)))

    app.mounted["/v1/admin"] = handle


def change(app: App, asked: Any, reply: Reply) -> None:
    """Do what an admin asks.

    Args:
        app: Whose policies they are.
        asked: `{"do": "load", "policy": NAME, "path": PATH}`, or `"canary"` (with `"share"`),
            `"shadow"`, `"promote"`, `"rollback"`, each with a `"version"` or a `"path"` to load;
            the last two with `"move"` for sessions that run to go on with it.
        reply: Called with what the policy is like then.

    Raises:
        ServeError: It cannot be done.
    """
    fields = fields_of(asked, _FIELDS)
    verb = _VERBS.get(fields.get("do", ""))
    if verb is None:
        raise ServeError(400, "bad_field", f"do has to be one of {', '.join(_VERBS)}")
    model = app.model(fields.get("policy"))
    if "path" not in fields:
        told = verb(model, _named(model, fields), fields)
        reply(200, {**model.describe(), **(told or {})})
        return

    async def load_first() -> None:
        try:
            version = await asyncio.get_running_loop().run_in_executor(
                None, next_version, model, fields["path"]
            )
            model.add(version)
            told = verb(model, version.number, fields)
            reply(200, {**model.describe(), **(told or {})})
        except ServeError as error:
            reply(error.status, error.to_dict())
        except RlconnectError as error:
            reply(409, {"error": error.summary, "code": "not_loaded", "hint": error.hint})

    task = asyncio.get_running_loop().create_task(load_first())
    _running.add(task)
    task.add_done_callback(_running.discard)


_running: set[Any] = set()


def _named(model: Model, fields: dict[str, Any]) -> int | None:
    number: int | None = fields.get("version")
    if number is None and fields["do"] not in ("rollback", "shadow_off", "canary_off"):
        raise ServeError(400, "bad_field", "name a version, or the path of one to load")
    if number is not None:
        model.numbered(number)
    return number


def _load(model: Model, number: int | None, fields: dict[str, Any]) -> None:
    """It is loaded; nothing else changes."""


def _canary(model: Model, number: int | None, fields: dict[str, Any]) -> None:
    share = float(fields.get("share", 0.05))
    if number is not None:
        model.try_as_canary(model.numbered(number), share)


def _shadow(model: Model, number: int | None, fields: dict[str, Any]) -> None:
    if number is not None:
        model.follow_as_shadow(model.numbered(number))


def _promote(model: Model, number: int | None, fields: dict[str, Any]) -> dict[str, int]:
    assert number is not None
    return model.promote(model.numbered(number), move=fields.get("move"))


def _roll_back(model: Model, number: int | None, fields: dict[str, Any]) -> dict[str, int]:
    """The version before the current one acts again, or the one that is named."""
    if number is None:
        older = [each for each in model.versions if each < model.current.number]
        if not older:
            raise ServeError(409, "no_version", f"policy {model.name!r} has no version before this")
        number = max(older)
    return _promote(model, number, fields)


def _shadow_off(model: Model, number: int | None, fields: dict[str, Any]) -> None:
    model.follow_as_shadow(None)
    model.collect()


def _canary_off(model: Model, number: int | None, fields: dict[str, Any]) -> None:
    model.canary, model.canary_share = None, 0.0
    model.collect()


_VERBS: dict[str, Callable[[Model, int | None, dict[str, Any]], dict[str, int] | None]] = {
    "load": _load,
    "canary": _canary,
    "canary_off": _canary_off,
    "shadow": _shadow,
    "shadow_off": _shadow_off,
    "promote": _promote,
    "rollback": _roll_back,
}
