"""External environments of RLlib's new stack are answered as RLlib does, and more kindly."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from rlconnect.bridge.front.load import as_policies
from rlconnect.bridge.lived_episodes import sent_episodes
from rlconnect.core.vault.decode.constructors import CONSTRUCTORS
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.decode.pickle_machine import PickleMachine
from rlconnect.core.vault.decode.standins import class_path
from rlconnect.offline import open_dataset
from rlconnect.serve.versions import Version
from rlconnect.serve.wire import MSGPACK_CODEC

from .running import Evil, Running, free_port, policy_of, recurrent, running

GOLDEN = Path(__file__).parents[1] / "golden"
ALGORITHM = GOLDEN / "checkpoints" / "2.60.0-ppo_new_stack" / "algo"
CLIENT = (GOLDEN / "serve" / "rllink_client.bin").read_bytes()
SERVER = (GOLDEN / "serve" / "rllink_server.bin").read_bytes()
OBS = [0.1, -0.2, 0.03, 0.4]


def frames(data: bytes) -> list[bytes]:
    """The bodies of messages that follow each other."""
    found = []
    while data:
        size = 8 + int(data[:8])
        found.append(data[8:size])
        assert len(found[-1]) == size - 8
        data = data[size:]
    return found


def framed(body: bytes) -> bytes:
    return b"%08d" % len(body) + body


def message(kind: Any, **fields: Any) -> bytes:
    return framed(MSGPACK_CODEC.encode({"type": kind, **fields}))


class Client:
    """One client's connection.

    Args:
        server: What listens.
    """

    def __init__(self, server: Running) -> None:
        port = server.server.settings.rllink_port
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=20)

    def receive(self) -> dict[str, Any]:
        """The fields of the next message."""
        header = self._take(8)
        found: dict[str, Any] = MSGPACK_CODEC.decode(self._take(int(header)))
        return found

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.connection.recv(count - len(data))
            assert part, data
            data += part
        return data

    def ask(self, kind: Any, **fields: Any) -> dict[str, Any]:
        """The fields of the answer to a message."""
        self.connection.sendall(message(kind, **fields))
        return self.receive()

    def act(self, obs: Any, **fields: Any) -> Any:
        """The action for an observation."""
        found = self.ask("GET_ACTION", obs=obs, **fields)
        assert found["type"] == "GET_ACTION", found
        return found["action"]


@contextmanager
def client(server: Running) -> Iterator[Client]:
    found = Client(server)
    with found.connection:
        yield found


def serving(policies: dict[str, Any], **settings: Any) -> Any:
    return running(policies, rllink_port=free_port(), **settings)


@pytest.fixture(scope="module")
def module() -> Any:
    return as_policies(ALGORITHM).only


@pytest.fixture(scope="module")
def server(module: Any) -> Iterator[Running]:
    with serving({"default_policy": module}, max_body=1 << 20, read_timeout=0.2) as found:
        yield found


def test_recorded_conversation(module: Any, tmp_path: Path) -> None:
    """Ray's own client gets the very bytes that Ray's server sends; its episodes are kept."""
    with serving({"default_policy": module}, record=str(tmp_path)) as server:
        port = server.server.settings.rllink_port
        pong, config, *states = frames(server.raw(CLIENT, port=port))
        metrics = server.ask("GET", "/metrics")[1].decode()

    assert [pong, states[0]] == frames(SERVER)
    assert states == states[:1] * 3
    assert MSGPACK_CODEC.decode(config)["type"] == "SET_CONFIG"
    sent = [
        episode
        for body in frames(CLIENT)[3:]
        for episode in sent_episodes(MSGPACK_CODEC.decode(body)["episodes"])
    ]
    assert f"rlconnect_rllink_episodes_total {len(sent)}\n" in metrics
    assert f"rlconnect_rllink_steps_total {sum(map(len, sent))}\n" in metrics
    kept = [*open_dataset(tmp_path).episodes()]
    assert [(each.id_, each.t_started, each.is_done) for each in kept] == [
        (each.id_, each.t_started, each.is_done) for each in sent
    ]
    for ours, theirs in zip(kept, sent, strict=True):
        for read in ("get_observations", "get_actions", "get_rewards"):
            np.testing.assert_array_equal(getattr(ours, read)(), getattr(theirs, read)())
        np.testing.assert_array_equal(
            ours.get_extra_model_outputs("action_logp"),
            theirs.get_extra_model_outputs("action_logp"),
        )
        assert ours.custom_data == {"policy": "default_policy", "version": 1}


def test_config_names_rays_classes_and_keeps_plain_settings(server: Running) -> None:
    """The config is Ray's class, called by nobody here, with the checkpoint's plain settings."""
    with client(server) as asking:
        data = asking.ask("GET_CONFIG")["config"]

    held = PickleMachine(
        memoryview(data), Budget(Limits(), len(data)), constructors=CONSTRUCTORS
    ).load()
    assert class_path(held) == "ray.rllib.algorithms.ppo.ppo.PPOConfig"
    settings = held.mapping()
    assert settings["train_batch_size"] == 64
    assert settings["rollout_fragment_length"] == "auto"
    assert settings["_rl_module_spec"].path.endswith(".RLModuleSpec")
    named = [each for each in settings.values() if "__main__" in repr(each)]
    assert not named


def test_actions_over_the_link(server: Running) -> None:
    """An asked action is what HTTP answers, under a type that Ray's own reader takes."""
    with client(server) as asking:
        found = asking.ask("GET_ACTION", obs=np.array(OBS, np.float32))
        batch = asking.act([OBS, OBS], batch=True)

    http = server.act(OBS)
    assert (found["type"], found["policy"], found["version"]) == ("GET_ACTION", "default_policy", 1)
    assert found["action"] == http["action"]
    assert batch == [http["action"]] * 2


