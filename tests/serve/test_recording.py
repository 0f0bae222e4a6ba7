"""What sessions live through is read back as it was."""

from __future__ import annotations

import asyncio
import importlib.util
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.offline import open_dataset
from rlconnect.serve import AsyncClient, Client, ServeSettings
from rlconnect.serve.server import empty_app

from .running import BOX, policy_of, recurrent, running

ZEROS = [0.0] * 4


def read(folder: Path) -> list[Any]:
    return list(open_dataset(folder).episodes())


@pytest.fixture(params=["parquet", "msgpack"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With pyarrow, and where it is missing."""
    if request.param == "msgpack":
        find = importlib.util.find_spec
        monkeypatch.setattr(
            "rlconnect.bridge.lived_episodes.find_spec",
            lambda name: None if name == "pyarrow" else find(name),
        )
    else:
        pytest.importorskip("pyarrow")
    return str(request.param)


def test_episodes_of_cartpole(kind: str, tmp_path: Path) -> None:
    """Played over HTTP by both clients; returns, lengths, observations and actions are equal."""
    env = gym.make("CartPole-v1")
    acted = []
    policy = policy_of(env.observation_space, env.action_space)
    with running({"cart": policy}, record=str(tmp_path)) as server:
        with Client(server.url) as client:
            played = client.env_loop(env, 3, seed=5, on_step=acted.append)

        async def play() -> list[float]:
            async with AsyncClient(server.url) as client:
                return await client.env_loop(env, 2, seed=8)

        played += asyncio.run(play())
    episodes = read(tmp_path)
    assert [episode.get_return() for episode in episodes] == played
    assert [len(episode) for episode in episodes] == played
    assert [(each.is_terminated, each.is_truncated) for each in episodes] == [
        (length < 500, length == 500) for length in played
    ]
    assert f"episode-{kind}" == open_dataset(tmp_path).format
    actions = np.concatenate([episode.get_actions() for episode in episodes[:3]])
    np.testing.assert_array_equal(actions, [each.action for each in acted])
    obs, _ = env.reset(seed=5)
    for step, action in enumerate(episodes[0].get_actions()):
        np.testing.assert_array_equal(episodes[0].get_observations(step), obs)
        obs, *_ = env.step(int(action))
    np.testing.assert_array_equal(episodes[0].get_observations(-1), obs)
    assert episodes[0].custom_data == {
        "policy": "cart", "version": 1, "session": acted[0].session,
    }  # fmt: skip


def test_rows_of_a_batch_have_episodes_of_their_own(tmp_path: Path) -> None:
    """Each ends when it ends, and the next one begins anew."""
    obs = np.arange(20.0, dtype=np.float32).reshape(5, 4) / 20
    with running({"memory": recurrent()}, record=str(tmp_path)) as server:
        for step, ended in enumerate(([0, 0], [0, 1], [0, 0], [0, 0], [0, 0])):
            rows = [obs[step].tolist(), (-obs[step]).tolist()]
            server.act(rows, batch=True, session="s", reward=[step, -step], truncated=ended,
                       info=[{"at": step}, {}])  # fmt: skip
        server.act(ZEROS)  # without a session nothing is kept
    by_length = {len(episode): episode for episode in read(tmp_path)}
    assert sorted(by_length) == [1, 2, 4]
    assert [by_length[size].is_truncated for size in (1, 2, 4)] == [True, False, False]
    assert [by_length[size].get_return() for size in (1, 2, 4)] == [-1.0, -7.0, 10.0]
    np.testing.assert_array_equal(by_length[4].get_observations(), obs)
    assert by_length[4].get_infos(3) == {"at": 3}
    assert not any(episode.is_terminated for episode in by_length.values())


def test_sessions_that_go_leave_what_they_lived(tmp_path: Path) -> None:
    """Ended, evicted, begun anew, and there when the server ends."""
    with running({"plain": policy_of()}, record=str(tmp_path), max_sessions=2) as server:
        for session, count in (("ended", 3), ("evicted", 4), ("anew", 5), ("drained", 6)):
            for step in range(count):
                server.act(ZEROS, session=session, step=step, reward=2.0)
            if session == "ended":
                server.ask("DELETE", "/v1/sessions/ended")
            if session == "anew":
                server.act(ZEROS, session="anew", step=0)
    told = {(each.custom_data["session"], len(each), each.get_return()) for each in read(tmp_path)}
    assert told == {("ended", 2, 4.0), ("evicted", 3, 6.0), ("anew", 4, 8.0), ("drained", 5, 10.0)}


def test_what_was_refused_is_no_step(tmp_path: Path) -> None:
    """Alone or beside others, a bad observation leaves the episode as it was."""
    with running({"memory": recurrent()}, record=str(tmp_path)) as server:

        async def send(obs: Any, session: str) -> None:
            async with AsyncClient(server.url) as client:
                try:
                    await client.act(obs, session=session, reward=1.0)
                except Exception:
                    assert session == "bad"

        async def together() -> None:
            for _ in range(4):
                await asyncio.gather(
                    send(ZEROS, "good"), send([0.0, 1.0], "bad"), send(ZEROS, "other")
                )

        asyncio.run(together())
    assert sorted((each.custom_data["session"], len(each)) for each in read(tmp_path)) == [
        ("good", 3), ("other", 3),
    ]  # fmt: skip


def test_versions(tmp_path: Path) -> None:
    """A promoted version is recorded like the first one."""
    from rlconnect.bridge.front.load import as_policies
    from rlconnect.serve.versions import Version

    with running({"plain": policy_of()}, record=str(tmp_path)) as server:
        model = server.app.models["plain"]
        second = Version("plain", 2, as_policies(policy_of()).only, "")
        server.call(model.add, second)
        for step in range(3):
            server.act(ZEROS, session="one", step=step)
        server.call(model.promote, second)
        for step in range(3, 6):
            server.act(ZEROS, session="one", step=step)
        for step in range(2):
            server.act(ZEROS, session="two", step=step)
    assert sorted((each.custom_data["version"], len(each)) for each in read(tmp_path)) == [
        (1, 5), (2, 1),
    ]  # fmt: skip


def test_actions_between_bounds(tmp_path: Path) -> None:
    """They are kept as the environment got them, beside those of the module."""
    space = gym.spaces.Box(-4.0, 2.0, (1,), np.float32)
    with running({"plain": policy_of(BOX, space)}, record=str(tmp_path)) as server:
        actions = [server.act(ZEROS, session="s", reward=0.0)["action"] for _ in range(4)]
    (episode,) = read(tmp_path)
    np.testing.assert_allclose(
        episode.get_extra_model_outputs("actions_for_env"), actions[:3], rtol=1e-6
    )
    np.testing.assert_allclose(
        episode.get_actions(), (np.array(actions[:3]) + 1) / 3, rtol=1e-5, atol=1e-6
    )


def test_what_cannot_be_packed_harms_no_other(tmp_path: Path) -> None:
    """An info that no file can hold loses its own episode, not the server."""
    with running({"plain": policy_of()}, record=str(tmp_path)) as server:
        for session, info in (("good", {"at": 1}), ("bad", {"at": 1 << 70})):
            for _ in range(2):
                server.act(ZEROS, session=session, info=info)
        recorder: Any = server.app.recorder
    assert [each.custom_data["session"] for each in read(tmp_path)] == ["good"]
    assert (recorder.episodes, recorder.failed) == (1, 1)


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    """It is told before anything is served; without the setting no answer says "recorded"."""
    taken = tmp_path / "taken"
    taken.write_text("")
    with pytest.raises(ConfigError, match="cannot record"):
        empty_app(ServeSettings(record=str(taken)))
    with running({"plain": policy_of()}) as server:
        assert "recorded" not in server.act(ZEROS, session="s")


@pytest.mark.parametrize(("bound", "most"), [("_LONGEST", 3), ("_MOST_BYTES", 126)])
def test_a_long_episode_goes_on_in_another_piece(
    bound: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces have one id and follow each other without a gap."""
    monkeypatch.setattr(f"rlconnect.serve.recording.{bound}", most)
    with running({"plain": policy_of()}, record=str(tmp_path)) as server:
        acted = [
            server.act([step / 10] * 4, session="s", reward=step, terminated=step == 8)["action"]
            for step in range(9)
        ]
    pieces = sorted(read(tmp_path), key=lambda piece: piece.t_started)
    starts = [piece.t_started for piece in pieces]
    assert starts == ([0, 3, 6] if bound == "_LONGEST" else [0, 3, 7])
    assert [piece.t for piece in pieces] == [*starts[1:], 8]
    assert [piece.is_terminated for piece in pieces] == [False, False, True]
    assert len({piece.id_ for piece in pieces}) == 1
    assert np.concatenate([piece.get_actions() for piece in pieces]).tolist() == acted[:8]
    assert sum(piece.get_return() for piece in pieces) == sum(range(9))
    for one, other in pairwise(pieces):
        np.testing.assert_array_equal(one.get_observations(-1), other.get_observations(0))
