"""The client of a server for asyncio."""

from __future__ import annotations

import asyncio
import os
from functools import cached_property
from typing import Any
from urllib.parse import quote

from typing_extensions import Self

from .asking import (
    NO_ANSWER,
    TRIES,
    Acted,
    Asking,
    acted_in,
    asked_body,
    document_of,
    usual_answers,
)
from .errors import ServeError


class AsyncClient(Asking):
    """The same for asyncio: one connection, whose requests take turns; arguments as of `Asking`."""

    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @cached_property
    def _turn(self) -> asyncio.Lock:
        return asyncio.Lock()

    async def act(self, obs: Any, **fields: Any) -> Acted:
        """What the policy does; see `Client.act`."""
        body = asked_body(obs, {"policy": self._policy, **fields})
        is_repeatable = fields.get("session") is None or fields.get("step") is not None
        session = fields.get("session")
        return acted_in(await self._ask("POST", "/v1/act", body, is_repeatable, session))

    async def policies(self) -> list[dict[str, Any]]:
        """What the server has."""
        document = await self._ask("GET", "/v1/policies", None, True)
        with usual_answers():
            listed: list[dict[str, Any]] = document["policies"]
        return listed

    async def end(self, session: str) -> None:
        """End a session; one that is gone already is no error."""
        try:
            await self._ask(
                "DELETE", f"/v1/sessions/{quote(session, safe='')}", None, True, session
            )
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

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _ask(
        self, method: str, path: str, body: bytes | None, is_repeatable: bool, session: Any = None
    ) -> Any:
        async with self._turn:
            for tries_left in reversed(range(TRIES if is_repeatable else 1)):
                try:
                    with usual_answers():
                        once = self._asked_once(method, path, body, session)
                        return document_of(*await asyncio.wait_for(once, self._address.timeout))
                except (*NO_ANSWER, asyncio.TimeoutError) as error:
                    await self.close()
                    if not tries_left or isinstance(error, asyncio.TimeoutError):
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
        header = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        data = await reader.readexactly(int(header.get("content-length", "0")))
        self._session_header = header.get("x-session-header", "")
        if header.get("connection") == "close":
            await self.close()
        return int(head[0].split(" ")[1]), header.get("content-type", ""), data
