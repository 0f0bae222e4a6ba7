"""The description of all paths that programs read: OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from ..core.version import __version__

_ERROR = {
    "type": "object",
    "required": ["error", "code"],
    "properties": {
        "error": {"type": "string", "description": "What is wrong, for people."},
        "code": {"type": "string", "description": "The same for programs."},
        "hint": {"type": "string", "description": "What to do."},
    },
}
_ANY: dict[str, Any] = {}
_ACT = {
    "type": "object",
    "required": ["obs"],
    "additionalProperties": False,
    "properties": {
        "obs": {**_ANY, "description": "An observation, or a list of them."},
        "policy": {"type": "string", "description": "Which policy, if there are several."},
        "session": {
            "type": ["string", "boolean"],
            "description": "Whose memory to go on with; true for a new session.",
        },
        "batch": {"type": "boolean", "description": "Whether obs is a list of observations."},
        "explore": {"type": "boolean", "description": "Whether to explore; greedy if not."},
        "reward": {**_ANY, "description": "What the last action earned."},
        "terminated": {**_ANY, "description": "Whether the episode ended with this observation."},
        "truncated": {**_ANY, "description": "Whether it was cut off there."},
        "info": {**_ANY, "description": "What the environment told besides; it is recorded."},
        "step": {
            "type": "integer",
            "description": "The number of this request in its session: it may be sent again.",
        },
        "seed": {"type": "integer", "description": "Of exploration, from here on."},
        "fetches": {
            "type": ["array", "boolean"],
            "description": "What to give beside the action, such as vf_preds; true for all.",
        },
    },
}
_ACTED = {
    "type": "object",
    "required": ["action", "session", "policy", "version"],
    "properties": {
        "action": {**_ANY, "description": "What to do; of a batch, a row for each observation."},
        "session": {"type": ["string", "null"]},
        "policy": {"type": "string"},
        "version": {"type": "integer", "description": "Which version of the policy acted."},
        "fetches": {"type": "object", "description": "What was asked for beside the action."},
        "recorded": {"type": "boolean", "description": "Whether episodes are kept."},
    },
}


def document() -> dict[str, Any]:
    """All paths with what they take and give."""
    both = ("application/json", "application/msgpack")
    act = _path(
        "Act once",
        {"requestBody": {"required": True, "content": {k: {"schema": _ACT} for k in both}}},
        {kind: {"schema": _ACTED} for kind in both},
        400, 404, 409, 410, 413, 415, 429, 503,
    )  # fmt: skip
    named = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "rlconnect serve", "version": __version__},
        "paths": {
            "/v1/act": {"post": act},
            "/v1/stream": {"get": _path("A WebSocket: each message is a step", {}, {}, 426)},
            "/v1/policies": {"get": _path("What is served")},
            "/v1/sessions": {"get": _path("Which sessions there are")},
            "/v1/sessions/{id}": {
                "delete": _path("End a session", {"parameters": [named]}, None, 404)
            },
            "/v1/statistics": {"get": _path("What the page shows")},
            "/v1/admin": {"post": _path("Change a policy", {}, None, 401, 403, 409)},
            "/healthz": {"get": _path("Alive")},
            "/readyz": {"get": _path("Ready for requests", {}, None, 503)},
            "/metrics": {"get": _path("Prometheus text")},
            "/openapi.json": {"get": _path("This document")},
        },
    }


def _path(
    summary: str,
    parameters: dict[str, Any] | None = None,
    content: dict[str, Any] | None = None,
    *refusals: int,
) -> dict[str, Any]:
    answers: dict[str, Any] = {"200": {"description": "It is so."}}
    if content:
        answers["200"]["content"] = content
    for status in refusals:
        answers[str(status)] = {
            "description": "It is refused.",
            "content": {"application/json": {"schema": _ERROR}},
        }
    return {"summary": summary, **(parameters or {}), "responses": answers}
