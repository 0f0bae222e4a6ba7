"""The security contract of the server: requests are answered, bounded, and from local pages."""

from __future__ import annotations

import errno
import json
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.serve import Client, ServeError, ServeSettings
from rlconnect.serve.guard import Guard
from rlconnect.serve.server import empty_app
from rlconnect.serve.wire import JSON_CODEC, either_ended

from .running import Running, free_port, policy_of, recurrent, running

OBS = [0.5, -0.5, 0.25, 1.0]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(
        {"only": recurrent()}, admin_token="secret", allow_host="", policy_server_port=free_port()
    ) as found:
        yield found


def asked(
    server: Running, method: str, path: str, body: bytes = b"", port: int = 0, **headers: str
) -> tuple[int, bytes]:
    """Return status and body of a request with these headers."""
    named = {"host": f"localhost:{server.port}", "connection": "close",
             "content-length": str(len(body)), **headers}  # fmt: skip
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())
    data = f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body
    head, _, rest = server.raw(data, port=port).partition(b"\r\n\r\n")
    return int(head[9:12]), rest


# Administration.

WRONG_ADMIN: list[Any] = [
    {"do": "load", "path": "x" * 5_000},
    {"do": "load", "path": "a\0b"},
    {"do": "load", "path": "\ud800"},
    {"do": "load", "path": ""},
    {"do": "load", "path": 3},
    {"do": "load", "path": "/proc/self/mem"},
    {"do": "promote", "path": "nothing", "move": 2.0},
    {"do": "promote", "version": 2.0},
    {"do": "promote", "version": True},
    {"do": "promote", "version": 1 << 80},
    {"do": "promote", "version": -1},
    {"do": "promote"},
    {"do": ["promote"]},
    {"do": "canary", "version": 1, "share": 2.0},
    {"do": "rollback", "policy": "x" * 5_000},
    {"do": "rollback", "policy": 7},
    {"do": None},
    {},
    [],
    "promote",
    [[[[]]]],
]


@pytest.mark.parametrize("command", WRONG_ADMIN, ids=range(len(WRONG_ADMIN)))
def test_every_admin_request_is_answered(server: Running, command: Any) -> None:
    """With a refusal, after which administration works as before."""
    body = json.dumps(command).encode()
    told = {"authorization": "Bearer secret", "content_type": "application/json"}
    status, answer = asked(server, "POST", "/v1/admin", body, **told)
    assert 400 <= status < 500, answer
    assert json.loads(answer)["code"]
    with Client(server.url, token="secret") as client:
        promoted = client.admin("promote", version=1)
        assert promoted["version"] == 1


