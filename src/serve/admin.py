"""Change policies while they are served: load, promote, go back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..bridge.front.load import as_policies
from ..bridge.loading.mapping import Casting
from ..core.errors import ConfigError, RlconnectError
from .answers import may, status_of
from .app import App, Reply
from .errors import ServeError
from .messages import Answer, Request, json_response
from .models import Model
from .settings import ServeSettings
from .versions import Version
from .wire import codec_of, fields_of


def first_versions(
    settings: ServeSettings,
    policy_ids: Sequence[str] | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[list[Version], Casting | None]:
    """The policies that a server begins with, each of which has acted once, and their agents.

    Raises:
        ConfigError: No policy is named, or an agent's is none of them.
        CheckpointError: One cannot be read.
    """
    versions, agents = [], dict(settings.agents)
    if not settings.policies:
        raise ConfigError("there is nothing to serve", expected="the path of a checkpoint")
    for prefix, source in settings.policies.items():
        loading: Mapping[str, Any] = {**options, "policy_mapping_fn": settings.agents or None}
        is_path = isinstance(source, str)
        policies = as_policies(source, **loading) if is_path else as_policies(source)
        for id_, policy in policies.items():
            if policy_ids is not None and id_ not in policy_ids:
                continue
            name = id_ if not prefix else prefix if len(policies) == 1 else f"{prefix}/{id_}"
            path = source if is_path else policy.path
            version = Version(name, 1, policy, path, settings.max_waiting, loading)
            version.try_out()
            versions.append(version)
            mapping = policies.policy_mapping_fn
            if not settings.agents and isinstance(mapping, Mapping):
                agents |= {agent: name for agent, played in mapping.items() if played == id_}
    names = [version.name for version in versions]
    for agent, name in agents.items():
        if name not in names:
            raise ConfigError(
                f"agent {agent!r} has no policy {name!r}", expected=", ".join(names[:20])
            )
    return versions, Casting(names, agents) if agents else None


def next_version(model: Model, path: str, number: int | None = None) -> Version:
    """Another version of a model, loaded from a path and not used yet.

    Raises:
        CheckpointError: It cannot be read.
        ConfigError: The checkpoint has several policies, and none of the model's name.
    """
    current = model.current
    policies = as_policies(path, **current.loading)
    ids = (model.name.rpartition("/")[2], current.policy.id)
    id_ = next((policy_id for policy_id in ids if policy_id in policies), None)
    if id_ is None:
        if len(policies) != 1:
            raise ConfigError(
                f"{path} has no policy for {model.name!r}", found=", ".join([*policies][:10])
            )
        id_ = next(iter(policies))
    number = model.next_number() if number is None else number
    waiting, loading = current.most_waiting, current.loading
    return Version(model.name, number, policies[id_], path, waiting, loading)


_FIELDS: dict[str, Any] = {
    "do": str,
    "policy": str,
    "path": str,
    "version": int,
    "move": bool,
}


Change = Callable[[App, Any, Reply], None]


def mount(app: App, token: str, change: Change | None = None) -> None:
    """Answer admin requests that show the token; none if it is empty.

    Args:
        app: Whose policies they are.
        token: What has to be shown.
        change: Does what they ask; `change` of this module if None.
    """

    def handle(app: App, request: Request, answer: Answer) -> None:
        if request.method != "POST":
            raise ServeError(405, "method_not_allowed", "policies are changed by POST")
        if not token:
            raise ServeError(403, "no_admin", "policies are not changed over HTTP here",
                             hint="start the server with --admin-token TOKEN.")  # fmt: skip
        if not may(request, token):
            raise ServeError(401, "unauthorized", "the admin's token is needed")
        document = codec_of(request.content_type).decode(request.body)
        do(app, document, lambda status, facts: answer(json_response(facts, status)))

    do = change or _change
    app.mounted["/v1/admin"] = handle


def checked(document: Any) -> dict[str, Any]:
    """The fields of what an admin asks.

    Raises:
        ServeError: It is nothing that can be done.
    """
    fields = fields_of(document, _FIELDS)
    if fields.get("do", "") not in _VERBS:
        raise ServeError(400, "bad_field", f"do has to be one of {', '.join(_VERBS)}")
    return fields


def change(app: App, document: Any, reply: Reply) -> None:
    """Do what an admin asks.

    Args:
        app: Whose policies they are.
        document: `{"do": "load", "policy": NAME, "path": PATH}`, or `"promote"` or `"rollback"`
            with a `"version"` or a `"path"` to load, and `"move"` for running sessions to go on
            with it.
        reply: Called with what the policy is like then.

    Raises:
        ServeError: It cannot be done.
    """
    fields = checked(document)
    verb = _VERBS[fields["do"]]
    model = app.model(fields.get("policy"))
    if "path" not in fields:
        changes = verb(model, _named(model, fields), fields)
        reply(200, {**model.describe(), **(changes or {})})
        return

    async def load_first() -> None:
        try:
            version = await load(model, fields["path"])
            changes = verb(model, version.number, fields)
            reply(200, {**model.describe(), **(changes or {})})
        except Exception as error:
            reply(*_not_loaded(error))

    task = asyncio.get_running_loop().create_task(load_first())
    _running.add(task)
    task.add_done_callback(_running.discard)


_change = change


async def load(model: Model, path: str, number: int | None = None) -> Version:
    """Load another version of a model, without using it yet.

    Raises:
        RlconnectError: It cannot be read, or is for another environment.
    """
    # The thread reads under the same bounds: it gets a copy of the context.
    version = await asyncio.to_thread(next_version, model, path, number)
    model.add(version)
    return version


def _not_loaded(error: Exception) -> tuple[int, dict[str, str]]:
    """Return status and document for a version that could not be loaded."""
    if isinstance(error, ServeError):
        return error.status, error.to_dict()
    if isinstance(error, RlconnectError):
        return 409, {"error": error.summary, "code": "not_loaded", "hint": error.hint}
    if not isinstance(error, (OSError, ValueError)):
        return status_of(error)
    return 409, {"error": f"cannot load the path: {str(error)[:200]}", "code": "not_loaded"}


_running: set[Any] = set()


def _named(model: Model, fields: dict[str, Any]) -> int | None:
    number: int | None = fields.get("version")
    if number is None and fields["do"] != "rollback":
        raise ServeError(400, "bad_field", "name a version, or the path of one to load")
    if number is not None:
        model.numbered(number)
    return number


def _load(model: Model, number: int | None, fields: dict[str, Any]) -> None:
    """It is loaded; nothing else changes."""


def _promote(model: Model, number: int | None, fields: dict[str, Any]) -> dict[str, int]:
    assert number is not None
    return model.promote(model.numbered(number), move=fields.get("move"))


def _roll_back(model: Model, number: int | None, fields: dict[str, Any]) -> dict[str, int]:
    """The version before the current one acts again, or the one that is named."""
    if number is None:
        older = [number for number in model.versions if number < model.current.number]
        if not older:
            raise ServeError(409, "no_version", f"policy {model.name!r} has no version before this")
        number = max(older)
    return _promote(model, number, fields)


_VERBS: dict[str, Callable[[Model, int | None, dict[str, Any]], dict[str, int] | None]] = {
    "load": _load,
    "promote": _promote,
    "rollback": _roll_back,
}
