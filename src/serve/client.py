"""Clients of a server: a call each, a session with memory, a whole loop over an environment."""

from __future__ import annotations

import asyncio
import http.client
import os
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final
from urllib.parse import quote, urlsplit

from typing_extensions import Self

from ..core.errors import ConfigError
from .errors import ServeError, SessionGoneError
from .wire import MSGPACK_CODEC, codec_of

_TRIES: Final = 3
_NO_ANSWER: Final = (OSError, http.client.HTTPException, asyncio.IncompleteReadError, EOFError)


@dataclass(frozen=True)
class Acted:
    """An answer of a server.

    Args:
        action: What to do; of a batch, a row for each observation.
        session: Whose memory it went into; None if nothing was kept.
        policy: Which policy acted.
        version: And which version of it.
        recorded: Whether the server keeps episodes, and so wants to see how this one ends.
        fetches: What the network gave beside the action, of what was asked for, by name.
    """

    action: Any
    session: str | None
    policy: str
    version: int
    recorded: bool = False
    fetches: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Address:
    """Where a server is, and who asks.

    Args:
        url: Such as "http://127.0.0.1:8000".
        token: What the server wants to be shown.
        timeout: Seconds that an answer may take.
    """

    url: str
    token: str | None = None
    timeout: float = 30.0

    def parts(self) -> tuple[str, int, bool]:
        """Host, port, and whether it is HTTPS.

        Raises:
            ConfigError: This is no address of a server.
        """
        split = urlsplit(self.url if "//" in self.url else f"http://{self.url}")
        if split.scheme not in ("http", "https") or not split.hostname:
            raise ConfigError("no address of a server", expected="http://HOST:PORT", found=self.url)
        is_tls = split.scheme == "https"
        return split.hostname, split.port or (443 if is_tls else 80), is_tls

    def headers(self, body: bytes | None) -> dict[str, str]:
        """What goes before a body."""
        told = {"accept": MSGPACK_CODEC.content_type}
        if body is not None:
            told["content-type"] = MSGPACK_CODEC.content_type
        if self.token:
            told["authorization"] = f"Bearer {self.token}"
        return told


def _asked(obs: Any, fields: Mapping[str, Any]) -> bytes:
    told = {name: own for name, own in fields.items() if own is not None}
    return MSGPACK_CODEC.encode({"obs": obs, **told})


def _answer(status: int, content_type: str, body: bytes) -> Any:
    """The document of an answer.

    Raises:
        SessionGoneError: The session's memory is lost; begin the episode anew.
        ServeError: The server refused.
    """
    try:
        document = codec_of(content_type.partition(";")[0]).decode(body) if body else {}
    except ServeError:
        document = {"error": body[:200].decode(errors="replace"), "code": "no_document"}
    if status < 400:
        return document
    kind = SessionGoneError if document.get("code") == "session_gone" else ServeError
    raise kind(
        status,
        str(document.get("code", "")),
        str(document.get("error", f"status {status}")),
        hint=str(document.get("hint", "")),
    )


def _acted(document: Any) -> Acted:
    return Acted(
        document["action"],
        document["session"],
        document["policy"],
        document["version"],
        document.get("recorded", False),
        document.get("fetches", {}),
    )


class _Asking:
    """What both clients know: where the server is, and which policy is asked."""

    def __init__(self, url: str, policy: str | None, token: str | None, timeout: float) -> None:
        self._address = Address(url, token, timeout)
        self._parts = self._address.parts()
        self._policy = policy
        self._session_header = ""

    def _headers(self, body: bytes | None, session: Any) -> dict[str, str]:
        """What goes before a body; the session's name, where whoever routes requests wants it."""
        told = self._address.headers(body)
        if self._session_header and isinstance(session, str):
            told[self._session_header] = session
        return told

    def _no_answer(self, error: BaseException) -> ServeError:
        return ServeError(
            0, "no_answer", f"no answer from {self._address.url}: {error}",
            hint="is the server running there? rlconnect serve PATH starts one.",
        )  # fmt: skip


