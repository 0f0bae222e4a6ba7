"""What external environments of RLlib's new stack speak (RLlink), on a port of its own.

A client takes the config and the weights, plays by itself and sends its episodes; or it asks for
each action. A message is the length of its body in eight digits, then the body: a msgpack map with
the `type` of the message among its fields. What cannot be done is answered by one of type ERROR.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from ..bridge.lived_episodes import sent_episodes
from ..bridge.triple import V2Triple
from ..core.errors import CheckpointError, RlconnectError
from .answers import log_request, status_of
from .app import App
from .errors import ServeError
from .messages import Request
from .observations import ObservationReader
from .settings import ServeSettings
from .versions import Version
from .wire import LARGE, MSGPACK_CODEC

_HEADER: Final = 8
_MOST: Final = 10**_HEADER - 1
_TYPES: Final = (
    "PING", "GET_CONFIG", "GET_STATE", "EPISODES", "EPISODES_AND_GET_STATE", "GET_ACTION",
)  # fmt: skip
_SAME: Final = {"GET_WEIGHTS": "GET_STATE"}
_WRITE_TIMEOUT: Final = 20.0
_GRACE: Final = 0.25
"""Seconds in which a client may still send a message during the shutdown of the server."""


class BadFrameError(Exception):
    """Bytes that are not a message; the connection ends after the reply.

    Args:
        status: HTTP's status for the error.
        error: What is wrong.
    """

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


@dataclass(slots=True)
class Frame:
    """One message to a client; nothing if its body is empty."""

    status: int = 200
    body: bytes = b""

    def encoded(self) -> bytes:
        """Return the bytes on the wire."""
        return b"%08d" % len(self.body) + self.body if self.body else b""


def frame_of(fields: Any, status: int = 200) -> Frame:
    """Return the message with these fields."""
    body = MSGPACK_CODEC.encode(fields)
    if len(body) > _MOST:
        return frame_error(400, f"an answer of {len(body):,} bytes, more than a message may have")
    return Frame(status, body)


def frame_error(status: int, error: str) -> Frame:
    """Return the message that says why bytes are no message."""
    return frame_of(_refusal({"error": error, "code": "bad_message"}, status), status)


def _refusal(document: Any, status: int) -> dict[str, Any]:
    return {"type": "ERROR", "status": status, **document}


@dataclass(slots=True)
class Link:
    """State of one client.

    Args:
        session: The session that its requests for actions belong to.
        is_known: Whether it has shown the token.
        is_busy: Whether a message is being answered.
    """

    session: str
    is_known: bool = False
    is_busy: bool = False


class RLlink:
    """Answer clients with the policies of an app.

    Args:
        app: The policies and the sessions.
        settings: Limits, and the token that a client's first message has to contain, if any.
    """

    def __init__(self, app: App, settings: ServeSettings) -> None:
        self._app, self._settings = app, settings
        self._token, self._most = settings.token.encode(), min(settings.max_body, _MOST)
        self._states: WeakKeyDictionary[Version, Frame] = WeakKeyDictionary()
        self._configs: WeakKeyDictionary[Version, Frame] = WeakKeyDictionary()
        self._readers: WeakKeyDictionary[Version, ObservationReader] = WeakKeyDictionary()
        self._clients: dict[asyncio.Task[Any], Link] = {}
        self._server: asyncio.Server | None = None
        self._is_draining = False

    async def listen(self, listening: socket.socket, tls: Any = None) -> None:
        """Answer clients that connect to a socket."""
        self._server = await asyncio.start_server(
            self._talk, sock=listening, ssl=tls, limit=1 << 16
        )

    async def close(self, timeout: float) -> None:
        """Answer the messages at hand, for at most this many seconds, and hang up."""
        if self._server is not None:
            self._server.close()
        await asyncio.sleep(_GRACE)
        self._is_draining = True
        for task, link in [*self._clients.items()]:
            if not link.is_busy:
                task.cancel()
        if self._clients:
            await asyncio.wait(self._clients, timeout=timeout)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the messages of one client until it leaves."""
        task = asyncio.current_task()
        assert task is not None
        link = self._clients[task] = Link(self._app.sessions.new_id())
        peer = writer.get_extra_info("peername")
        try:
            if len(self._clients) > self._settings.max_connections:
                raise BadFrameError(503, "too many connections")
            while (
                not self._is_draining and (body := await self._read_frame(reader, link)) is not None
            ):
                frame = await self._answer(body, link, str(peer[0]) if peer else "")
                writer.write(frame.encoded())
                await asyncio.wait_for(writer.drain(), _WRITE_TIMEOUT)
                link.is_busy = False
        except BadFrameError as error:
            writer.write(frame_error(error.status, str(error)).encoded())
        except (OSError, asyncio.TimeoutError, asyncio.CancelledError):
            pass  # the client is gone or idle, or the server ends
        finally:
            del self._clients[task]
            self._app.end_sessions(link.session)
            writer.close()

    async def _read_frame(self, reader: asyncio.StreamReader, link: Link) -> bytes | None:
        """Return the body of the next message; None if there is none.

        Raises:
            BadFrameError: The bytes are no message, or too many, or do not end in time.
        """
        first = await asyncio.wait_for(reader.read(1), self._settings.session_ttl)
        link.is_busy = bool(first)
        try:
            return await asyncio.wait_for(
                self._rest_of_frame(first, reader), self._settings.read_timeout
            )
        except asyncio.IncompleteReadError:
            return None
        except asyncio.TimeoutError:
            raise BadFrameError(408, "the message did not come to its end in time") from None

    async def _rest_of_frame(self, header: bytes, reader: asyncio.StreamReader) -> bytes:
        while len(header) < _HEADER:
            if header and not header.isdigit():
                raise BadFrameError(400, "a message begins with its length in eight digits")
            more = await reader.read(_HEADER - len(header))
            if not more:
                raise asyncio.IncompleteReadError(header, _HEADER)
            header += more
        if not header.isdigit():
            raise BadFrameError(400, "a message begins with its length in eight digits")
        size = int(header)
        if size > self._most:
            raise BadFrameError(413, f"a message of more than {self._most:,} bytes")
        return await reader.readexactly(size)

    async def _answer(self, body: bytes, link: Link, peer: str) -> Frame:
        began = time.perf_counter()
        kind = ""
        try:
            fields = await self._read(body)
            kind = self._kind(fields, link)
            if kind == "GET_ACTION":
                frame = await self._act(fields, link)
            else:
                frame = await self._do(kind, fields, link, len(body))
        except Exception as error:
            status, document = status_of(error)
            frame = frame_of(_refusal(document, status), status)
        if kind != "GET_ACTION":
            self._app.metrics.observe("rllink", frame.status, time.perf_counter() - began)
        if self._settings.access_log:
            log_request(Request("RLLINK", f"/{kind}", {}, body, peer=peer), frame, began)
        return frame

    async def _beside(self, do: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, do, *args)

    async def _read(self, body: bytes) -> Any:
        """The fields of a message."""
        decode = MSGPACK_CODEC.decode
        fields = decode(body) if len(body) <= LARGE else await self._beside(decode, body)
        if not isinstance(fields, dict):
            raise ServeError(400, "bad_message", "the message is no map of fields")
        return fields

    def _kind(self, fields: dict[str, Any], link: Link) -> str:
        """The type of a message, once its client has shown the token."""
        token = fields.pop("token", "")
        if self._token and not link.is_known:
            token_bytes = token.encode("utf-8", "replace") if isinstance(token, str) else b""
            if not hmac.compare_digest(token_bytes, self._token):
                raise ServeError(401, "unauthorized", "a token is needed",
                                 hint='send it with the first message: {"type": "PING", '
                                 '"token": TOKEN}.')  # fmt: skip
            link.is_known = True
        kind = fields.pop("type", None)
        kind = _SAME.get(kind, kind) if isinstance(kind, str) else kind
        if kind not in _TYPES:
            raise ServeError(400, "bad_type", f"no message of type {str(kind)[:40]!a}",
                             hint=f"there are {', '.join(_TYPES)}.")  # fmt: skip
        return str(kind)

    async def _do(self, kind: str, fields: dict[str, Any], link: Link, size: int) -> Frame:
        if kind == "PING":
            return frame_of({"type": "PONG"})
        name = fields.get("policy")
        if name is not None and not isinstance(name, str):
            raise ServeError(400, "bad_field", "policy has to be a text")
        model = self._app.model(name)
        if kind.startswith("EPISODES"):
            await self._take(model.current, fields, size)
            if kind == "EPISODES":
                return Frame()
        version = model.current
        frames = self._configs if kind == "GET_CONFIG" else self._states
        if version not in frames:
            make = _config_frame if kind == "GET_CONFIG" else _state_frame
            frames[version] = await self._beside(make, version)
        return frames[version]

    async def _act(self, fields: dict[str, Any], link: Link) -> Frame:
        """Answer the message that RLlib lacks: what to do about an observation."""
        answered: asyncio.Future[tuple[int, Any]] = asyncio.get_running_loop().create_future()

        def reply(status: int, document: Any) -> None:
            if not answered.done():
                answered.set_result((status, document))

        self._app.act({"session": link.session, **fields}, reply)
        status, document = await answered
        is_done = status == 200
        message = {"type": "GET_ACTION", **document} if is_done else _refusal(document, status)
        return frame_of(message, status)

    async def _take(self, version: Version, fields: dict[str, Any], size: int) -> None:
        """Check episodes, count them, and record them where that is wanted."""
        if "episodes" not in fields:
            raise ServeError(400, "bad_field", "the message has no episodes")
        reader = self._readers.get(version)
        if reader is None:
            reader = ObservationReader(version.player.action_space, "actions")
            self._readers[version] = reader

        def read() -> list[Any]:
            try:
                episodes = sent_episodes(fields["episodes"])
            except CheckpointError as error:
                raise ServeError(400, "bad_episodes", error.summary,
                                 hint="send what SingleAgentEpisode.get_state() gives.",
                                 ) from None  # fmt: skip
            for episode in episodes:
                version.reader.batch(episode.get_observations())
                reader.batch(episode.get_actions())
            return episodes

        episodes = await self._beside(read)
        counted = self._app.metrics.counts
        counted["rlconnect_rllink_episodes_total"] += len(episodes)
        counted["rlconnect_rllink_steps_total"] += sum(map(len, episodes))
        recorder = self._app.recorder
        if recorder is not None and episodes:
            loop = asyncio.get_running_loop()
            is_taken = asyncio.Event()  # so that nobody sends faster than the disk takes
            recorder.keep(version, episodes, size, partial(loop.call_soon_threadsafe, is_taken.set))
            await is_taken.wait()


def _module(version: Version) -> Any:
    """The module of a version, where it has one that clients can load."""
    native = version.policy.native
    if not isinstance(native, V2Triple):
        raise ServeError(
            409, "no_module", f"{version.policy.kind} has no module for clients to load",
            hint="ask for actions by GET_ACTION, or serve what `rlconnect migrate` makes of it.",
        )  # fmt: skip
    return native.module


def _state_frame(version: Version) -> Frame:
    weights = _module(version).get_state(inference_only=True)
    state = {"rl_module": weights, "weights_seq_no": version.number}
    return frame_of({"type": "SET_STATE", "state": state})


def _config_frame(version: Version) -> Frame:
    from ..bridge.migrate.ray_config import config_for_clients
    from ..core.vault import open_checkpoint

    module = _module(version)
    try:
        config = open_checkpoint(version.path).config if version.path else {}
    except RlconnectError:  # a folder of ours, or what has moved since
        config = {}
    return frame_of({"type": "SET_CONFIG", "config": config_for_clients(module, config or {})})
