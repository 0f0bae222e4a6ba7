"""Hostile requests by the thousand: `python -m tests.serve.attack --requests 100000`.

Each is one of the strange ones of the tests, whole, cut, flipped or doubled. The server has to
answer each with a refusal or an action, never with its own failure, go on, and grow no more.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
from collections import Counter

import numpy as np

from .http.test_connections import ACT, HOSTILE, post
from .running import policy_of
from .soak import memory


def main() -> int:
    """Attack, count, tell; 1 if the server failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    known = [data for data, _ in HOSTILE.values()] + [post(), post(ACT[:-1]), b""]
    with tempfile.TemporaryDirectory() as folder:
        policy_of().export_checkpoint(folder)
        command = [sys.executable, "-m", "rlconnect", "serve", folder, "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as server:
            assert server.stderr is not None
            port = int(server.stderr.readline().split(";")[0].rpartition(":")[2])
            found: Counter[int] = Counter()
            grown = []
            for number in range(asked.requests):
                data = damaged(known[rng.integers(len(known))], rng)
                found[ask(port, data, is_half=bool(rng.random() < 0.5))] += 1
                if number % (asked.requests // 5 or 1) == asked.requests // 10:
                    grown.append(memory(server.pid))
            assert ask(port, post(), is_half=True) == 200
            grown.append(memory(server.pid))
            server.terminate()
            code = server.wait(60)
            told = server.stderr.read()
    print(f"answers {dict(sorted(found.items()))}; memory in MiB {grown}; exit code {code}")
    if told:
        print(told[-2000:])
    return int(any(status >= 500 for status in found) or code != 0)


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


def ask(port: int, data: bytes, *, is_half: bool) -> int:
    """The status of the first answer; 0 where the server hung up without one, as it should."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        try:
            connection.sendall(data)
            if is_half:
                connection.shutdown(socket.SHUT_WR)
            else:
                connection.settimeout(0.01)
            answer = connection.recv(64)
        except (TimeoutError, ConnectionError):
            return 0
    return int(answer[9:12]) if answer else 0


if __name__ == "__main__":
    sys.exit(main())