class Client(_Asking):
    """Asks a server, over one connection that is kept; not for several threads at once.

    Args:
        url: Such as "http://127.0.0.1:8000".
        policy: Which policy to ask, if there are several.
        token: What the server wants to be shown.
        timeout: Seconds that an answer may take.
    """

    def __init__(
        self, url: str, *, policy: str | None = None, token: str | None = None, timeout: float = 30
    ) -> None:
        super().__init__(url, policy, token, timeout)
        self._connection: http.client.HTTPConnection | None = None

    def act(
        self,
        obs: Any,
        *,
        session: str | bool | None = None,
        batch: bool | None = None,
        explore: bool | None = None,
        reward: Any = None,
        terminated: Any = None,
        truncated: Any = None,
        step: int | None = None,
        seed: int | None = None,
        fetches: Sequence[str] | bool | None = None,
    ) -> Acted:
        """What the policy does.

        Args:
            obs: An observation, or a list of them.
            session: Whose memory to go on with; True for a new session; None to begin afresh.
            batch: Whether `obs` is a list of observations.
            explore: Whether to explore.
            reward: What the last action earned.
            terminated: Whether the episode ended with this observation.
            truncated: Whether it was cut off there.
            step: The number of this request in its session, from 0 on: it may be sent again.
            seed: Of exploration, from here on in this session.
            fetches: What to give beside the action, such as "vf_preds"; True for all there is.

        Raises:
            ServeError: The server refused.
            SessionGoneError: The session's memory is lost.
        """
        fields = {
            "policy": self._policy, "session": session, "batch": batch, "explore": explore,
            "reward": reward, "terminated": terminated, "truncated": truncated, "step": step,
            "seed": seed, "fetches": fetches,
        }  # fmt: skip
        body = _asked(obs, fields)
        # Without a memory, or with a number, asking again does no harm.
        is_repeatable = session is None or step is not None
        return _acted(self._ask("POST", "/v1/act", body, is_repeatable, session))

    def session(self, **options: Any) -> ClientSession:
        """A session with a memory of its own, to be used in a `with` block.

        Args:
            **options: As for `act`: `explore`, `seed`.
        """
        return ClientSession(self, options)

    def env_loop(
        self,
        env: Any,
        episodes: int = 1,
        *,
        seed: int | None = None,
        on_step: Callable[[Any], None] | None = None,
        **options: Any,
    ) -> list[float]:
        """Play whole episodes in an environment of gymnasium.

        Args:
            env: A live environment.
            episodes: How many.
            seed: Of the first; each next one has the next seed.
            on_step: Called with each answer.
            **options: As for `act`.

        Returns:
            The return of each.

        Raises:
            SessionGoneError: The server lost an episode's memory; nothing was made up.
        """
        returns = []
        for number in range(episodes):
            with self.session(**options) as session:
                obs, _ = env.reset(seed=None if seed is None else seed + number)
                total, reward, is_over = 0.0, None, False
                while not is_over:
                    acted = session.act(obs, reward=reward)
                    if on_step is not None:
                        on_step(acted)
                    obs, reward, terminated, truncated, _ = env.step(acted.action)
                    reward = float(reward)
                    total, is_over = total + reward, terminated or truncated
                if acted.recorded:
                    ended = {"terminated": bool(terminated), "truncated": bool(truncated)}
                    session.act(obs, reward=reward, **ended)
                returns.append(total)
        return returns

    def policies(self) -> list[dict[str, Any]]:
        """What the server has."""
        listed: list[dict[str, Any]] = self._ask("GET", "/v1/policies", None, True)["policies"]
        return listed

    def end(self, session: str) -> None:
        """End a session; one that is gone already is no error."""
        try:
            self._ask("DELETE", f"/v1/sessions/{quote(session, safe='')}", None, True)
        except ServeError as error:
            if error.status not in (404, 410):
                raise

    def admin(self, do: str, **fields: Any) -> dict[str, Any]:
        """Change a policy: "load", "canary", "shadow", "promote" and so on; see `admin.change`."""
        told = {"do": do, "policy": self._policy, **fields}
        body = MSGPACK_CODEC.encode({name: own for name, own in told.items() if own is not None})
        document: dict[str, Any] = self._ask("POST", "/v1/admin", body, False)
        return document

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(
        self, method: str, path: str, body: bytes | None, is_repeatable: bool, session: Any = None
    ) -> Any:
        for left in reversed(range(_TRIES if is_repeatable else 1)):
            try:
                connection = self._connected()
                connection.request(method, path, body, self._headers(body, session))
                answer = connection.getresponse()
                data = answer.read()
                self._session_header = answer.headers.get("x-session-header", "")
            except _NO_ANSWER as error:
                self.close()
                if not left or isinstance(error, socket.timeout):
                    raise self._no_answer(error) from None
                continue
            return _answer(answer.status, answer.headers.get("content-type", ""), data)
        raise AssertionError

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port, is_tls = self._parts
            timeout = self._address.timeout
            if is_tls:
                context = ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE"))
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=timeout, context=context
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=timeout)
            self._connection.connect()
            self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._connection


