"""Several processes behind one port do what one does."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rlconnect.bridge import Actor
from rlconnect.offline import open_dataset
from rlconnect.serve import AsyncClient, Client, ServeError, ServeSettings, SessionGoneError
from rlconnect.serve.workers.crew import Journal
from rlconnect.serve.workers.supervisor import shared_port

from .running import free_port, recurrent
from .test_changes import saved, started

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ports are shared there alone")
OBS = np.array([0.5, -0.5, 0.25, 1.0], np.float32)
COUNT = 3


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("policies")
    return {
        name: saved(folder / name, recurrent(seed=at)) for at, name in enumerate(("old", "new"))
    }


@contextmanager
def crew(checkpoint: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of several processes, which all end with it."""
    with started(checkpoint, "--workers", str(COUNT), "--admin-token", "secret", *flags) as found:
        yield found


@pytest.fixture
def server(checkpoints: dict[str, Path]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with crew(checkpoints["old"]) as found:
        yield found


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes below one."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    return [int(each) for each in found.split()]


def asked_until(ask: Callable[[], Any], is_right: Callable[[Any], bool]) -> Any:
    """What is answered once it is right; it is asked a bounded number of times."""
    for _ in range(5000):
        found = ask()
        if is_right(found):
            return found
    raise AssertionError(found)


def metric(url: str, name: str) -> float:
    """One line of /metrics."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    return float(next(line for line in text.splitlines() if line.startswith(name)).split()[-1])


def json_status(url: str, asked: Any) -> int:
    """How a request in JSON is answered."""
    host, _, port = url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    connection.request("POST", "/v1/act", json.dumps(asked), {"content-type": "application/json"})
    with closing(connection), connection.getresponse() as answer:
        answer.read()
        return answer.status


def wanted(checkpoint: Path, episodes: np.ndarray) -> list[list[int]]:
    """What an actor does in each episode by itself."""
    found = []
    for episode in episodes:
        actor = Actor.from_checkpoint(checkpoint)
        found.append([int(actor.act(obs, env_ids=0)) for obs in episode])
    return found


def test_sessions_act_as_alone_whoever_is_asked(
    server: tuple[subprocess.Popen[str], str],
    checkpoints: dict[str, Path],
    rng: np.random.Generator,
) -> None:
    """Each step over another connection; all see all sessions, counts and policies."""
    _, url = server
    episodes = rng.uniform(-1, 1, (24, 6, 4)).astype(np.float32)

    async def play() -> list[list[int]]:
        async def one(number: int) -> list[int]:
            acted = []
            for step, obs in enumerate(episodes[number]):
                async with AsyncClient(url) as client:
                    answer = await client.act(obs, session=f"s{number}", step=step)
                    again = await client.act(obs, session=f"s{number}", step=step)
                    assert again.action == answer.action
                    acted.append(answer.action)
            return acted

        return await asyncio.gather(*map(one, range(len(episodes))))

    assert asyncio.run(play()) == wanted(checkpoints["old"], episodes)
    with Client(url) as client:
        (told,) = client.policies()
        assert told["versions"][0]["sessions"] == 24
        assert metric(url, "rlconnect_sessions ") == 24
        assert metric(url, "rlconnect_workers ") == COUNT
        assert metric(url, 'rlconnect_requests_total{policy="default_policy",status="200"}') == 288
        named = client.act(OBS, session=True).session
        assert client.act(OBS, session=named).session == named
        for number in range(24):
            client.end(f"s{number}")
        assert client.policies()[0]["versions"][0]["sessions"] == 1
        for number in range(24):  # its name may be used anew
            assert client.act(OBS, session=f"s{number}").session == f"s{number}"
        for wrong in ({"explore": "yes"}, {"session": "x" * 200}):
            for id_ in ("a", "b", "c", "d"):
                with pytest.raises(ServeError) as error:
                    client.act(OBS, **{"session": id_, **wrong})
                assert error.value.status == 400
    for id_ in ("a", "b", "c", "\ud800"):  # numbers and names that do not go from worker to worker
        asked = {"obs": [2**70] * 4, "session": id_}
        assert json_status(url, asked) == 400
    with Client(url, token="wrong") as client, pytest.raises(ServeError) as error:
        client.admin("rollback")
    assert error.value.status == 401


def test_a_change_reaches_all_or_none(
    server: tuple[subprocess.Popen[str], str], checkpoints: dict[str, Path], tmp_path: Path
) -> None:
    """New sessions get the promoted version wherever they live; running ones stay or move."""
    _, url = server
    ids = [f"s{number}" for number in range(12)]
    with Client(url, token="secret") as client:
        for id_ in ids:
            client.act(OBS, session=id_)
        with pytest.raises(ServeError) as error:
            client.admin("promote", path=str(tmp_path))
        assert error.value.code == "not_loaded"
        with pytest.raises(ServeError):
            client.admin("explode", path=str(checkpoints["new"]))
        told = client.admin("canary", path=str(checkpoints["new"]), share=1.0)
        version = told["canary"]["version"]
        assert {client.act(OBS, session=f"new{id_}").version for id_ in ids} == {version}
        told = client.admin("promote", version=version, move=True)
        assert (told["version"], told["moved"], told["stayed"]) == (version, 12, 0)
        assert {client.act(OBS, session=id_).version for id_ in ids} == {version}
        assert client.admin("rollback", move=False)["version"] == 1
        assert {client.act(OBS, session=id_).version for id_ in ids} == {version}
        client.admin("shadow", version=version)
        for id_ in ids:
            client.act(OBS, session=f"shadowed{id_}")
        assert client.policies()[0]["shadow"]["rows"] == 12


def test_who_dies_is_replaced_and_its_sessions_are_gone(
    server: tuple[subprocess.Popen[str], str], checkpoints: dict[str, Path]
) -> None:
    """Its clients are told so, named or numbered or neither; those of the others go on."""
    process, url = server
    ids = [f"s{number}" for number in range(30)]
    with Client(url, token="secret") as client:
        client.admin("promote", path=str(checkpoints["new"]))
        made = [client.act(OBS, session=True).session for _ in range(12)]
        for id_ in ids:
            client.act(OBS, session=id_)
        client.act(OBS, session="over")
        client.end("over")
    victim = max(workers_of(process))
    os.kill(victim, signal.SIGKILL)

    fate = {}
    with Client(url) as client:
        for id_ in [*ids, *made]:
            try:
                fate[id_] = asked_until(lambda i=id_: acted(client, i), lambda told: told)
            except SessionGoneError as error:
                fate[id_] = error.code
    gone = [id_ for id_, told in fate.items() if told == "session_gone"]

    assert 0 < len(gone) < len(fate)
    assert {told for id_, told in fate.items() if id_ not in gone} == {2}
    with Client(url) as client:
        assert acted(client, "over") == 2  # that was ended, and begins anew
        for id_ in gone[:3]:
            assert client.act(OBS, session=id_, step=0).version == 2
        fresh = {client.act(OBS, session=f"later{number}").version for number in range(12)}
    assert fresh == {2}  # the new one learnt what acts now
    assert len(workers_of(process)) == COUNT
    assert victim not in workers_of(process)


def acted(client: Client, id_: str) -> int | None:
    """Which version acted; None where the connection was to who died."""
    try:
        return client.act(OBS, session=id_).version
    except ServeError as error:
        if error.code != "no_answer":
            raise
        return None


def test_the_end_answers_what_was_accepted(
    server: tuple[subprocess.Popen[str], str],
) -> None:
    """SIGTERM under load that crosses from worker to worker: all is answered, and exit code 0."""
    process, url = server
    failed: list[str] = []
    answered = threading.Semaphore(0)

    def play(number: int) -> None:
        with Client(url) as client:
            try:
                for step in range(1_000_000):
                    client.act(OBS, session=f"p{number}", step=step)
                    answered.release()
            except ServeError as error:
                if error.code != "no_answer" or "refused" not in error.summary:
                    failed.append(str(error))

    players = [threading.Thread(target=play, args=(number,)) for number in range(6)]
    for player in players:
        player.start()
    for _ in range(200):
        assert answered.acquire(timeout=60)
    children = workers_of(process)
    process.send_signal(signal.SIGTERM)
    for player in players:
        player.join(60)
    assert process.wait(60) == 0
    assert failed == []
    for pid in children:
        assert not Path(f"/proc/{pid}").exists()


def test_each_worker_records(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    """Episodes of all of them are one dataset; one of them answers external environments."""
    port = free_port()
    flags = ["--record", str(tmp_path / "kept"), "--rllink-port", str(port)]
    with crew(checkpoints["old"], *flags) as (process, url):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
            link.sendall(b"00000011\x81\xa4type\xa4PING")
            assert link.recv(19, socket.MSG_WAITALL) == b"00000011\x81\xa4type\xa4PONG"
        with Client(url) as client:
            for number in range(9):
                for step in range(4):
                    asked = {"reward": 1.0} if step else {}
                    client.act(OBS, session=f"s{number}", terminated=step == 3, **asked)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    episodes = list(open_dataset(tmp_path / "kept").episodes())
    assert sorted(len(each) for each in episodes) == [3] * 9
    assert all(each.get_return() == 3.0 for each in episodes)


def test_what_cannot_begin_says_so_once(tmp_path: Path) -> None:
    """A checkpoint that is not there, or a port that somebody has."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(Exception, match="cannot listen on"):
            shared_port("127.0.0.1", int(port))
    command = [sys.executable, "-m", "rlconnect", "serve", str(tmp_path), "--workers", "2"]
    done = subprocess.run(
        [*command, "--port", "0"], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 2
    assert done.stderr.lower().count("error") <= 1, done.stderr
    assert "Traceback" not in done.stderr
    assert ServeSettings.read({}, {"RLCONNECT_SERVE_WORKERS": "4"}).workers == 4


def test_a_journal_outlives_its_writer(tmp_path: Path) -> None:
    """What began and did not end is known, a line that was cut is not; it stays short."""
    path = str(tmp_path / "journal")
    with closing(Journal(path)) as journal:
        for number in range(5):
            journal.write(1, ("main", f"s{number}\t\n"))
        journal.write(0, ("main", "s3\t\n"))
    with open(path, "ab") as file:
        file.write(b'[1, "main", "s')
    with closing(Journal(path)) as again:
        assert again.lost == [("main", f"s{number}\t\n") for number in (0, 1, 2, 4)]
        for _ in range(2000):
            again.write(1, ("main", "x"))
        assert again.is_long(5)
        again.rewrite([("main", "x")])
        assert not again.is_long(5)
    with closing(Journal(path)) as last:
        assert last.lost == [("main", "x")]