def test_memory_of_connections() -> None:
    """Each connection is a session by itself that ends with it; a named one goes on after it."""
    policy = recurrent()
    rng = np.random.default_rng(0)
    seen = rng.uniform(-1, 1, (6, 2, 4)).astype(np.float32)
    with serving({"only": policy}) as server:
        with client(server) as one, client(server) as other:
            acted = [[one.act(first), other.act(second)] for first, second in seen]
            assert server.call(len, server.app.sessions) == 2
            assert one.act(seen[0, 0], session="kept") == acted[0][0]
        with client(server) as third:
            assert third.act(seen[1, 0], session="kept") == acted[1][0]
            again = [third.act(first) for first in seen[:, 0]]
        isolated = [
            [server.act(step[which].tolist(), session=f"s{which}")["action"] for which in (0, 1)]
            for step in seen
        ]
        server.act(seen[0, 0].tolist())
        assert server.call(lambda: sorted(each.id for each in server.app.sessions)) == [
            "kept", "s0", "s1",
        ]  # fmt: skip
    assert acted == isolated
    assert again == [first for first, _ in acted]


def test_weights_of_the_version_that_is_promoted(module: Any) -> None:
    """The next state that a client takes has the new version's weights and its number."""
    with serving({"default_policy": module}) as server, client(server) as asking:
        model = server.app.models["default_policy"]
        first = asking.ask("GET_STATE")["state"]
        second = Version("default_policy", model.next_number(), module, module.path)

        def promote() -> None:
            model.add(second)
            model.promote(second)

        server.call(promote)
        state = asking.ask("GET_WEIGHTS")["state"]
    assert (first["weights_seq_no"], state["weights_seq_no"]) == (1, 2)
    assert first["rl_module"].keys() == module.native.module.get_state(inference_only=True).keys()


def test_policies_of_the_old_stack_only_act() -> None:
    """They have no module for clients; the refusal says what to do, and actions are answered."""
    with serving({"a": policy_of(), "b": policy_of()}) as server, client(server) as asking:
        for kind in ("GET_STATE", "GET_CONFIG"):
            found = asking.ask(kind, policy="a")
            assert (found["type"], found["code"]) == ("ERROR", "no_module")
            assert "GET_ACTION" in found["hint"]
        assert asking.ask("GET_STATE")["code"] == "policy_missing"
        assert asking.ask("GET_STATE", policy="c")["code"] == "no_policy"
        assert asking.act(OBS, policy="b") == server.act(OBS, policy="b")["action"]


def test_token(module: Any) -> None:
    """It is shown once a connection; without it nothing is told."""
    with serving({"default_policy": module}, token="t") as server:
        with client(server) as asking:
            for fields in ({}, {"token": "other"}, {"token": 3}):
                assert asking.ask("GET_STATE", **fields)["code"] == "unauthorized"
            assert asking.ask("PING", token="t") == {"type": "PONG"}
            assert asking.ask("GET_STATE")["type"] == "SET_STATE"
        with client(server) as asking:
            assert asking.ask("GET_ACTION", obs=OBS)["status"] == 401


