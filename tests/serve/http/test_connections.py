"""What strangers send: every mistake is answered, nothing makes the server stumble or wait."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from ..running import Running, policy_of, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running({"only": policy_of()}, max_body=100_000, read_timeout=1.0) as found:
        yield found


ACT = json.dumps({"obs": [0.0] * 4}).encode()


def post(body: bytes = ACT, *headers: str) -> bytes:
    """A request to act."""
    lines = [f"content-length: {len(body)}", "content-type: application/json", *headers]
    told = "".join(f"{line}\r\n" for line in lines)
    return f"POST /v1/act HTTP/1.1\r\nhost: h\r\n{told}\r\n".encode() + body


def statuses(answer: bytes) -> list[int]:
    """The statuses of answers that follow each other."""
    found = []
    while answer:
        head, mark, rest = answer.partition(b"\r\n\r\n")
        assert mark, answer
        found.append(int(head[9:12]))
        length = next(
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if b"content-length" in line
        )
        answer = rest[length:]
    return found


def test_requests_may_follow_without_waiting(server: Running) -> None:
    """Answers come in the order of their requests, over one connection."""
    bad = post(b"{")
    assert statuses(server.raw(post() + bad + post() * 20)) == [200, 400, *[200] * 20]


def test_bodies_in_chunks(server: Running) -> None:
    """A body whose length is not known beforehand, with trailers and extensions."""
    head = b"POST /v1/act HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n"
    head += b"transfer-encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x;note=1\r\n%s\r\n" % (1, ACT[at : at + 1]) for at in range(len(ACT)))
    whole = head + chunks + b"0\r\n\r\n"
    assert statuses(server.raw(whole + whole)) == [200, 200]
    assert statuses(server.raw(head + chunks + b"0\r\nsum: 1\r\n\r\n" + post())) == [200, 200]


def test_bytes_may_come_one_by_one(server: Running) -> None:
    """However a request is cut, it reads the same."""
    data = post() + post(b"{}")
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(data)):
            connection.sendall(data[at : at + 1])
        connection.shutdown(socket.SHUT_WR)
        got = b""
        while part := connection.recv(65536):
            got += part
    assert statuses(got) == [200, 400]


HOSTILE: dict[str, tuple[bytes, int]] = {
    "no line": (b"hello\r\n\r\n", 400),
    "no version": (b"GET /healthz\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "no host": (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
    "a whole URL": (b"GET http://other/ HTTP/1.1\r\nhost: h\r\n\r\n", 400),
    "a space in the path": (b"GET /a b HTTP/1.1\r\nhost: h\r\n\r\n", 400),
    "a NUL": (b"GET /\0 HTTP/1.1\r\nhost: h\r\n\r\n", 400),
    "a header without a colon": (b"GET / HTTP/1.1\r\nhost: h\r\nnonsense\r\n\r\n", 400),
    "a folded header": (b"GET / HTTP/1.1\r\nhost: h\r\nx: 1\r\n  2\r\n\r\n", 400),
    "a space before the colon": (b"GET / HTTP/1.1\r\nhost : h\r\n\r\n", 400),
    "a line feed alone": (b"GET / HTTP/1.1\r\nhost: h\r\nx: a\nb: c\r\n\r\n", 400),
    "two lengths": (post(ACT, "content-length: 3"), 400),
    "two hosts": (b"GET / HTTP/1.1\r\nhost: h\r\nhost: i\r\n\r\n", 400),
    "length and chunks": (post(ACT, "transfer-encoding: chunked"), 400),
    "a strange coding": (
        b"POST /v1/act HTTP/1.1\r\nhost: h\r\ntransfer-encoding: gzip, chunked\r\n\r\n", 400,
    ),
    "a negative length": (b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: -1\r\n\r\n", 400),
    "a length with a sign": (b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: +1\r\n\r\n", 400),
    "a gigabyte": (b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 1000000000\r\n\r\n", 413),
    "chunks of too many bytes": (
        b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n"
        + (b"8000\r\n" + b"a" * 0x8000 + b"\r\n") * 4, 413,
    ),
    "a chunk without a size": (
        b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400,
    ),
    "a chunk that is longer": (
        b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n", 400,
    ),
    "a long header": (b"GET / HTTP/1.1\r\nhost: h\r\nx: " + b"a" * 20_000 + b"\r\n\r\n", 431),
    "many headers": (
        b"GET / HTTP/1.1\r\nhost: h\r\n" + b"".join(b"x%d: 1\r\n" % n for n in range(99)) + b"\r\n",
        431,
    ),
    "a long path": (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nhost: h\r\n\r\n", 431),
    "no JSON": (post(b"\xff\xfe"), 400),
    "deep JSON": (post(b'{"obs":' + b"[" * 40_000 + b"]" * 40_000 + b"}"), 400),
    "deep lists": (post(b'{"obs":' + b"[" * 60 + b"]" * 60 + b"}"), 400),
    "a long number": (post(b'{"obs":[' + b"9" * 5_000 + b"]}"), 400),
    "another content type": (
        b"POST /v1/act HTTP/1.1\r\nhost: h\r\ncontent-type: text/plain\r\n"
        b"content-length: 2\r\n\r\n{}", 415,
    ),
    "no WebSocket": (b"GET /v1/stream HTTP/1.1\r\nhost: h\r\n\r\n", 426),
    "an unknown verb": (b"BREW / HTTP/1.1\r\nhost: h\r\n\r\n", 400),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_strange_requests_are_refused(server: Running, name: str) -> None:
    """Each gets the status that says what is wrong with it, and no other request suffers."""
    data, status = HOSTILE[name]
    assert statuses(server.raw(data))[0] == status
    assert statuses(server.raw(post())) == [200]


@pytest.mark.parametrize("keep", [b"GET / HTTP/1.1\r\n", b"", post()[:-5]])
def test_who_does_not_come_to_an_end_is_hung_up_on(server: Running, keep: bytes) -> None:
    """A request that is begun and not ended holds nothing for long."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(keep)
        got = connection.recv(1000)
    assert got == b"" or statuses(got) == [408]
    assert not keep or got


