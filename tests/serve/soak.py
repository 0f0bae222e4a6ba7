"""Many sessions at once, for long: `python -m tests.serve.soak --sessions 2000 --steps 20`.

Client processes go along their sessions in random order, leave some for a while and come back. Each
action is held to that of an actor which plays the session alone. Tells how the server's memory
grew, too.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from gymnasium import spaces
from rlconnect.bridge import Actor, adapt
from rlconnect.core.adapters import StackFrames
from rlconnect.serve import AsyncClient

from .running import BOX, policy_of


def main() -> int:
    """Play, compare, tell; 1 if an action differed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=1, help="how often all of it is played")
    asked = parser.parse_args()
    policy = policy_of(
        spaces.Box(-1.0, 1.0, (8,), np.float32),
        observation_filter="MeanStdFilter",
        model={"use_lstm": True, "lstm_cell_size": 16, "fcnet_hiddens": [16]},
    )
    policy = adapt(policy, observation_space=BOX, obs=[StackFrames(2)])
    with tempfile.TemporaryDirectory() as folder:
        policy.export_checkpoint(folder)
        command = [sys.executable, "-m", "rlconnect", "serve", folder, "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as server:
            assert server.stderr is not None
            url = server.stderr.readline().split(" at ")[1].split(";")[0]
            wrong, grown = 0, [memory(server.pid)]
            for round_ in range(asked.rounds):
                began = time.monotonic()
                with multiprocessing.get_context("spawn").Pool(asked.clients) as pool:
                    parts = [
                        (url, folder, range(at, asked.sessions, asked.clients), asked.steps, round_)
                        for at in range(asked.clients)
                    ]
                    wrong += sum(pool.starmap(play, parts))
                grown.append(memory(server.pid))
                rate = asked.sessions * asked.steps / (time.monotonic() - began)
                print(f"round {round_}: {rate:,.0f} steps/s, {wrong} wrong, {grown[-1]:.1f} MiB")
            server.terminate()
            code = server.wait(60)
    print(f"{asked.rounds * asked.sessions * asked.steps:,} steps, {wrong} wrong; memory {grown}")
    return int(bool(wrong or code))


def memory(pid: int) -> float:
    """What a process and those below it hold, in MiB."""
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    found = sum(memory(int(each)) for each in below)
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return round(found + own / 1024, 1)


def observations(session: int, steps: int, round_: int) -> np.ndarray:
    """What a session sees."""
    rng = np.random.default_rng([session, round_])
    return rng.uniform(-1, 1, (steps, 4)).astype(np.float32)


def play(url: str, folder: str, sessions: range, steps: int, round_: int) -> int:
    """Go along sessions in random order; how many actions were wrong."""
    wanted = {}
    for session in sessions:
        actor = Actor.from_checkpoint(folder)
        wanted[session] = [
            int(actor.act(obs, env_ids=0)) for obs in observations(session, steps, round_)
        ]
    return asyncio.run(_played(url, wanted, steps, round_))


async def _played(url: str, wanted: dict[int, list[int]], steps: int, round_: int) -> int:
    rng = np.random.default_rng([os.getpid(), round_])
    wrong = 0
    clients = [AsyncClient(url) for _ in range(8)]
    free: asyncio.Queue[AsyncClient] = asyncio.Queue()
    for client in clients:
        free.put_nowait(client)

    async def one(session: int, step: int, obs: np.ndarray) -> None:
        nonlocal wrong
        client = await free.get()
        if rng.random() < 0.02:
            await client.close()  # gone, and back by another connection
        acted = await client.act(obs, session=f"{round_}-{session}", step=step)
        wrong += acted.action != wanted[session][step]
        free.put_nowait(client)

    seen = {session: observations(session, steps, round_) for session in wanted}
    at = dict.fromkeys(wanted, 0)
    while at:
        chosen = rng.permutation([*at])[: max(1, int(len(at) * rng.random()))]
        await asyncio.gather(*(one(int(each), at[each], seen[each][at[each]]) for each in chosen))
        for each in chosen:
            at[each] += 1
            if at[each] == steps:
                del at[each]
    for client in clients:
        await client.close()
    return wrong


if __name__ == "__main__":
    sys.exit(main())
