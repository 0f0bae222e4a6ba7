"""Clients of a server that is none of ours: whatever it answers, a `ServeError` is raised."""

import asyncio
import socket
import threading

import numpy as np
import pytest
from rlconnect.core.errors import RlconnectError
from rlconnect.serve import AsyncClient, Client


def answer(body, kind=b"application/json", status=b"200 OK", more=b""):
    """An answer of HTTP."""
    length = str(len(body)).encode()
    return (
        b"HTTP/1.1 " + status + b"\r\ncontent-type: " + kind + b"\r\ncontent-length: " + length
        + b"\r\n" + more + b"\r\n" + body
    )  # fmt: skip


ODD = {
    "list": answer(b"[]"),
    "number": answer(b"1"),
    "null": answer(b"null"),
    "empty": answer(b""),
    "no fields": answer(b"{}"),
    "other fields": answer(b'{"action": 1}'),
    "list as policies": answer(b'{"policies": 3, "action": []}'),
    "page": answer(b"<html>", b"text/html"),
    "no type": answer(b"{}", b""),
    "deep": answer(b"[" * 100_000),
    "no json": answer(b"{"),
    "no text": answer(b"\xff\xfe"),
    "msgpack": answer(b"\xdd\xff\xff\xff\xff", b"application/msgpack"),
    "error that is a list": answer(b"[]", status=b"500 No"),
    "error that is text": answer(b'"no"', status=b"404 No"),
    "error with odd fields": answer(b'{"error": [], "code": {}, "hint": 3}', status=b"400 No"),
    "status": answer(b"{}", status=b"abc"),
    "status 999": answer(b"{}", status=b"999 X"),
    "length": b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
    "long header": answer(b"{}", more=b"x: " + b"y" * 100_000 + b"\r\n"),
    "cut": answer(b"{}" * 100)[:-10],
    "nothing": b"",
    "noise": b"\x00\x01\x02\r\n\r\n",
    "no http": b"220 mail.example ESMTP\r\n\r\n",
}


@pytest.fixture
def server():
    """An address at which each connection gets the bytes that were set."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        said = {}

        def serve():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(said["answer"])

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", said
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("name", ODD)
def test_odd_answers_raise_typed_errors(server, name):
    """From both clients, for each request."""
    url, said = server
    said["answer"] = ODD[name]

    async def ask(what):
        async with AsyncClient(url, timeout=5) as client:
            return await what(client)

    requests = [
        lambda client: client.act(np.zeros(4)),
        lambda client: client.act(np.zeros(4), session="a", step=0),
        lambda client: client.policies(),
    ]
    for request in requests:
        if name == "list as policies" and request is requests[2]:
            continue
        with Client(url, timeout=5) as client, pytest.raises(RlconnectError):
            request(client)
        with pytest.raises(RlconnectError):
            asyncio.run(ask(request))
