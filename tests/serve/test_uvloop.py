"""Connections over uvloop, whose transports do not derive from asyncio.Transport."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from rlconnect.serve.http.messages import json_response
from rlconnect.serve.http.parsing import HttpLimits
from rlconnect.serve.http.protocol import Connections
from rlconnect.serve.workers.links import Frames

uvloop = pytest.importorskip("uvloop")


def test_a_request_is_answered() -> None:
    """An HTTP request over uvloop gets its answer."""

    class Echo:
        def handle(self, request: Any, answer: Any) -> None:
            answer(json_response({"path": request.path}))

    async def main() -> bytes:
        loop = asyncio.get_running_loop()
        connections = Connections(Echo(), HttpLimits())
        server = await loop.create_server(connections.protocol, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"GET /x HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        server.close()
        return answer

    answer = uvloop.run(main())
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b'{"path":"/x"}')


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="workers need Unix sockets")
def test_workers_exchange_messages(tmp_path: Path) -> None:
    """Frames between workers arrive over uvloop."""

    async def main() -> Any:
        loop = asyncio.get_running_loop()
        received = loop.create_future()
        path = str(tmp_path / "s")

        def frames() -> Frames:
            return Frames(lambda _, message: received.set_result(message), lambda _: None)

        server = await loop.create_unix_server(frames, path)
        _, sender = await loop.create_unix_connection(frames, path)
        sender.send(b"\x93\x01\x02\x03")
        found = await asyncio.wait_for(received, 10)
        sender.close()
        server.close()
        return found

    assert uvloop.run(main()) == [1, 2, 3]