def states() -> list[dict[str, Any]]:
    """The episodes of the recorded client's first round, as data to change."""
    found: list[dict[str, Any]] = msgpack.unpackb(frames(CLIENT)[3])["episodes"]
    return found


def changed(**fields: Any) -> list[dict[str, Any]]:
    episode, *rest = states()
    return [{**episode, **fields}, *rest]


def wrong_episodes(path: str) -> dict[str, Any]:
    """What is no list of episodes of the policy, by what is wrong."""
    evil = pickle.dumps(Evil(path))
    array = {b"nd": True, b"type": "<f4", b"kind": b"", b"shape": [2], b"data": b"\0" * 8}
    first = states()[0]
    longer = {**first["rewards"], "data": [*first["rewards"]["data"], 1.0]}
    return {
        "text": "episodes", "number": 3, "of numbers": [1, 2], "of maps": [{}], "of lists": [[]],
        "cut": [{key: each for key, each in states()[0].items() if key != "actions"}],
        "id": changed(id_=7), "long id": changed(id_="a" * 1000), "lines": changed(id_="a\nb"),
        "times": changed(t=-1), "huge time": changed(t_started=1 << 63),
        "other times": changed(t=1), "rows as one": changed(extra_model_outputs={
            "action_logp": {"data": [0.5] * len(first["rewards"]["data"]), "lookback": 0,
                            "finalized": True, "space": None}}),
        "flag": changed(is_terminated="yes"), "outputs": changed(extra_model_outputs=[1]),
        "custom": changed(custom_data=3), "rewards": changed(rewards=longer),
        "nan": changed(rewards={**longer, "data": [float("nan")] * (len(longer["data"]) - 1)}),
        "space": changed(_observation_space={"space": "box", "low": "x"}),
        "other space": changed(observations={**first["observations"], "data":
                               [[1.0, 2.0]] * len(first["observations"]["data"])}),
        "actions": changed(actions={**first["actions"], "data":
                           [7] * len(first["actions"]["data"])}),
        "objects": changed(infos={**array, b"kind": b"O", b"data": evil}),
        "objects in rewards": changed(rewards={**first["rewards"], "data":
                                      {**array, b"kind": b"O", b"data": evil}}),
        "records": changed(custom_data={"a": {**array, b"kind": b"V", b"type": [["f", "<f4"]]}}),
        "lying shape": changed(custom_data={"a": {**array, b"shape": [1 << 40]}}),
        "object type": changed(custom_data={"a": {**array, b"type": "|O"}}),
    }  # fmt: skip


def test_wrong_episodes(server: Running, tmp_path: Path) -> None:
    """Each is refused whole and by name, runs nothing, and leaves the connection as it was."""
    mark = tmp_path / "ran"
    before = server.app.metrics.counts["rlconnect_rllink_episodes_total"]
    with client(server) as asking:
        for name, episodes in wrong_episodes(str(mark)).items():
            for kind in ("EPISODES", "EPISODES_AND_GET_STATE"):
                body = msgpack.packb({"type": kind, "episodes": episodes})
                asking.connection.sendall(framed(body))
                found = asking.receive()
                assert (found["type"], found["status"]) == ("ERROR", 400), (name, found)
        assert asking.ask("EPISODES")["code"] == "bad_field"
        assert asking.ask("EPISODES_AND_GET_STATE", episodes=[])["type"] == "SET_STATE"
        assert asking.ask("PING") == {"type": "PONG"}
    assert not mark.exists()
    assert server.app.metrics.counts["rlconnect_rllink_episodes_total"] == before


WRONG_MESSAGES = {
    b"": "bad_msgpack", b"\xc1": "bad_msgpack", b"\x81\xa4type": "bad_msgpack",
    b"\xdd\xff\xff\xff\xff": "bad_msgpack", b"\x91" * 2000: "bad_msgpack",
    b"\x01": "bad_message", b"\x90": "bad_message", b"\x80": "bad_type",
    b"\x81\xa4type\x01": "bad_type", b"\x81\xa4type\x90": "bad_type",
    b"\x81\xa4type\xa4PONG": "bad_type", b"\x81\xa4type\xa4ping": "bad_type",
    b"\x81\x90\x01": "bad_msgpack", pickle.dumps({"type": "PING"}): "bad_msgpack",
    b'{"type": "PING"}': "bad_msgpack", b"\x81\xa4type\xd5\x01ab": "bad_type",
}  # fmt: skip


