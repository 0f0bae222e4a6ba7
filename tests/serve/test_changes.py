"""Versions that are loaded, promoted and taken back while clients go on."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rlconnect.bridge import Actor
from rlconnect.bridge.front.load import as_policies
from rlconnect.core.data.budget import limits
from rlconnect.core.errors import ConfigError, LimitExceededError
from rlconnect.serve import Client, ServeError, ServeSettings, SessionGoneError, app_of
from rlconnect.serve.admin import load, next_version
from rlconnect.serve.models import Model
from rlconnect.serve.sessions import SessionTable
from rlconnect.serve.versions import Version

from .running import Running, policy_of, recurrent, running

OBS = np.array([0.5, -0.5, 0.25, 1.0], np.float32)


def saved(folder: Path, policy: Any) -> Path:
    """A checkpoint of a policy."""
    policy.export_checkpoint(str(folder))
    return folder


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two recurrent policies of one kind, and one for another environment."""
    folder = tmp_path_factory.mktemp("policies")
    from gymnasium import spaces

    other = spaces.Box(-1, 1, (7,), np.float32)
    return {
        "old": saved(folder / "old", recurrent(seed=1)),
        "new": saved(folder / "new", recurrent(seed=2)),
        "other": saved(folder / "other", policy_of(other)),
    }


@pytest.fixture
def server(checkpoints: dict[str, Path]) -> Iterator[Running]:
    with running({"main": recurrent(seed=1)}, admin_token="secret") as found:
        yield found


def admin(server: Running) -> Client:
    return Client(server.url, token="secret")


def test_sessions_stay_with_their_version(server: Running, checkpoints: dict[str, Path]) -> None:
    """After a promotion new sessions get the new version, those that run keep theirs."""
    actor = Actor.from_checkpoint(checkpoints["old"])
    wanted = [int(actor.act(OBS * t, env_ids=0)) for t in range(6)]
    with Client(server.url) as client, admin(server) as other:
        got = [client.act(OBS * t, session="runs") for t in range(3)]
        told = other.admin("promote", path=str(checkpoints["new"]))
        assert (told["version"], len(told["versions"])) == (2, 2)
        got += [client.act(OBS * t, session="runs") for t in range(3, 6)]
        assert [each.action for each in got] == wanted
        assert {each.version for each in got} == {1}
        assert client.act(OBS, session="later").version == 2
        assert client.act(OBS).version == 2
        assert other.admin("rollback")["version"] == 1
        assert client.act(OBS, session="latest").version == 1
        assert client.act(OBS, session="later").version == 2


def test_sessions_move_with_their_memory(server: Running, checkpoints: dict[str, Path]) -> None:
    """Told so, a promotion takes sessions along: the new version reads what the old one wrote."""
    old, new = (Actor.from_checkpoint(checkpoints[name]) for name in ("old", "new"))
    wanted = [int(old.act(OBS * t, env_ids=0)) for t in range(3)]
    new.load_state_dict(old.state_dict())
    wanted += [int(new.act(OBS * t, env_ids=0)) for t in range(3, 9)]
    with Client(server.url) as client, admin(server) as other, client.session() as session:
        got = [session.act(OBS * t) for t in range(3)]
        client.act(OBS, session="idle")
        client.act([OBS, -OBS], session="rows", batch=True)
        told = other.admin("promote", path=str(checkpoints["new"]), move=True)
        assert (told["moved"], told["stayed"]) == (3, 0)
        assert [each["sessions"] for each in told["versions"]] == [0, 3]
        got += [session.act(OBS * t) for t in range(3, 9)]
        assert [each.action for each in got] == wanted
        assert [each.version for each in got] == [1] * 3 + [2] * 6
        assert client.act([OBS, -OBS], session="rows", batch=True).version == 2
        assert other.admin("rollback", move=True)["moved"] == 3
        assert client.act(OBS, session="idle").version == 1
        client.end("idle")
        assert server.app.models["main"].current.sessions == 2


