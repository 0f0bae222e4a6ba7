"""Hostile requests by the thousand: `python -m tests.serve.attack --requests 100000`.

Each is one of the strange ones of the tests, whole, cut, flipped or doubled, for one of the three
ports: HTTP, Ray's `PolicyClient`s, RLlink. The server has to answer each with a refusal or an
action, never with its own failure, run nothing of it, go on, and grow no more.
"""

from __future__ import annotations

import argparse
import pickle
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgpack
import numpy as np

from .http.test_connections import ACT, HOSTILE, post
from .running import free_port
from .soak import memory
from .test_policy_server import GOLDEN, hostile_pickles
from .test_rllink import (
    ALGORITHM,
    CLIENT,
    NO_MESSAGES,
    WRONG_MESSAGES,
    framed,
    message,
    wrong_episodes,
)


@dataclass
class Port:
    """One port, and what is sent there.

    Args:
        number: It.
        good: What has to be answered at the end as at the beginning.
        known: What is sent, damaged.
        status: Reads an answer.
    """

    number: int
    good: bytes
    known: list[bytes]
    status: Callable[[bytes], int]
    found: Counter[int] = field(default_factory=Counter)


def main() -> int:
    """Attack, count, tell; 1 if the server failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    with tempfile.TemporaryDirectory() as folder:
        mark = Path(folder, "ran")
        ports = {"http": http(0), "pickles": pickles(str(mark)), "rllink": rllink(str(mark))}
        command = [sys.executable, "-m", "rlconnect", "serve", str(ALGORITHM), "--port", "0"]
        command += ["--allow-host", "h"]
        command += ["--policy-server-port", str(ports["pickles"].number)]
        command += ["--rllink-port", str(ports["rllink"].number), "--record", f"{folder}/kept"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as server:
            assert server.stderr is not None
            line = server.stderr.readline()
            ports["http"].number = int(line.split(";")[0].rpartition(":")[2])
            grown = []
            for number in range(asked.requests):
                port = [*ports.values()][number % 3]
                data = damaged(port.known[rng.integers(len(port.known))], rng)
                port.found[ask(port, data, is_half=bool(rng.random() < 0.5))] += 1
                if number % (asked.requests // 5 or 1) == asked.requests // 10:
                    grown.append(memory(server.pid))
            for port in ports.values():
                assert ask(port, port.good, is_half=True) == 200
            grown.append(memory(server.pid))
            server.terminate()
            code = server.wait(60)
            told = server.stderr.read()
        executed = mark.exists()
    for name, port in ports.items():
        print(f"{name}: answers {dict(sorted(port.found.items()))}")
    print(f"memory in MiB {grown}; exit code {code}; {'ran' if executed else 'nothing ran'}")
    if told:
        print(told[-2000:])
    statuses = {status for port in ports.values() for status in port.found}
    return int(any(status >= 500 for status in statuses) or code != 0 or executed)


def http(number: int) -> Port:
    """The port for everybody."""
    known = [data for data, _ in HOSTILE.values()] + [post(), post(ACT[:-1]), b""]
    return Port(number, post(), known, http_status)


def pickles(mark: str) -> Port:
    """The port of `PolicyClient`s."""

    def posted(body: bytes) -> bytes:
        return b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n" % len(body) + body

    recorded = [bytes.fromhex(body) for body in GOLDEN["2.7.2"]["bodies"].values()]
    heads = [data.replace(b"/v1/act", b"/") for data, _ in HOSTILE.values()]
    good = posted(pickle.dumps({"command": "START_EPISODE"}))
    known = [posted(body) for body in (*hostile_pickles(mark), *recorded)]
    return Port(free_port(), good, [*known, *heads, good], http_status)


def rllink(mark: str) -> Port:
    """The port of external environments."""

    def status(answer: bytes) -> int:
        if not answer:
            return 0
        fields = msgpack.unpackb(answer[8 : 8 + int(answer[:8])])
        return int(fields.get("status", 200))

    episodes = [
        framed(msgpack.packb({"type": "EPISODES", "episodes": each}))
        for each in wrong_episodes(mark).values()
    ]
    known = [*map(framed, WRONG_MESSAGES), *(data for data, _ in NO_MESSAGES), *episodes, CLIENT]
    known += [message("GET_ACTION", obs=[0.0] * 4), message("GET_STATE"), message("PING")]
    return Port(free_port(), message("PING"), known, status)


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A request as it is, or cut, flipped or doubled."""
    kind = rng.integers(4)
    if kind == 1 and data:
        return data[: rng.integers(len(data))]
    if kind == 2 and data:
        flipped = bytearray(data)
        for at in rng.integers(0, len(data), rng.integers(1, 5)):
            flipped[at] = rng.integers(256)
        return bytes(flipped)
    return data * 2 if kind == 3 and len(data) < 2000 else data


def http_status(answer: bytes) -> int:
    """The status of an answer; 0 of none."""
    return int(answer[9:12]) if answer else 0


def ask(port: Port, data: bytes, *, is_half: bool) -> int:
    """The status of the first answer; 0 where the server hung up without one, as it should."""
    with socket.create_connection(("127.0.0.1", port.number), timeout=30) as connection:
        try:
            connection.sendall(data)
            if is_half:
                connection.shutdown(socket.SHUT_WR)
            else:
                connection.settimeout(0.01)
            answer = connection.recv(1 << 14)
        except (TimeoutError, ConnectionError):
            return 0
    return port.status(answer)


if __name__ == "__main__":
    sys.exit(main())
