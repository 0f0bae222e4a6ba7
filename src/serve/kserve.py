"""The Open Inference Protocol (KServe's V2), so that clients of Triton and others work as they are.

An input is one tensor `obs` with a row for each observation (or one a part of a nested one, named
`obs.PART`), an output is `action`. A sequence is a session: `parameters.sequence_id`, with
`sequence_start` and `sequence_end`. `outputs` may name what the network gives besides.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ..core import nest
from ..core.spaces.walk import leaf_spaces
from ..core.version import __version__
from .app import App
from .errors import ServeError
from .messages import Answer, Request, Response, json_response
from .models import Model
from .wire import JSON_CODEC

_KINDS: Final = {
    "BOOL": "?", "UINT8": "u1", "UINT16": "u2", "UINT32": "u4", "UINT64": "u8", "INT8": "i1",
    "INT16": "i2", "INT32": "i4", "INT64": "i8", "FP16": "f2", "FP32": "f4", "FP64": "f8",
}  # fmt: skip
_NAMES: Final = {np.dtype(kind): name for name, kind in _KINDS.items()}


def mount(app: App) -> None:
    """Answer below /v2."""
    app.mounted["/v2"] = handle


def handle(app: App, request: Request, answer: Answer) -> None:
    """Answer a request below /v2.

    Raises:
        ServeError: There is no such thing.
    """
    parts = [part for part in request.path.split("/") if part][1:]
    is_get = request.method in ("GET", "HEAD")
    if not parts and is_get:
        answer(json_response({"name": "rlconnect", "version": __version__, "extensions": []}))
    elif parts == ["health", "live"] and is_get:
        answer(json_response({"live": True}))
    elif parts == ["health", "ready"] and is_get:
        answer(json_response({"ready": app.is_ready}, 200 if app.is_ready else 503))
    elif len(parts) >= 2 and parts[0] == "models":
        model, verb = _model(app, parts[1:])
        if verb == [] and is_get:
            answer(json_response(_metadata(model)))
        elif verb == ["ready"] and is_get:
            answer(json_response({"name": model.name, "ready": app.is_ready}))
        elif verb == ["infer"] and request.method == "POST":
            _infer(app, model, request, answer)
        else:
            raise ServeError(404, "not_found", f"nothing is at {request.path[:200]}")
    else:
        raise ServeError(404, "not_found", f"nothing is at {request.path[:200]}")


def _model(app: App, parts: list[str]) -> tuple[Model, list[str]]:
    """The model that a path names, with or without a version, and what is to be done with it."""
    for length in range(len(parts), 0, -1):  # a name may have slashes
        model = app.models.get("/".join(parts[:length]))
        if model is not None:
            rest = parts[length:]
            if rest[:1] == ["versions"] and len(rest) >= 2:
                number = int(rest[1]) if rest[1].isdecimal() and len(rest[1]) < 9 else -1
                if model.numbered(number) is not model.current:
                    raise ServeError(
                        409, "not_current", f"version {number} of {model.name!r} does not act",
                        hint="leave the version out, or promote it.",
                    )  # fmt: skip
                rest = rest[2:]
            return model, rest
    return app.model(parts[0]), parts[1:]


def _leaves(space: spaces.Space[Any], name: str) -> list[tuple[str, spaces.Space[Any]]]:
    """The parts of a space by the names of their tensors."""
    return [
        (".".join([name, *map(str, path)]), leaf)
        for path, leaf in leaf_spaces(space, sort_keys=False)
    ]


def _metadata(model: Model) -> dict[str, Any]:
    player = model.current.player
    tensors = {
        kind: [
            {
                "name": name,
                "datatype": _NAMES.get(np.dtype(leaf.dtype), "FP32"),
                "shape": [-1, *(leaf.shape or ())],
            }
            for name, leaf in _leaves(space, first)
        ]
        for kind, first, space in (
            ("inputs", "obs", player.observation_space),
            ("outputs", "action", player.action_space),
        )
    }
    versions = [str(number) for number in model.versions]
    return {"name": model.name, "versions": versions, "platform": "rlconnect", **tensors}


def _infer(app: App, model: Model, request: Request, answer: Answer) -> None:
    body = JSON_CODEC.decode(request.body)
    if not isinstance(body, dict) or not isinstance(body.get("inputs"), list):
        raise ServeError(400, "bad_request", "the request has no inputs")
    parameters = body.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise ServeError(400, "bad_request", "parameters are no map")
    tensors = dict(map(_tensor, body["inputs"]))
    obs = _gathered(model.current.player.observation_space, "obs", tensors)
    if tensors:
        raise ServeError(400, "unknown_input", f"an unknown input {next(iter(tensors))[:80]!r}")
    counts = {len(leaf) for leaf in nest.flatten(obs)}
    if len(counts) != 1 or 0 in counts:
        raise ServeError(400, "bad_request", "inputs have different numbers of rows")
    sequence = parameters.get("sequence_id")
    session = None if sequence in (None, 0, "") else str(sequence)
    is_end = bool(parameters.get("sequence_end"))
    fields = {"policy": model.name, "obs": obs, "batch": True, "session": session}
    if session is not None and parameters.get("sequence_start"):
        fields["step"] = 0
    output_names = _output_names(body.get("outputs"))
    action_names = [name for name, _ in _leaves(model.current.player.action_space, "action")]
    fetches = [name for name in output_names or () if name not in action_names]
    if fetches:
        fields["fetches"] = fetches
    for name in ("explore", "reward"):
        if name in parameters:
            fields[name] = parameters[name]

    def reply(status: int, document: Any) -> None:
        if status != 200:
            answer(Response(status, JSON_CODEC.encode(document)))
            return
        if is_end and session is not None:
            app.end_session(model.name, session)
        outputs = [
            _output(name, np.asarray(leaf, space.dtype))
            for (name, space), leaf in zip(
                _leaves(model.current.player.action_space, "action"),
                nest.flatten(document["action"])
                if not isinstance(document["action"], list)
                else [document["action"]],
                strict=True,
            )
            if output_names is None or name in output_names
        ]
        outputs += [_output(name, document["fetches"][name]) for name in fetches]
        told_back = {
            "model_name": model.name,
            "model_version": str(document["version"]),
            "outputs": outputs,
        }
        if "id" in body:
            told_back["id"] = str(body["id"])[:200]
        answer(Response(*JSON_CODEC.encoded(200, told_back)))

    app.act(fields, reply)


def _output_names(outputs: Any) -> list[str] | None:
    """The names of the outputs that a request asks for; None if it leaves that open."""
    if outputs is None:
        return None
    try:
        return [str(output["name"]) for output in outputs]
    except (TypeError, KeyError):
        raise ServeError(
            400, "bad_output", 'outputs are a list of {"name": "action"} and the like'
        ) from None


def _tensor(tensor: Any) -> tuple[str, Any]:
    """A tensor's name, and its numbers as an array.

    Raises:
        ServeError: It is no tensor.
    """
    try:
        name, kind, shape, data = (tensor[key] for key in ("name", "datatype", "shape", "data"))
        array = np.asarray(data, np.float64 if kind.startswith("FP") else None)
        if array.dtype.kind not in "biuf":
            raise ValueError("no numbers")
        return str(name), array.reshape([int(length) for length in shape])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ServeError(
            400, "bad_input", f"an input is no tensor: {str(error)[:120] or type(error).__name__}",
            hint='inputs are {"name": "obs", "datatype": "FP32", "shape": [1, 4], "data": [...]}.',
        ) from None  # fmt: skip


def _gathered(space: spaces.Space[Any], name: str, tensors: dict[str, Any]) -> Any:
    """Tensors as one observation of the space, taken out of the dict."""
    if isinstance(space, spaces.Dict):
        return {
            key: _gathered(part, f"{name}.{key}", tensors) for key, part in space.spaces.items()
        }
    if isinstance(space, spaces.Tuple):
        return tuple(
            _gathered(part, f"{name}.{at}", tensors) for at, part in enumerate(space.spaces)
        )
    if name not in tensors:
        raise ServeError(400, "input_missing", f"the request has no input {name!r}")
    return tensors.pop(name)


def _output(name: str, array: Any) -> dict[str, Any]:
    return {
        "name": name,
        "datatype": _NAMES.get(array.dtype, "FP32"),
        "shape": list(array.shape),
        "data": array.reshape(-1).tolist(),
    }