def test_sessions_stay_where_they_cannot_move(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    """A version that remembers other things is for new sessions alone, whatever is set."""
    plain = saved(tmp_path / "plain", policy_of())
    wide = {"use_lstm": True, "lstm_cell_size": 4, "fcnet_hiddens": [8]}
    other_size = saved(tmp_path / "wide", policy_of(model=wide))
    settings = {"admin_token": "secret", "move_sessions": True}
    with (
        running({"main": recurrent(seed=1)}, **settings) as server,
        admin(server) as other,
        Client(server.url) as client,
    ):
        client.act(OBS, session="runs")
        for number, path in enumerate((plain, other_size), 2):
            told = other.admin("promote", path=str(path))
            assert (told["version"], told["moved"], told["stayed"]) == (number, 0, 1)
        assert client.act(OBS, session="runs").version == 1
        told = other.admin("promote", path=str(checkpoints["new"]), move=False)
        assert "moved" not in told
        told = other.admin("promote", path=str(checkpoints["old"]))
        assert (told["moved"], told["stayed"]) == (1, 0)
        assert client.act(OBS, session="runs").version == 5


def test_a_session_moves_after_the_answer_that_is_due(checkpoints: dict[str, Path]) -> None:
    """Who waits for an answer gets it from the version that began it, and then moves."""
    with running({"main": recurrent(seed=1)}) as server:
        model = server.app.models["main"]
        newer = next_version(model, str(checkpoints["new"]))

        async def ask_and_promote() -> list[int]:
            answers: list[Any] = []
            asked = {"obs": OBS.tolist(), "session": "busy"}
            both_in = asyncio.get_running_loop().create_future()

            def take(status: int, document: Any) -> None:
                answers.append((status, document))
                if len(answers) == 3:
                    both_in.set_result(None)

            for _ in range(2):  # the second one waits for the first
                server.app.act(asked, take)
            model.add(newer)
            assert model.promote(newer, move=True) == {"moved": 1, "stayed": 0}
            server.app.act(asked, take)
            await both_in
            return [document["version"] for _, document in answers]

        versions = asyncio.run_coroutine_threadsafe(ask_and_promote(), server.loop).result(60)
        assert versions == [1, 2, 2]


def test_what_is_loaded_waits_to_be_tried(server: Running, checkpoints: dict[str, Path]) -> None:
    """Sessions that end meanwhile let nothing untried go; numbers are never used again."""
    with Client(server.url) as client, admin(server) as other:
        other.admin("load", path=str(checkpoints["new"]))
        with client.session() as session:
            session.act(OBS)
        assert other.admin("promote", version=2)["version"] == 2
        told = other.admin("load", path=str(checkpoints["old"]))
        assert [each["version"] for each in told["versions"]] == [1, 2, 3]


def test_the_next_version_is_loaded_as_the_first(checkpoints: dict[str, Path]) -> None:
    """What `rlconnect.load` was told for the first one holds for it, and how many may wait."""
    told = {"model": {"fcnet_hiddens": [8]}}
    model = Model(
        "main",
        Version("main", 1, as_policies(recurrent(seed=1)).only, "", 7, told),
        SessionTable(),
    )
    with pytest.raises(ConfigError):
        next_version(model, str(checkpoints["new"]))
    model.current.loading = {}
    assert next_version(model, str(checkpoints["new"])).most_waiting == 7


def test_the_next_version_is_read_within_the_same_bounds(checkpoints: dict[str, Path]) -> None:
    """Bounds that were asked for hold in the thread that reads it, too."""
    first = Version("main", 1, as_policies(recurrent(seed=1)).only, "", 7, {})
    model = Model("main", first, SessionTable())

    with limits(max_file_bytes=10), pytest.raises(LimitExceededError):
        asyncio.run(load(model, str(checkpoints["new"])))

    assert asyncio.run(load(model, str(checkpoints["new"]))).number == 2


def test_what_cannot_take_its_place_is_refused(
    server: Running, checkpoints: dict[str, Path], tmp_path: Path
) -> None:
    """A damaged checkpoint, or one for another environment, leaves all as it was."""
    (tmp_path / "cut").mkdir()
    for file in checkpoints["new"].iterdir():
        (tmp_path / "cut" / file.name).write_bytes(file.read_bytes()[:-100])
    with admin(server) as other:
        for path in (tmp_path / "cut", tmp_path / "nothing", checkpoints["other"]):
            with pytest.raises(ServeError) as error:
                other.admin("promote", path=str(path))
            assert error.value.status == 409
        for do, fields in (("explode", {}), ("promote", {"version": 9}), ("promote", {})):
            with pytest.raises(ServeError):
                other.admin(do, **fields)
        assert other.policies()[0]["version"] == 1
    with Client(server.url, token="guess") as stranger, pytest.raises(ServeError) as error:
        stranger.admin("rollback")
    assert error.value.status == 401


def test_a_swap_under_load_loses_nothing(server: Running, checkpoints: dict[str, Path]) -> None:
    """While versions change no request fails, and no session meets two of them."""
    found: list[Any] = []
    is_over = threading.Event()

    def play() -> None:
        with Client(server.url) as client:
            while not is_over.is_set():
                with client.session() as session:
                    acted = {session.act(OBS).version for _ in range(7)}
                found.append(acted)

    players = [threading.Thread(target=play) for _ in range(4)]
    for player in players:
        player.start()
    with admin(server) as other:
        for at in range(6):
            other.admin("promote", path=str(checkpoints["new" if at % 2 else "old"]))
        versions = other.policies()[0]["versions"]
    is_over.set()
    for player in players:
        player.join(60)
    assert all(len(versions) == 1 for versions in found)
    assert len({next(iter(versions)) for versions in found}) > 1
    assert len(versions) <= 4  # those that nobody uses are let go


@contextmanager
def started(checkpoint: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of its own process, and its address."""
    with subprocess.Popen(
        [sys.executable, "-m", "rlconnect", "serve", str(checkpoint), "--port", "0", *flags],
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert "serving" in line, line + process.stderr.read()
            yield process, line.split(" at ")[1].split(";")[0]
        finally:
            process.kill()


@pytest.mark.skipif(os.name == "nt", reason="no such signals there")
def test_the_end_loses_nothing_that_was_accepted(checkpoints: dict[str, Path]) -> None:
    """SIGTERM under load: every request that was taken is answered, and the exit code is 0."""
    failed: list[str] = []
    answered = threading.Semaphore(0)

    def play(url: str) -> None:
        with Client(url) as client:
            try:
                while True:
                    client.act(OBS)
                    answered.release()
            except ServeError as error:
                if error.code != "no_answer" or "refused" not in error.summary:
                    failed.append(str(error))

    with started(checkpoints["old"]) as (process, url):
        players = [threading.Thread(target=play, args=(url,)) for _ in range(4)]
        for player in players:
            player.start()
        for _ in range(100):
            assert answered.acquire(timeout=60)
        process.send_signal(signal.SIGTERM)
        for player in players:
            player.join(60)
        assert process.wait(60) == 0
    assert failed == []


@pytest.mark.skipif(os.name == "nt", reason="no such signals there")
def test_after_a_kill_sessions_are_gone_by_name(checkpoints: dict[str, Path]) -> None:
    """A client whose server was killed and started again is told, and begins anew."""
    with started(checkpoints["old"]) as (process, url):
        port = url.rpartition(":")[2]
        client = Client(url)
        session = client.session()
        session.act(OBS)
        session.act(OBS)
        process.kill()
        process.wait(60)
    with started(checkpoints["old"], "--port", port) as (process, _), client:
        with pytest.raises(SessionGoneError):
            session.act(OBS)
        assert client.session().act(OBS).version == 1
        process.terminate()
        assert process.wait(60) == 0


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signal there")
def test_a_signal_loads_again(tmp_path: Path) -> None:
    """SIGHUP takes what lies at the path now; what cannot be read leaves the old one."""
    place = saved(tmp_path / "policy", recurrent(seed=1))
    with started(place) as (process, url), Client(url) as client:
        for file in place.iterdir():
            file.write_bytes(b"nonsense")
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        assert "stays as it is" in process.stderr.readline()
        assert client.act(OBS).version == 1
        shutil.rmtree(place)
        saved(place, recurrent(seed=2))
        process.send_signal(signal.SIGHUP)
        for line in process.stderr:
            if "version 2 acts now" in line:
                break
        assert client.act(OBS).version == 2
        process.terminate()
        assert process.wait(60) == 0


def test_settings_come_from_three_places(tmp_path: Path) -> None:
    """A flag counts before a variable, a variable before the file; mistakes are told."""
    file = tmp_path / "serve.toml"
    file.write_text('port = 1\nhost = "h"\nmax_body = 7\n[policies]\na = "here"\n')
    environment = {"RLCONNECT_SERVE_PORT": "2", "RLCONNECT_SERVE_HOST": "i"}
    told = ServeSettings.read({"port": 3, "token": None}, environment, file)
    assert (told.port, told.host, told.max_body, told.policies) == (3, "i", 7, {"a": "here"})
    for wrong in ({"port": "x"}, {"port": True}, {"nonsense": 1}, {"policies": [1]}):
        with pytest.raises(ConfigError):
            ServeSettings.read(wrong, {})
    with pytest.raises(ConfigError, match="nothing to serve"):
        app_of(ServeSettings())


def test_several_policies_of_one_checkpoint(tmp_path: Path) -> None:
    """Each is served by its id, or below the name that the checkpoint was given."""
    from rlconnect.bridge.front.load import as_policies

    as_policies({"red": policy_of(), "blue": recurrent()}).save(tmp_path / "both")
    app = app_of(ServeSettings(policies={"": str(tmp_path / "both")}))
    assert set(app.models) == {"red", "blue"}
    app = app_of(ServeSettings(policies={"team": str(tmp_path / "both")}), policy_ids=["red"])
    assert set(app.models) == {"team/red"}
    assert json.dumps(app.models["team/red"].describe())