def test_wrong_messages_are_answered_and_the_next_one_too(server: Running) -> None:
    """A whole frame that says nothing sensible is refused; the link goes on."""
    with client(server) as asking:
        for body, code in WRONG_MESSAGES.items():
            asking.connection.sendall(framed(body))
            found = asking.receive()
            assert (found["type"], found["code"]) == ("ERROR", code), body
        for fields in ({}, {"obs": [1.0]}, {"obs": "text"}, {"obs": OBS, "other": 1}):
            assert asking.ask("GET_ACTION", **fields)["status"] == 400, fields
        assert asking.ask("GET_STATE", policy=3)["code"] == "bad_field"
        assert asking.ask("PING") == {"type": "PONG"}


NO_MESSAGES = [
    (b"GET / HTTP/1.1\r\nhost: h\r\n\r\n", 400),
    (b"-0000005hello", 400),
    (b"0000 011\x81\xa4type\xa4PING", 400),
    (b"1048577\x00", 400),
    (b"01048577" + b"\0" * 100, 413),
    (b"99999999", 413),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01", 400),
    (framed(b"\x81\xa4type\xa4PING")[:-1], None),
    (b"0000", None),
    (b"", None),
]


@pytest.mark.parametrize(("data", "status"), NO_MESSAGES)
def test_bytes_that_are_no_message(server: Running, data: bytes, status: int | None) -> None:
    """Nothing after a lying header can be read: it is told why, and the connection ends."""
    answer = frames(server.raw(data, port=server.server.settings.rllink_port))
    assert [MSGPACK_CODEC.decode(each)["status"] for each in answer] == [status] * bool(status)


def test_large_bodies(server: Running) -> None:
    """They are read beside the loop, answered in their turn, and bounded in what they unfold to."""
    rows = np.random.default_rng(0).uniform(-1, 1, (5000, 4)).astype(np.float32)
    wanted = server.act(rows.tolist(), batch=True)["action"]
    empties = b"\xdd" + (600_000).to_bytes(4, "big") + b"\x80" * 600_000
    with client(server) as asking:
        assert asking.act(rows, batch=True) == wanted
        assert asking.act(rows.tolist(), batch=True) == wanted
        for body in (empties, empties.replace(b"\x80", b"\x90")):
            asking.connection.sendall(framed(body))
            assert asking.receive()["code"] == "bad_msgpack"
            head = b"POST /v1/act HTTP/1.1\r\nhost: h\r\ncontent-type: application/msgpack\r\n"
            answer = server.raw(head + b"content-length: %d\r\n\r\n" % len(body) + body)
            assert answer.startswith(b"HTTP/1.1 400")
        assert asking.ask("PING") == {"type": "PONG"}


def test_slow_senders_and_pipelines(server: Running) -> None:
    """Who does not end a message is told; messages may follow each other without waiting."""
    with client(server) as asking:
        asking.connection.sendall(b"00000011\x81")
        assert asking.receive()["status"] == 408
        assert asking.connection.recv(1) == b""
    ping = message("PING")
    act = message("GET_ACTION", obs=OBS)
    answers = frames(server.raw(ping + act + ping * 3, port=server.server.settings.rllink_port))
    kinds = [MSGPACK_CODEC.decode(each)["type"] for each in answers]
    assert kinds == ["PONG", "GET_ACTION", "PONG", "PONG", "PONG"]


def test_ending_answers_what_was_accepted(module: Any) -> None:
    """A server that ends answers the message at hand, then hangs up."""
    with serving({"default_policy": module}) as server, client(server) as asking:
        assert asking.ask("PING") == {"type": "PONG"}
        body = CLIENT[CLIENT.index(b"\x83\xa4type\xb6EPISODES") - 8 :][:3726]
        asking.connection.sendall(body)
        server.loop.call_soon_threadsafe(server.server.stop)
        assert asking.receive()["type"] == "SET_STATE"
        assert asking.connection.recv(1) == b""
