"""What external environments of RLlib's new stack speak (RLlink), on a port of its own.

A client takes the config and the weights, plays by itself and sends its episodes; or it asks for
each action. A message is the length of its body in eight digits, then the body: a msgpack map with
the `type` of the message among its fields. What cannot be done is answered by one of type ERROR.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from typing_extensions import override

from ..bridge.lived_episodes import sent_episodes
from ..bridge.triple import V2Triple
from ..core.errors import CheckpointError, RlconnectError
from .answers import logged, status_of
from .app import App
from .errors import ServeError
from .http.messages import BadRequestError, Request, Response
from .http.parsing import HttpLimits, RequestParser
from .http.protocol import Answer, Connections, HttpConnection
from .observations import ObservationReader
from .versions import Version
from .wire import LARGE, MSGPACK, MSGPACK_CODEC

_HEADER: Final = 8
_MOST: Final = 10**_HEADER - 1
_TYPES: Final = (
    "PING", "GET_CONFIG", "GET_STATE", "EPISODES", "EPISODES_AND_GET_STATE", "GET_ACTION",
)  # fmt: skip
_SAME: Final = {"GET_WEIGHTS": "GET_STATE"}
Reply = Callable[[int, Any], None]
"""Called with a status and the fields of an answer; None if none is owed."""


class Frame(Response):
    """One message to a client; nothing if its body is empty."""

    @override
    def encoded(self, *, closes: bool, has_body: bool = True) -> bytes:
        return b"%08d" % len(self.body) + self.body if self.body else b""


def frame_of(fields: Any, status: int = 200) -> Frame:
    """The message with these fields."""
    body = MSGPACK_CODEC.encode(fields)
    if len(body) > _MOST:
        return frame_error(400, f"an answer of {len(body):,} bytes, more than a message may have")
    return Frame(status, body, MSGPACK)


def frame_error(status: int, error: str, **_: str) -> Frame:
    """The message that says why bytes are no message."""
    return frame_of(_refusal({"error": error, "code": "bad_message"}, status), status)


def _refusal(document: Any, status: int) -> dict[str, Any]:
    return {"type": "ERROR", "status": status, **document}


@dataclass(slots=True)
class Link:
    """What is known of one client.

    Args:
        session: The session in which it acts, where it asks for actions.
        is_known: Whether it has shown the token.
    """

    session: str
    is_known: bool = False


@dataclass(slots=True)
class Message(Request):
    """One message of a client."""

    link: Link | None = None


class FrameParser(RequestParser):
    """Cuts messages out of what comes in."""

    def __init__(self, limits: HttpLimits, link: Link) -> None:
        super().__init__(limits)
        self._most, self._link = min(limits.max_body, _MOST), link

    @override
    def next_request(self) -> Request | None:
        data = self._data
        header = bytes(data[:_HEADER])
        if header and not header.isdigit():
            raise BadRequestError(400, "a message begins with its length in eight digits")
        if len(header) < _HEADER:
            return None
        size = int(header)
        if size > self._most:
            raise BadRequestError(413, f"a message of more than {self._most:,} bytes")
        if len(data) < _HEADER + size:
            return None
        body = bytes(data[_HEADER : _HEADER + size])
        del data[: _HEADER + size]
        return Message("RLLINK", "/", {}, body, link=self._link)


class LinkConnection(HttpConnection):
    """One client's connection."""

    refusal = staticmethod(frame_error)

    @override
    def new_parser(self, limits: HttpLimits) -> RequestParser:
        assert isinstance(self._all.app, RLlink)
        self._rllink = self._all.app
        self._link = self._rllink.new_link()
        return FrameParser(limits, self._link)

    @override
    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._rllink.leave(self._link)


class RLlink:
    """Answers clients with the policies of an app.

    Args:
        app: What has the policies and the sessions.
        token: What clients have to show as `token` of their first message; empty lets everybody in.
        access_log: Whether each message is told in a line of JSON.
    """

    def __init__(self, app: App, token: str = "", *, access_log: bool = False) -> None:
        self._app, self._token, self._access_log = app, token.encode(), access_log
        self._states: WeakKeyDictionary[Version, Frame] = WeakKeyDictionary()
        self._configs: WeakKeyDictionary[Version, Frame] = WeakKeyDictionary()
        self._readers: WeakKeyDictionary[Version, ObservationReader] = WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    def connections(self, limits: HttpLimits) -> Connections:
        """For a port of its own."""
        return Connections(self, limits, LinkConnection)

    def new_link(self) -> Link:
        """For a new client."""
        return Link(self._app.sessions.new_id())

    def leave(self, link: Link) -> None:
        """Forget a client that is gone."""
        self._app.end_sessions(link.session)

    def handle(self, request: Request, answer: Answer) -> None:
        """Answer a message now or later."""
        assert isinstance(request, Message)
        assert request.link is not None
        if self._access_log:
            answer = logged(request, answer)
        task = asyncio.get_running_loop().create_task(self._answer(request, request.link, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, request: Message, link: Link, answer: Answer) -> None:
        began = time.perf_counter()
        try:
            fields = await self._read(request.body)
            kind = self._kind(fields, link)
            request.target = f"/{kind}"
            if kind == "GET_ACTION":
                self._act(fields, link, answer)
                return
            frame = await self._do(kind, fields, link, len(request.body))
        except Exception as error:
            status, document = status_of(error)
            frame = frame_of(_refusal(document, status), status)
        self._app.metrics.observe("rllink", frame.status, time.perf_counter() - began)
        answer(frame)

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
            await self._take(model.version_for(link.session), fields, size)
            if kind == "EPISODES":
                return Frame()
        version = model.version_for(link.session)
        frames = self._configs if kind == "GET_CONFIG" else self._states
        if version not in frames:
            make = _config_frame if kind == "GET_CONFIG" else _state_frame
            frames[version] = await self._beside(make, version)
        return frames[version]

    def _act(self, fields: dict[str, Any], link: Link, answer: Answer) -> None:
        """The message that RLlib lacks: what to do about an observation."""

        def reply(status: int, document: Any) -> None:
            is_done = status == 200
            message = {"type": "GET_ACTION", **document} if is_done else _refusal(document, status)
            answer(frame_of(message, status))

        self._app.act({"session": link.session, **fields}, reply)

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
