"""Ray's `PolicyClient` is answered as it expects; what else comes as a pickle runs nothing."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.bridge.actor.actor import Actor
from rlconnect.bridge.loading.mapping import Casting
from rlconnect.core.errors import ConfigError
from rlconnect.serve import ServeSettings, app_of
from rlconnect.serve.client_pickles import read_request, write_answer
from rlconnect.serve.errors import ServeError

from .running import Evil, Running, free_port, policy_of, running

GOLDEN = {
    version: json.loads(
        (Path(__file__).parents[1] / "golden/serve" / f"policy_client_{version}.json").read_text()
    )
    for version in ("2.7.2", "2.60.0")
}
OBS = np.linspace(-0.5, 0.5, 8, dtype=np.float32)


class Clients:
    """Sends commands as a client does.

    Args:
        server: What listens.
    """

    def __init__(self, server: Running) -> None:
        self.server = server

    def send(self, body: bytes, head: str = "POST / HTTP/1.1", more: str = "") -> tuple[int, bytes]:
        """Status and body of an answer."""
        got = self.server.raw(
            f"{head}\r\nhost: h\r\nconnection: close\r\n{more}content-length: {len(body)}\r\n\r\n"
            "".encode()
            + body,
            port=self.server.server.settings.policy_server_port,
        )
        top, _, rest = got.partition(b"\r\n\r\n")
        return int(top[9:12]), rest

    def ask(self, command: str, episode: Any = "e", **fields: Any) -> Any:
        """What is answered to a command; the status of a refusal."""
        status, body = self.send(
            pickle.dumps({"command": command, "episode_id": episode, **fields})
        )
        if status == 200:
            return pickle.loads(body)
        assert b"\n" not in body
        assert body
        return status

    def act(self, obs: Any, episode: str = "e") -> Any:
        """The action for an observation."""
        return self.ask("GET_ACTION", episode, observation=obs)["action"]


def clients(policies: dict[str, Any], **settings: Any) -> Any:
    return running(policies, policy_server_port=free_port(), **settings)


@pytest.fixture(scope="module")
def plain() -> Iterator[Clients]:
    with clients({"default_policy": policy_of()}) as server:
        yield Clients(server)


@pytest.mark.parametrize("version", GOLDEN)
def test_recorded_conversation(version: str) -> None:
    """What a real client sent is answered; each form of an array gets what JSON gets."""
    with clients({"default_policy": policy_of()}) as server:
        _converse(Clients(server), GOLDEN[version]["bodies"])


def _converse(plain: Clients, bodies: dict[str, str]) -> None:
    def say(name: str) -> Any:
        status, body = plain.send(bytes.fromhex(bodies[name]))
        assert status == 200, (name, body)
        return pickle.loads(body)

    assert say("start") == {"episode_id": "e"}
    assert len(say("start_unnamed")["episode_id"]) == 32
    wanted = plain.server.act(OBS[:4].tolist())["action"]
    assert say("act") == say("act_list") == {"action": wanted}
    assert say("act_strided")["action"] == plain.server.act(OBS[::2].tolist())["action"]
    for name in ("log_action", "returns", "returns_scalar", "returns_agents"):
        assert say(name) == {}
    both = [plain.server.act(part.tolist())["action"] for part in (OBS[:4], OBS[4:])]
    assert say("act_agents") == {"action": dict(zip("ab", both, strict=True))}
    assert say("end") == {}
    for name in ("start", "act", "returns", "end"):
        assert plain.send(bytes.fromhex(bodies[name]))[0] == 409


@pytest.mark.parametrize("version", GOLDEN)
def test_recorded_game(version: str) -> None:
    """Two episodes of two agents at once, as a real client played them, with memory and rewards."""
    policy = policy_of(model={"use_lstm": True, "lstm_cell_size": 8, "lstm_use_prev_reward": True})
    with clients({"default_policy": policy}) as server:
        earned: dict[str, float] = {}
        acted = 0
        for body in map(bytes.fromhex, GOLDEN[version]["played"]):
            asked = read_request(body)
            status, answer = Clients(server).send(body)
            assert status == 200, answer
            episode = asked["episode_id"]
            if asked["command"] == "LOG_RETURNS":
                earned |= {f"{episode}{agent}": each for agent, each in asked["reward"].items()}
            elif asked["command"] == "GET_ACTION":
                for agent, obs in asked["observation"].items():
                    own = f"{episode}{agent}"
                    wanted = server.act(obs.tolist(), session=own, reward=earned.get(own, 0.0))
                    assert pickle.loads(answer)["action"][agent] == wanted["action"]
                    acted += 1
        assert acted == 16
        assert server.app.models["default_policy"].current.sessions == 4  # HTTP's alone


def test_memory_of_episodes_and_agents() -> None:
    """Episodes and agents that alternate remember what each saw, and what it earned."""
    policy = policy_of(model={"use_lstm": True, "lstm_cell_size": 8, "lstm_use_prev_reward": True})
    rng = np.random.default_rng(0)
    seen = rng.uniform(-1, 1, (12, 4, 4)).astype(np.float32)
    rewards = rng.normal(size=(12, 4)) * 5
    with clients({"default_policy": policy}) as server:
        asking = Clients(server)
        for name in ("x", "y"):
            asking.ask("START_EPISODE", name)
        last = np.zeros(4)
        for obs, earned in zip(seen, rewards, strict=True):
            got: list[int] = []
            for first, name in ((0, "x"), (2, "y")):
                got += asking.act({"a": obs[first], "b": obs[first + 1]}, name).values()
            wanted = [
                server.act(obs[row].tolist(), session=f"s{row}", reward=last[row])["action"]
                for row in range(4)
            ]
            assert got == wanted
            for first, name in ((0, "x"), (2, "y")):
                for _ in range(2):  # adds up
                    half = {"a": earned[first] / 2, "b": earned[first + 1] / 2}
                    assert asking.ask("LOG_RETURNS", name, reward=half, info=None) == {}
            last = earned
        assert len(server.app.sessions) == 6
        for name in ("x", "y"):
            assert asking.ask("END_EPISODE", name, observation={"a": OBS[:4]}) == {}
        assert server.app.models["default_policy"].current.sessions == 4
        assert len(server.app.sessions) == 4


def test_who_plays_whom(tmp_path: Path) -> None:
    """Agents are played as the server was told, by name, number or pattern, else by their names."""
    rng = np.random.default_rng(1)
    seen = rng.uniform(-1, 1, (60, 4)).astype(np.float32)
    policies = {"default_policy": policy_of(seed=1), "b": policy_of(seed=2), "c": policy_of(seed=9)}
    told = {"car_*": "b", "4": "c", "agent0": "b", "b": "c"}
    with clients(policies) as server, clients(policies) as untold:
        server.app.casting = Casting([*policies], told)
        played = {
            name: [server.act(obs.tolist(), policy=name)["action"] for obs in seen]
            for name in policies
        }
        assert len({tuple(each) for each in played.values()}) == 3
        for asking, wanted in (
            (Clients(server), {"car_1": "b", "car_22": "b", 4: "c", "b": "c"}),
            (Clients(untold), {"b": "b", "c": "c", "other": "default_policy", 4: "default_policy"}),
        ):
            asking.ask("START_EPISODE")
            got = [asking.act(dict.fromkeys(wanted, obs)) for obs in seen]
            for agent, name in wanted.items():
                assert [each[agent] for each in got] == played[name], agent
        assert [Clients(server).act(obs) for obs in seen] == played["b"]
        for agent in ("bus", 5):
            assert Clients(server).ask("GET_ACTION", observation={agent: OBS[:4]}) == 404
        for agent in (10**5000, -(1 << 70), "a" * 129):
            assert Clients(untold).ask("GET_ACTION", observation={agent: OBS[:4]}) == 400


def test_mapping_of_a_checkpoint_and_of_settings(tmp_path: Path) -> None:
    """A saved actor says who plays whom; settings say otherwise; a name that is none is told."""
    actor = Actor.from_policy(
        {"walker": policy_of(seed=1), "runner": policy_of(seed=2)},
        policy_mapping_fn={"left": "walker", "right": "runner"},
    )
    actor.save(tmp_path / "actor")
    path = str(tmp_path / "actor")
    casting = app_of(ServeSettings(policies={"": path})).casting
    assert casting is not None
    assert [casting(agent) for agent in ("left", "right")] == ["walker", "runner"]
    named = {"policies": {"p": path}, "agents": {"*": "p/runner"}}
    casting = app_of(ServeSettings.read(named, {})).casting
    assert casting is not None
    assert casting("left") == "p/runner"
    (tmp_path / "serve.toml").write_text(f'[policies]\np = "{path}"\n[agents]\n"*" = "runner"\n')
    with pytest.raises(ConfigError, match="'runner'"):
        app_of(ServeSettings.read({}, {}, tmp_path / "serve.toml"))


def test_continuous_actions() -> None:
    """An action of a box is an array of its dtype."""
    box = spaces.Box(-1.0, 1.0, (2,), np.float32)
    with clients({"default_policy": policy_of(action_space=box)}) as server:
        asking = Clients(server)
        asking.ask("START_EPISODE")
        action = asking.act(OBS[:4])
        assert action.dtype == np.float32
        assert action.shape == (2,)
        np.testing.assert_allclose(action, server.act(OBS[:4].tolist())["action"], atol=1e-6)


def test_recorded_episodes(tmp_path: Path) -> None:
    """What clients live through is kept with its rewards and its end."""
    from rlconnect.offline import open_dataset

    with clients({"default_policy": policy_of()}, record=str(tmp_path)) as server:
        asking = Clients(server)
        asking.ask("START_EPISODE")
        for reward in (1.0, 2.0):
            asking.act(OBS[:4])
            asking.ask("LOG_RETURNS", reward=reward, info=None)
        assert asking.ask("LOG_ACTION", observation=OBS[:4], action=1) == 400
        assert asking.ask("END_EPISODE", observation=OBS[4:]) == {}
    (episode,) = open_dataset(tmp_path).episodes()
    assert episode.is_terminated
    assert len(episode) == 2
    assert episode.get_return() == 3.0


def test_mistakes_are_refused(plain: Clients) -> None:
    """Each with its status, and the episode goes on."""
    assert plain.ask("START_EPISODE", "m") == {"episode_id": "m"}
    assert plain.ask("START_EPISODE", "m") == 409
    for command, fields, status in (
        ("GET_WORKER_ARGS", {}, 400),
        ("GET_WEIGHTS", {}, 400),
        ("REPORT_SAMPLES", {"samples": None, "metrics": []}, 400),
        ("PING", {}, 400),
        (["GET_ACTION"], {}, 400),
        ("GET_ACTION", {}, 400),
        ("GET_ACTION", {"observation": OBS}, 400),
        ("GET_ACTION", {"observation": None}, 400),
        ("GET_ACTION", {"observation": "text"}, 400),
        ("GET_ACTION", {"observation": OBS[:4] * np.nan}, 400),
        ("GET_ACTION", {"observation": {"a": OBS[:4], "b": OBS}}, 400),
        ("GET_ACTION", {"observation": {1.5: OBS[:4]}}, 400),
        ("LOG_RETURNS", {"reward": "much"}, 400),
        ("LOG_RETURNS", {"reward": 1.0, "done": 3}, 400),
        ("LOG_RETURNS", {"reward": 1.0, "info": 3}, 400),
        ("END_EPISODE", {"observation": OBS}, 400),
    ):
        assert plain.ask(command, "m", **fields) == status, (command, fields)  # type: ignore[arg-type]
    for name in ("nobody", ""):
        assert plain.ask("GET_ACTION", name, observation=OBS[:4]) in (400, 404)
    assert plain.ask("GET_ACTION", 7, observation=OBS[:4]) == 400
    assert plain.send(b"", "GET / HTTP/1.1")[0] == 405
    assert plain.send(b"", "POST /v1/act HTTP/1.1")[0] == 404
    assert isinstance(plain.act(OBS[:4], "m"), int)
    assert plain.ask("LOG_RETURNS", "m", reward=1.0, info={"map": [0.5] * 20_000}) == {}
    assert plain.ask("LOG_RETURNS", "m", reward="much", info={"map": [0.5] * 20_000}) == 400
    status, body = plain.send(pickle.dumps({"command": "GET_WORKER_ARGS"}))
    assert b"use inference_mode='remote'" in body


def test_gone_episodes_are_told() -> None:
    """One that made room is gone, not unknown, and may begin anew."""
    with clients({"default_policy": policy_of()}, max_sessions=2, token="t") as server:
        asking = Clients(server)
        assert asking.ask("START_EPISODE", "a") == 401

        def ask(command: str, episode: str, **fields: Any) -> int:
            body = pickle.dumps({"command": command, "episode_id": episode, **fields})
            return asking.send(body, more="authorization: Bearer t\r\n")[0]

        assert [ask("START_EPISODE", name) for name in "abc"] == [200] * 3
        assert ask("GET_ACTION", "a", observation=OBS[:4]) == 410
        assert ask("START_EPISODE", "a") == 200
        assert ask("GET_ACTION", "a", observation=OBS[:4]) == 200


def hostile_pickles(mark: str) -> list[bytes]:
    """Bodies that would touch a file, take memory or break readers of pickles."""
    enum = b"\x8c\x1bray.rllib.env.policy_client\x8c\x08Commands\x93"
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    doubled = b"\x80\x04]" + b"\x94" + b"(" + b"h\x00" * 9 + b"e."
    return [
        pickle.dumps({"command": Evil(mark)}),
        pickle.dumps({"command": "GET_ACTION", "observation": Evil(mark), "episode_id": "h"}),
        pickle.dumps({"command": "START_EPISODE", "x": os.path.join}),
        b"\x80\x04cos\nsystem\n0}.",  # named, dropped
        b"\x80\x04" + enum + b".",
        b"\x80\x04" + enum + b"K\x01\x85R.",
        b"\x80\x04cbuiltins\ngetattr\n\x8c\x02os\x8c\x06system\x86R.",
        pickle.dumps(deep),
        doubled,
        b"\x80\x05\x96" + (1 << 60).to_bytes(8, "little") + b".",
        b"\x80\x04" + b"]" * 300_000 + b".",
        pickle.dumps({"command": "START_EPISODE"})[:-4],
        b"", b".", b"not a pickle", b"{}", b"\xff" * 100,
        pickle.dumps([1, 2]),
        pickle.dumps({"command": "GET_ACTION", "episode_id": "h",
                      "observation": np.array([Evil(mark)], object)}),
    ]  # fmt: skip


def test_hostile_pickles(plain: Clients, tmp_path: Path) -> None:
    """They are refused, run nothing, and the next one is answered."""
    mark = tmp_path / "ran"
    for body in hostile_pickles(str(mark)):
        status, told = plain.send(body)
        assert 400 <= status < 500, (body[:40], status, told)
        assert b"\n" not in told
    assert not mark.exists()
    assert len(plain.ask("START_EPISODE", None)["episode_id"]) == 32


def test_pickles_by_themselves() -> None:
    """Both Enums are texts; answers name nothing but numpy's old places."""
    for module, name in (
        ("ray.rllib.env.policy_client", "Commands"),
        ("ray.rllib.env.external.rllink", "RLlink"),
    ):
        assert read_request(f"\x80c{module}\n{name}\n".encode("latin-1").replace(
            b"\x80", b"\x80\x04") + b"\x8c\x03END\x85R.") == "END"  # fmt: skip
    with pytest.raises(ServeError, match=r"os\.system|posix"):
        read_request(pickle.dumps(os.system))
    value = {"a": (np.arange(6, dtype=np.int64).reshape(2, 3), None, True), "b": [1 << 70, "é"]}
    written = write_answer(value)
    assert b"_core" not in written
    back = pickle.loads(written)
    np.testing.assert_array_equal(back["a"][0], value["a"][0])
    assert back["a"][1:] == (None, True)
    assert back["b"] == value["b"]
    assert back["a"][0].flags.writeable