def test_an_error_in_a_load_is_answered(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever loading raises."""
    for error in (RuntimeError("odd"), OSError(errno.EIO, "disk"), MemoryError(), KeyError("x")):

        def fail(*_: Any, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr("rlconnect.serve.admin.next_version", fail)
        with Client(server.url, token="secret", timeout=20) as client:
            with pytest.raises(ServeError) as caught:
                client.admin("load", path="somewhere")
            assert caught.value.status in (409, 500)
            assert client.admin("promote", version=1)["version"] == 1


def test_a_callback_that_raises_does_not_stop_a_version(server: Running) -> None:
    """Later requests are answered."""
    version = server.app.models["only"].current

    def fail(*_: Any) -> None:
        raise RuntimeError("odd")

    def submit() -> None:
        from rlconnect.serve.versions import Step

        version.submit(Step(None, OBS, False, None, None, False, fail))

    version.observers.append(fail)
    try:
        server.call(submit)
        with Client(server.url) as client:
            assert client.act(OBS, session="goes on", step=0).version == 1
            version.observers.clear()
            assert client.act(OBS).version == 1
    finally:
        version.observers.clear()


# Flags.


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ([], None), ([True], True), ([False, False], False), ([False, True], True),
        ([[True, False]], [True, False]), ([[1, 0], [0, 0]], [True, False]),
        ([np.array([True, False]), False], [True, False]), ([np.bool_(True)], [True]),
        ([[False, True], True], [True, True]), ([1], [True]),
    ],
)  # fmt: skip
def test_flags(flags: Any, wanted: Any) -> None:
    """Booleans, 0 and 1, and rows of them."""
    assert either_ended(flags) == wanted


@pytest.mark.parametrize(
    "flag", [0.5, 2, -1, "x", [0.5], [2], [None], [[True]], {"a": 1}, float("nan"), [], b"\1"]
)
def test_other_values_are_no_flags(flag: Any) -> None:
    """They are refused, alone and beside a flag."""
    for flags in ([flag], [False, flag], [flag, True]):
        with pytest.raises(ServeError):
            either_ended(flags)


# Bodies.


@pytest.mark.parametrize("unit", [b"[],", b"{},", b"[[],[]],", b'{"a":[]},', b"[1],", b'"ab",'])
def test_containers_of_a_body_are_counted(unit: bytes) -> None:
    """A small body cannot unfold to a large value."""
    body = b"[" + unit * (3_000_000 // len(unit)) + b"0]"
    with pytest.raises(ServeError, match="lists, maps or texts"):
        JSON_CODEC.decode(body)


def test_the_limit_of_a_body(server: Running) -> None:
    """4 MiB by default; more is refused, also in chunks, and the sender gets the answer."""
    assert ServeSettings().max_body == 4 << 20
    body = b'{"obs": [' + b" " * (5 << 20) + b"0]}"
    status, _ = asked(server, "POST", "/v1/act", body, content_type="application/json")
    assert status == 413
    head = (
        f"POST /v1/act HTTP/1.1\r\nhost: localhost:{server.port}\r\ntransfer-encoding: chunked\r\n"
        "content-type: application/json\r\nconnection: close\r\n\r\n"
    )
    chunks = b"".join(b"100000\r\n%s\r\n" % (b" " * 0x100000) for _ in range(5))
    assert server.raw(head.encode() + chunks + b"0\r\n\r\n").startswith(b"HTTP/1.1 413")


# Web pages.

FOREIGN = [
    {"host": "rebound.example"},
    {"host": "rebound.example:8000"},
    {"host": "127.0.0.1.rebound.example"},
    {"host": "localhost.rebound.example"},
    {"host": "10.0.0.1"},
    {"host": ""},
    {"host": "@"},
    {"host": "["},
    {"origin": "http://elsewhere.example"},
    {"origin": "null"},
    {"origin": "http://localhost"},
    {"origin": "http://localhost.elsewhere.example"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=map(str, FOREIGN))
def test_pages_of_other_sites_are_refused(server: Running, headers: dict[str, str]) -> None:
    """On all ports, over HTTP and as a WebSocket."""
    body = json.dumps({"obs": OBS}).encode()
    for method, path in (
        ("GET", "/v1/sessions"),
        ("POST", "/v1/act"),
        ("DELETE", "/v1/sessions/a"),
    ):
        told = {"content_type": "application/json", **headers}
        assert asked(server, method, path, body if method == "POST" else b"", **told)[0] == 403
    upgrade = {
        "upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13",
        "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    }  # fmt: skip
    assert asked(server, "GET", "/v1/stream", **{**upgrade, **headers})[0] == 403
    port = server.server.settings.policy_server_port
    start = pickle.dumps({"command": "START_EPISODE"})
    assert asked(server, "POST", "/", start, port, **headers)[0] == 403


def test_local_clients_and_the_own_page_are_served(server: Running) -> None:
    """Names of loopback, and the origin that the page itself has."""
    for host in ("localhost", "127.0.0.1", "[::1]", "policies.localhost", "LOCALHOST."):
        for port in ("", f":{server.port}"):
            assert asked(server, "GET", "/v1/policies", host=host + port)[0] == 200
    own = {"origin": f"http://localhost:{server.port}"}
    assert asked(server, "GET", "/v1/policies", **own)[0] == 200


def test_hosts_and_origins_are_allowed() -> None:
    """By settings; other interfaces are checked once something is configured."""
    with running({"only": policy_of()}, allow_host="a.example, b.example",
                 allow_origin="https://page.example") as server:  # fmt: skip
        assert asked(server, "GET", "/v1/policies", host="b.example")[0] == 200
        assert asked(server, "GET", "/v1/policies", host="c.example")[0] == 403
        assert asked(server, "GET", "/v1/policies", origin="https://page.example")[0] == 200
        assert asked(server, "GET", "/v1/policies", origin="https://other.example")[0] == 403
    Guard().check("192.0.2.1", {b"host": b"any.example", b"origin": b"http://x.example"})
    with pytest.raises(ServeError):
        Guard("a.example").check("192.0.2.1", {b"host": b"any.example"})
    Guard("*", "*").check("127.0.0.1", {b"host": b"any.example", b"origin": b"null"})


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded",
                                  "multipart/form-data; boundary=x", ""])  # fmt: skip
def test_bodies_that_need_no_preflight_do_not_act(server: Running, kind: str) -> None:
    """A form of a web page can send these types only."""
    body = json.dumps({"obs": OBS, "session": "form"}).encode()
    assert asked(server, "POST", "/v1/act", body, content_type=kind)[0] == 415
    told = {"authorization": "Bearer secret", "content_type": kind}
    assert asked(server, "POST", "/v1/admin", b'{"do": "rollback"}', **told)[0] == 415
    assert ("only", "form") not in {each.key for each in server.app.sessions}


@pytest.mark.parametrize(
    "cors",
    ["https://a.example\r\nset-cookie: a=b", "a\nb", "https://a.example/", "a b", "https://"],
)
def test_cors_is_an_origin(cors: str) -> None:
    """Anything else is refused before the server starts."""
    with pytest.raises(ConfigError, match="cors"):
        empty_app(ServeSettings(cors=cors))


def test_a_page_of_the_cors_origin_may_ask() -> None:
    """It gets the headers that its browser wants to see."""
    with running({"only": policy_of()}, cors="https://page.example") as server:
        body = json.dumps({"obs": OBS}).encode()
        told = {"origin": "https://page.example", "content_type": "application/json"}
        assert asked(server, "OPTIONS", "/v1/act", **told)[0] == 204
        assert asked(server, "POST", "/v1/act", body, **told)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD"])
def test_a_handshake_is_a_get(server: Running, method: str) -> None:
    """Other methods get no WebSocket."""
    upgrade = {
        "upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13",
        "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    }  # fmt: skip
    answer = server.raw(
        (f"{method} /v1/stream HTTP/1.1\r\nhost: localhost\r\n" +
         "".join(f"{name}: {value}\r\n" for name, value in upgrade.items()) + "\r\n").encode()
    )  # fmt: skip
    assert not answer.startswith(b"HTTP/1.1 101")


# Disks and file descriptors.


def test_episodes_lost_to_a_full_disk_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In /metrics; the server goes on."""

    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("rlconnect.serve.recording.episode_writer", full)
    monkeypatch.setattr("rlconnect.serve.recording._EPISODES_A_FILE", 1)
    with running({"only": policy_of()}, record=str(tmp_path)) as server:
        for session in ("a", "b"):
            for step in range(3):
                server.act(OBS, session=session, terminated=step == 2)
        for _ in range(1000):
            text = server.ask("GET", "/metrics")[1].decode()
            if "rlconnect_episodes_lost_total 2\n" in text:
                break
        assert "rlconnect_episodes_lost_total 2\n" in text
        assert "rlconnect_episodes_recorded_total 0\n" in text


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_idle_connections_do_not_starve_health(tmp_path: Path) -> None:
    """200 silent connections to a server with 128 file descriptors."""
    resource = pytest.importorskip("resource")
    recurrent().export_checkpoint(str(tmp_path))
    command = [sys.executable, "-m", "rlconnect", "serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)),
    ) as process:  # fmt: skip
        held: list[socket.socket] = []
        try:
            assert process.stderr is not None
            port = int(process.stderr.readline().split(";")[0].rpartition(":")[2])
            held = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(200)]
            answers = []
            for _ in range(10):
                with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                    try:
                        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
                        answers.append(connection.recv(1000))
                    except ConnectionError:
                        answers.append(b"")
                if answers[-1].startswith(b"HTTP/1.1 200"):
                    break
            assert answers[-1].startswith(b"HTTP/1.1 200"), answers
        finally:
            for connection in held:
                connection.close()
            process.terminate()
            assert process.wait(60) == 0