def test_half_a_connection_is_still_answered(server: Running) -> None:
    """A client that sends no more waits for its answer."""
    assert statuses(server.raw(post(), then_close=True)) == [200]


def test_a_body_may_wait_for_a_go_ahead(server: Running) -> None:
    """`expect: 100-continue` is answered before the body comes."""
    head, body = post(ACT, "expect: 100-continue", "connection: close").split(b"\r\n\r\n")
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert statuses(connection.recv(1000)) == [200]


def test_old_clients_hang_up_unless_they_say(server: Running) -> None:
    """HTTP/1.0 ends after an answer."""
    old = b"GET /healthz HTTP/1.0\r\n\r\n"
    assert statuses(server.raw(old, then_close=False)) == [200]


def test_too_many_connections(server: Running) -> None:
    """One more than may be is told so, and the others go on."""
    with running({"only": policy_of()}, max_connections=2) as small:
        held = [socket.create_connection(("127.0.0.1", small.port), timeout=20) for _ in range(2)]
        for connection in held:
            connection.sendall(post())
            assert statuses(connection.recv(1000)) == [200]
        assert statuses(small.raw(b"", then_close=False)) == [503]
        for connection in held:
            connection.close()


FRAMES: dict[str, tuple[dict[str, Any], int]] = {
    "unmasked": ({"data": b"{}", "mask": False}, 1002),
    "a long ping": ({"data": b"a" * 126, "kind": 9}, 1002),
    "a ping in parts": ({"data": b"a", "kind": 9, "is_last": False}, 1002),
    "a reserved kind": ({"data": b"a", "kind": 3}, 1002),
    "a continuation of nothing": ({"data": b"a", "kind": 0}, 1002),
    "no text": ({"data": b"\xff", "kind": 1}, 1007),
    "a bad goodbye": ({"data": b"\x00", "kind": 8}, 1002),
    "goodbye": ({"data": b"\x03\xe8", "kind": 8}, 1000),
}


@pytest.mark.parametrize("name", FRAMES)
def test_strange_frames_close_a_stream(server: Running, name: str) -> None:
    """The code of the closing frame says what was wrong."""
    frame, code = FRAMES[name]
    with server.websocket("/v1/stream") as stream:
        stream.send(**frame)
        kind, data = stream.frame()
        assert (kind, int.from_bytes(data[:2], "big")) == (8, code)
        assert stream.connection.recv(10) == b""


def test_messages_in_parts_with_a_ping_between(server: Running) -> None:
    """Parts make one message; a ping is answered at once."""
    with server.websocket("/v1/stream") as stream:
        stream.send(ACT[:5], is_last=False)
        stream.send(b"there?", kind=9)
        stream.send(ACT[5:], kind=0)
        assert stream.frame() == (10, b"there?")
        assert json.loads(stream.receive())["policy"] == "only"


def test_a_long_message_is_refused(server: Running) -> None:
    """The bound of a body is that of a message, too; of parts together as well."""
    with server.websocket("/v1/stream") as stream:
        stream.send(b"a" * 60_000, is_last=False)
        stream.send(b"a" * 60_000, kind=0)
        kind, data = stream.frame()
        assert (kind, int.from_bytes(data[:2], "big")) == (8, 1009)


def test_damaged_requests_never_stumble(server: Running, rng: Any) -> None:
    """Bytes flipped, cut and doubled end in responses or in a closed connection, nothing else."""
    for _ in range(300):
        data = bytearray(post() + post(b"{}", "transfer-encoding: chunked") + post())
        for at in rng.integers(0, len(data), rng.integers(1, 6)):
            data[at] = rng.integers(256)
        assert all(status < 500 for status in statuses(server.raw(bytes(data))))
    assert statuses(server.raw(post())) == [200]
