"""Bodies as plain values and back: JSON, and msgpack with arrays as typed bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]
import numpy as np

from ..core import nest
from ..core.data.msgpack_arrays import decode_msgpack_object, encode_msgpack_object
from ..core.errors import RlconnectError
from .errors import ServeError
from .messages import JSON

MSGPACK: Final = "application/msgpack"
_MSGPACK_NAMES: Final = frozenset({MSGPACK, "application/x-msgpack", "application/vnd.msgpack"})
_MOST_DEPTH: Final = 32
_MOST_CONTAINERS: Final = 1 << 19
LARGE: Final = 1 << 16
"""Bytes of a body that is read beside the loop, so that others are still heard."""


@dataclass(frozen=True)
class Codec:
    """One way to write values.

    Args:
        content_type: Its name on the wire.
        decode: A body's value.
        encode: A value's body.
    """

    content_type: str
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]

    def encoded(self, status: int, document: Any) -> tuple[int, bytes]:
        """An answer's status and body, or those of the reason why it cannot be written."""
        try:
            return status, self.encode(document)
        except ServeError as error:
            return error.status, self.encode(error.to_dict())


def when_read(read: Callable[[bytes], Any], body: bytes, then: Callable[[Any], None]) -> None:
    """Hand on what a body holds, or what is wrong with it: at once, or later if it is large."""

    def outcome() -> Any:
        try:
            return read(body)
        except Exception as error:
            return error

    if len(body) <= LARGE:
        then(outcome())
        return
    reading = asyncio.get_running_loop().run_in_executor(None, outcome)
    reading.add_done_callback(lambda done: then(done.result()))


def codec_of(content_type: str) -> Codec:
    """How a body of this content type is read, and its answer written.

    Raises:
        ServeError: It is neither JSON nor msgpack.
    """
    if content_type == JSON:
        return JSON_CODEC
    if content_type in _MSGPACK_NAMES:
        return MSGPACK_CODEC
    raise ServeError(
        415,
        "unsupported_media_type",
        f"a body of {content_type or 'no content type'}",
        hint=f"send content-type: {JSON} or {MSGPACK}.",
    )


def _from_json(body: bytes) -> Any:
    if len(body) > LARGE:  # a byte may stand for a container of fifty
        count = body.count(b"[") + body.count(b"{") + body.count(b'"') // 2
        if count > _MOST_CONTAINERS:
            raise ServeError(
                400, "bad_json", f"more than {_MOST_CONTAINERS:,} lists, maps or texts",
                hint="send msgpack, with arrays as typed bytes.",
            )  # fmt: skip
    try:
        return _DECODER.decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise ServeError(400, "bad_json", f"the body is no JSON: {str(error)[:120]}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _to_json(value: Any) -> bytes:
    try:
        try:
            return _dumped(value)
        except ValueError:
            if not isinstance(value, dict) or "fetches" not in value:
                raise
            # A mask's logits are infinite, and no mistake.
            return _dumped({**value, "fetches": nest.map_structure(_finite, value["fetches"])})
    except ValueError:
        raise ServeError(
            500,
            "no_number",
            "the policy's answer holds NaN or infinity",
            hint="look at the weights and the filter: rlconnect inspect PATH.",
        ) from None


def _dumped(value: Any) -> bytes:
    return _ENCODER.encode(value).encode()


def _finite(leaf: Any) -> Any:
    """Numbers, with None for those that JSON has no word for."""
    array = np.asarray(leaf)
    if array.dtype.kind == "f":
        array = np.where(np.isfinite(array), array, np.array(None))
    return array.tolist()


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def _from_msgpack(body: bytes) -> Any:
    hooks: dict[str, Any] = {"object_hook": decode_msgpack_object}
    if len(body) > LARGE:  # a byte may stand for a container of a hundred
        maps, lists = _Count(), _Count()
        hooks = {"object_hook": lambda value: decode_msgpack_object(maps.count(value)),
                 "list_hook": lists.count}  # fmt: skip
    try:
        value = msgpack.unpackb(body, strict_map_key=False, **hooks)
    except ServeError:
        raise
    except RlconnectError as error:
        raise ServeError(400, "bad_msgpack", error.summary) from None
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException) as error:
        reason = str(error)[:120] or type(error).__name__
        raise ServeError(400, "bad_msgpack", f"the body is no msgpack: {reason}") from None
    return value


