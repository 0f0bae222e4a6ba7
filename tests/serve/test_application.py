"""The ASGI application inside other applications, and several ports behind a load balancer."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import subprocess
import sys
import textwrap
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rlconnect.bridge import Actor
from rlconnect.core.errors import ConfigError, MissingExtraError
from rlconnect.serve import AsyncClient, Client, asgi

from .running import RawWebSocket, free_port, recurrent, running

OBS = [0.5, -0.5, 0.25, 1.0]


async def asked(application: Any, method: str, path: str, **scope: Any) -> tuple[int, Any]:
    """Return status and document of a request that is made without a server."""
    body = scope.pop("body", b"")
    told: dict[str, Any] = {
        "type": "http", "http_version": "1.1", "method": method, "path": path,
        "query_string": b"", "headers": [(b"host", b"localhost"),
                                         (b"content-type", b"application/json")], **scope,
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    await application(told, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_any_asgi_server_may_run_it() -> None:
    """A policy object and a mapping of names, below a prefix and without one."""
    policy = recurrent()
    application = asgi({"main": policy}, max_sessions=10)
    actor = Actor.from_policy(policy)

    async def play() -> None:
        for step in range(4):
            body = json.dumps({"obs": OBS, "session": "a", "step": step}).encode()
            status, document = await asked(application, "POST", "/v1/act", body=body)
            assert (status, document["policy"]) == (200, "main")
            assert document["action"] == int(actor.act(np.array(OBS, np.float32), env_ids=0))
        status, document = await asked(application, "GET", "/policy/readyz", root_path="/policy")
        assert (status, document["status"]) == (200, "ready")
        status, document = await asked(asgi(policy), "GET", "/v1/policies")
        assert [each["name"] for each in document["policies"]] == ["default_policy"]
        await application.close()
        assert (await asked(application, "GET", "/readyz"))[0] == 503

    asyncio.run(play())
    with pytest.raises(ConfigError):
        asgi(policy, prot=1)


@pytest.mark.parametrize("server", ["uvicorn", "hypercorn"])
def test_a_fastapi_application_mounts_it(tmp_path: Path, server: str) -> None:
    """`uvicorn module:app` and hypercorn serve the policy over HTTP and a WebSocket."""
    for name in ("fastapi", server):
        pytest.importorskip(name)
    recurrent().export_checkpoint(str(tmp_path / "checkpoint"))
    (tmp_path / "service.py").write_text(
        textwrap.dedent("""
        import fastapi
        import rlconnect.serve

        app = fastapi.FastAPI()

        @app.get("/own")
        def own():
            return "mine"

        app.mount("/policy", rlconnect.serve.asgi("checkpoint"))
    """)
    )
    port = free_port()
    place = ["--port", str(port)] if server == "uvicorn" else ["--bind", f"127.0.0.1:{port}"]
    command = [sys.executable, "-m", server, "service:app", *place]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        try:
            connection = connected(port, process)
            with connection:
                connection.sendall(
                    b"GET /policy/v1/stream HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\n"
                    b"connection: Upgrade\r\nsec-websocket-version: 13\r\n"
                    b"sec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
                )
                stream = RawWebSocket(connection)
                assert b" 101 " in stream.until(b"\r\n\r\n")
                actor = Actor.from_checkpoint(tmp_path / "checkpoint")
                for _ in range(3):
                    stream.send(json.dumps({"obs": OBS}).encode())
                    action = json.loads(stream.receive())["action"]
                    assert action == int(actor.act(np.array(OBS, np.float32), env_ids=0))
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                body = json.dumps({"obs": OBS}).encode()
                connection.sendall(
                    b"POST /policy/v1/act HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
                    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
                    % (len(body), body)
                )
                answer = connection.makefile("rb").read()
            assert answer.split(b"\r\n")[0].split()[1] == b"200"
            assert b'"action"' in answer
        finally:
            process.terminate()
            process.wait(60)


def connected(port: int, process: subprocess.Popen[Any]) -> socket.socket:
    """Return a connection once the process listens."""
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=20)
        except ConnectionRefusedError:
            continue
    raise AssertionError(process.returncode)


@contextmanager
def balanced(ports: list[int]) -> Iterator[int]:
    """A load balancer that sends each request to a port by a hash of its header x-session-id."""

    class Forward(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            key = self.headers["x-session-id"].encode()
            port = ports[zlib.crc32(key) % len(ports)]
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as behind:
                behind.request(self.command, self.path, body, dict(self.headers))
                answer = behind.getresponse()
                data = answer.read()
            self.send_response(answer.status)
            self.send_header("content-type", answer.headers["content-type"])
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_DELETE = do_POST

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Forward) as balancer:
        thread = threading.Thread(target=balancer.serve_forever)
        thread.start()
        try:
            yield balancer.server_address[1]
        finally:
            balancer.shutdown()
            thread.join(60)


def test_sessions_behind_a_load_balancer(rng: np.random.Generator) -> None:
    """Two servers behind a hash of the session header act in each session as one would."""
    policy = recurrent()
    episodes = rng.uniform(-1, 1, (8, 5, 4)).astype(np.float32)
    with running({"main": policy}) as one, running({"main": policy}) as other:
        with balanced([one.port, other.port]) as port:
            url = f"http://127.0.0.1:{port}"

            async def play(number: int) -> list[int]:
                async with AsyncClient(url) as client:
                    return [
                        (await client.act(obs, session=f"s{number}", step=step)).action
                        for step, obs in enumerate(episodes[number])
                    ]

            async def all_of_them() -> list[list[int]]:
                return await asyncio.gather(*map(play, range(len(episodes))))

            acted = asyncio.run(all_of_them())
            with Client(url) as client, client.session() as session:
                assert [session.act(obs).action for obs in episodes[0]] == acted[0]
        assert {len(one.app.sessions), len(other.app.sessions)} != {0, 8}
        assert len(one.app.sessions) + len(other.app.sessions) == 8
    for episode, actions in zip(episodes, acted, strict=True):
        actor = Actor.from_policy(policy)
        assert actions == [int(actor.act(obs, env_ids=0)) for obs in episode]


def test_without_uvicorn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    from rlconnect.serve import ServeSettings, run

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match="uvicorn") as error:
        run(ServeSettings(policies={"": "x"}))
    assert "rlconnect[serve]" in error.value.hint
