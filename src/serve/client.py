"""Clients of a server: a call each, a session with memory, a whole loop over an environment."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
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
from .wire import MSGPACK_CODEC


class Client(Asking):
    """Asks a server, over one connection that is kept; not for several threads at once.

    Arguments are those of `Asking`.
    """

    _connection: http.client.HTTPConnection | None = None

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
        body = asked_body(obs, fields)
        # Without a memory, or with a number, asking again does no harm.
        is_repeatable = session is None or step is not None
        return acted_in(self._ask("POST", "/v1/act", body, is_repeatable, session))

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

    @usual_answers()
    def policies(self) -> list[dict[str, Any]]:
        """What the server has."""
        listed: list[dict[str, Any]] = self._ask("GET", "/v1/policies", None, True)["policies"]
        return listed

    def end(self, session: str) -> None:
        """End a session; one that is gone already is no error."""
        try:
            self._ask("DELETE", f"/v1/sessions/{quote(session, safe='')}", None, True, session)
        except ServeError as error:
            if error.status not in (404, 410):
                raise

    def admin(self, do: str, **fields: Any) -> dict[str, Any]:
        """Change a policy: "load", "promote" or "rollback"; see `admin.change`."""
        command = {"do": do, "policy": self._policy, **fields}
        body = MSGPACK_CODEC.encode(
            {name: value for name, value in command.items() if value is not None}
        )
        document: dict[str, Any] = self._ask("POST", "/v1/admin", body, False)
        return document

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @usual_answers()
    def _ask(
        self, method: str, path: str, body: bytes | None, is_repeatable: bool, session: Any = None
    ) -> Any:
        for tries_left in reversed(range(TRIES if is_repeatable else 1)):
            try:
                connection = self._connected()
                connection.request(method, path, body, self._headers(body, session))
                answer = connection.getresponse()
                data = answer.read()
                self._session_header = answer.headers.get("x-session-header", "")
            except NO_ANSWER as error:
                self.close()
                if not tries_left or isinstance(error, socket.timeout):
                    raise self._no_answer(error) from None
                continue
            return document_of(answer.status, answer.headers.get("content-type", ""), data)
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
    """A session of a client: its requests are numbered, so that each acts once."""

    def __init__(self, client: Client, options: Mapping[str, Any]) -> None:
        self._client, self._options = client, dict(options)
        self.id = f"c-{os.urandom(12).hex()}"
        self._step = 0

    def act(self, obs: Any, **fields: Any) -> Acted:
        """What the policy does, remembering what was before; see `Client.act`."""
        options = {**self._options, **fields}
        if self._step:
            options.pop("seed", None)
        acted = self._client.act(obs, session=self.id, step=self._step, **options)
        self._step += 1
        return acted

    def end(self) -> None:
        """Let the server forget it."""
        self._client.end(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if not isinstance(error, ServeError):
            self.end()