class _Count:
    """Counts containers, and refuses more than the limit."""

    def __init__(self) -> None:
        self._left = _MOST_CONTAINERS

    def count(self, value: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ServeError(400, "bad_msgpack", f"more than {_MOST_CONTAINERS:,} maps or lists",
                             hint="send arrays as typed bytes.")  # fmt: skip
        return value


def _to_msgpack(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value, default=encode_msgpack_object)
    return packed


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), default=_plain, allow_nan=False)
JSON_CODEC: Final = Codec(JSON, _from_json, _to_json)
MSGPACK_CODEC: Final = Codec(MSGPACK, _from_msgpack, _to_msgpack)


def fields_of(value: Any, kinds: Mapping[str, type | tuple[type, ...]]) -> dict[str, Any]:
    """The fields of a request, each of its type; those that are None are left out.

    Raises:
        ServeError: It is no map, or a field is unknown or of another type.

    Example:
        >>> fields_of({"obs": [0.5], "session": None}, {"obs": object, "session": str})
        {'obs': [0.5]}
    """
    if not isinstance(value, dict):
        raise ServeError(400, "bad_request", "the body is no map of fields")
    fields = {}
    for name, field in value.items():
        if name not in kinds:
            raise ServeError(
                400,
                "unknown_field",
                f"an unknown field {str(name)[:80]!r}",
                hint=f"known are {', '.join(kinds)}.",
            )
        if field is None:
            continue
        if not isinstance(field, kinds[name]) or (isinstance(field, bool) and kinds[name] is int):
            raise ServeError(400, "bad_field", f"{name} is of a wrong type: {type(field).__name__}")
        fields[name] = field
    return fields


def depth_of(value: Any, most: int = _MOST_DEPTH) -> None:
    """Refuse what is nested deeper than anything that is observed.

    Raises:
        ServeError: It is.
    """
    level = [value]
    for _ in range(most):
        level = [
            part
            for value in level
            if isinstance(value, (dict, list))
            for part in (value.values() if isinstance(value, dict) else value[:1])
            if isinstance(part, (dict, list))
        ]
        if not level:
            return
    raise ServeError(400, "too_deep", f"values nested deeper than {most} levels")


def either_ended(flags: list[Any]) -> bool | list[bool] | None:
    """Return whether an episode is terminated or truncated, for each row of a batch.

    Raises:
        ServeError: A flag is not a boolean (or 0 or 1) or a list of them, or their lengths differ.

    Example:
        >>> either_ended([False, [True, False]])
        [True, False]
    """
    if not flags:
        return None
    if all(flag is True or flag is False for flag in flags):
        return any(flags)
    rows: list[bool] = [False]
    for flag in flags:
        if isinstance(flag, (np.ndarray, np.generic)):
            flag = flag.reshape(-1).tolist()
        column = flag if isinstance(flag, list) else [flag]
        if not _are_flags(column) or (
            len(rows) != len(column) and 1 not in (len(rows), len(column))
        ):
            raise ServeError(
                400, "bad_field", "terminated and truncated have to be a boolean for each row"
            )
        count = max(len(rows), len(column))
        rows, column = (each if len(each) == count else each * count for each in (rows, column))
        rows = [one or bool(other) for one, other in zip(rows, column, strict=True)]
    return rows


def _are_flags(column: list[Any]) -> bool:
    try:
        return bool(column) and {False, True}.issuperset(column)
    except TypeError:  # something unhashable, such as a list
        return False