class ClientSession:
    """A session of a client: its requests are numbered, so that each acts once.

    Args:
        client: Who asks.
        options: Of each request.
    """

    def __init__(self, client: Client, options: Mapping[str, Any]) -> None:
        self._client, self._options = client, dict(options)
        self.id = f"c-{os.urandom(12).hex()}"
        self._step = 0

    def act(self, obs: Any, **fields: Any) -> Acted:
        """What the policy does, remembering what was before; see `Client.act`."""
        told = {**self._options, **fields}
        if self._step:
            told.pop("seed", None)
        acted = self._client.act(obs, session=self.id, step=self._step, **told)
        self._step += 1
        return acted

    def end(self) -> None:
        """Let the server forget it."""
        self._client.end(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(error, ServeError):
            self.end()


class AsyncClient(_Asking):
    """The same for asyncio: one connection, whose requests take turns.

    Args:
        url: Such as "http://127.0.0.1:8000".
        policy: Which policy to ask, if there are several.
        token: What the server wants to be shown.
        timeout: Seconds that an answer may take.
    """

    def __init__(
        self, url: str, *, policy: str | None = None, token: str | None = None, timeout: float = 30
    ) -> None:
        super().__init__(url, policy, token, timeout)
        self._turn = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def act(self, obs: Any, **fields: Any) -> Acted:
        """What the policy does; see `Client.act`."""
        body = _asked(obs, {"policy": self._policy, **fields})
        is_repeatable = fields.get("session") is None or fields.get("step") is not None
        session = fields.get("session")
        return _acted(await self._ask("POST", "/v1/act", body, is_repeatable, session))

    async def policies(self) -> list[dict[str, Any]]:
        """What the server has."""
        document = await self._ask("GET", "/v1/policies", None, True)
        listed: list[dict[str, Any]] = document["policies"]
        return listed

    async def end(self, session: str) -> None:
        """End a session; one that is gone already is no error."""
        try:
            await self._ask("DELETE", f"/v1/sessions/{quote(session, safe='')}", None, True)
        except ServeError as error:
            if error.status not in (404, 410):
                raise

    async def env_loop(
        self, env: Any, episodes: int = 1, *, seed: int | None = None, **options: Any
    ) -> list[float]:
        """Play whole episodes in an environment of gymnasium; see `Client.env_loop`."""
        returns = []
        for number in range(episodes):
            id_ = f"c-{os.urandom(12).hex()}"
            obs, _ = env.reset(seed=None if seed is None else seed + number)
            total, reward, is_over, step = 0.0, None, False, 0
            while not is_over:
                acted = await self.act(obs, session=id_, step=step, reward=reward, **options)
                obs, reward, terminated, truncated, _ = env.step(acted.action)
                reward = float(reward)
                total, is_over, step = total + reward, terminated or truncated, step + 1
            if acted.recorded:
                ended = {"terminated": bool(terminated), "truncated": bool(truncated)}
                await self.act(obs, session=id_, step=step, reward=reward, **ended, **options)
            await self.end(id_)
            returns.append(total)
        return returns

    async def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _ask(
        self, method: str, path: str, body: bytes | None, is_repeatable: bool, session: Any = None
    ) -> Any:
        async with self._turn:
            for left in reversed(range(_TRIES if is_repeatable else 1)):
                try:
                    return _answer(
                        *await asyncio.wait_for(
                            self._asked_once(method, path, body, session), self._address.timeout
                        )
                    )
                except (*_NO_ANSWER, asyncio.TimeoutError) as error:
                    await self.close()
                    if not left or isinstance(error, asyncio.TimeoutError):
                        raise self._no_answer(error) from None
        raise AssertionError

    async def _asked_once(
        self, method: str, path: str, body: bytes | None, session: Any
    ) -> tuple[int, str, bytes]:
        host, port, is_tls = self._parts
        if self._streams is None:
            self._streams = await asyncio.open_connection(host, port, ssl=is_tls or None)
        reader, writer = self._streams
        headers = {**self._headers(body, session), "host": host, "content-length": len(body or b"")}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + (body or b""))
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        told = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        data = await reader.readexactly(int(told.get("content-length", "0")))
        self._session_header = told.get("x-session-header", "")
        if told.get("connection") == "close":
            await self.close()
        return int(head[0].split(" ")[1]), told.get("content-type", ""), data
