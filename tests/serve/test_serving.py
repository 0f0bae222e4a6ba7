"""Actions over HTTP are those of the policy, whoever asks what beside it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import msgpack
import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.bridge import Actor
from rlconnect.core.data.msgpack_arrays import decode_msgpack_object, encode_msgpack_object
from rlconnect.serve import AsyncClient, Client, ServeError, SessionGoneError

from .running import BOX, Running, policy_of, recurrent, running

NESTED = spaces.Dict({"speed": spaces.Box(-1, 1, (2,), np.float32), "gear": spaces.Discrete(4)})


@pytest.fixture(scope="module")
def plain() -> Any:
    return policy_of()


@pytest.fixture(scope="module")
def memory() -> Any:
    return recurrent()


@pytest.fixture(scope="module")
def server(plain: Any, memory: Any) -> Iterator[Running]:
    with running({"plain": plain, "memory": memory}, admin_token="secret") as found:
        yield found


def test_an_action_is_the_policys(server: Running, plain: Any, rng: np.random.Generator) -> None:
    """One observation, a batch of them, as JSON and as msgpack."""
    obs = rng.uniform(-1, 1, (6, 4)).astype(np.float32)
    wanted = Actor.from_policy(plain).act(obs).tolist()
    assert [server.act(row.tolist(), policy="plain")["action"] for row in obs] == wanted
    assert server.act(obs.tolist(), policy="plain", batch=True)["action"] == wanted
    with Client(server.url, policy="plain") as client:
        assert [client.act(row).action for row in obs] == wanted
        assert client.act(obs, batch=True).action == wanted
        assert client.act(obs, batch=True).version == 1


def test_typed_bytes(server: Running, plain: Any) -> None:
    """Arrays travel in msgpack as type, shape and bytes."""
    body = msgpack.packb(
        {"obs": np.zeros(4, np.float32), "policy": "plain"}, default=encode_msgpack_object
    )
    head = b"POST /v1/act HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
    head += b"content-type: application/msgpack\r\ncontent-length: %d\r\n\r\n" % len(body)
    answer = server.raw(head + body)
    document = msgpack.unpackb(
        answer.partition(b"\r\n\r\n")[2], object_hook=lambda held: decode_msgpack_object(held)
    )
    assert document["action"] == Actor.from_policy(plain).act(np.zeros(4, np.float32))


def test_sessions_keep_their_own_memory(
    server: Running, memory: Any, rng: np.random.Generator
) -> None:
    """Sessions mixed at random, in batches that differ each time, act as each would alone."""
    episodes = rng.uniform(-1, 1, (12, 9, 4)).astype(np.float32)
    alone = []
    for episode in episodes:
        actor = Actor.from_policy(memory)
        alone.append([int(actor.act(obs, env_ids=0)) for obs in episode])

    async def play() -> list[list[int]]:
        async def one(number: int) -> list[int]:
            async with AsyncClient(server.url, policy="memory") as client:
                acted = []
                for step, obs in enumerate(episodes[number]):
                    answer = await client.act(obs, session=f"mixed-{number}", step=step)
                    acted.append(answer.action)
                return acted

        return await asyncio.gather(*map(one, range(len(episodes))))

    assert asyncio.run(play()) == alone


def test_rows_of_a_batch_are_slots(server: Running, memory: Any, rng: np.random.Generator) -> None:
    """A batch under one session has a memory for each row; one observation is its first row."""
    steps = rng.uniform(-1, 1, (5, 3, 4)).astype(np.float32)
    actor = Actor.from_policy(memory)
    for obs in steps:
        got = server.act(obs.tolist(), policy="memory", session="rows", batch=True)["action"]
        assert got == actor.act(obs, env_ids=[0, 1, 2]).tolist()
    single = server.act(steps[0, 0].tolist(), policy="memory", session="rows")["action"]
    assert single == int(actor.act(steps[0, 0], env_ids=0))


def test_an_episode_that_ends_begins_anew(
    server: Running, memory: Any, rng: np.random.Generator
) -> None:
    """`terminated` comes with the last observation, as for an actor."""
    obs = rng.uniform(-1, 1, (6, 4)).astype(np.float32)
    actor = Actor.from_policy(memory)
    for step, row in enumerate(obs):
        fields = {"terminated": True} if step == 2 else {"truncated": step == 4}
        got = server.act(row.tolist(), policy="memory", session="ends", **fields)["action"]
        assert got == int(actor.act(row, env_ids=0, **fields))


def test_without_a_session_each_request_is_the_first(server: Running, memory: Any) -> None:
    """Nothing is kept."""
    obs = [0.3, -0.2, 0.1, 0.9]
    first = int(Actor.from_policy(memory).act(np.array(obs, np.float32)))
    before = len(server.app.sessions)
    for _ in range(3):
        answer = server.act(obs, policy="memory")
        assert (answer["action"], answer["session"]) == (first, None)
    assert len(server.app.sessions) == before


def test_a_request_may_be_sent_again(server: Running, memory: Any) -> None:
    """A numbered request acts once, however often it comes; a gap and a lost memory are told."""
    with Client(server.url, policy="memory") as client:
        obs = np.full(4, 0.5, np.float32)
        first = client.act(obs, session="again", step=0)
        second = client.act(obs, session="again", step=1)
        assert client.act(-obs, session="again", step=1) == second
        assert server.app.sessions.find(("memory", "again")).steps == 2
        with pytest.raises(ServeError, match="expects step 2, not 5") as error:
            client.act(obs, session="again", step=5)
        assert error.value.code == "out_of_order"
        assert client.act(obs, session="again", step=0) == first
        with pytest.raises(SessionGoneError):
            client.act(obs, session="never", step=4)


def test_explored_actions_are_a_sessions_own(server: Running, plain: Any) -> None:
    """With one seed two sessions explore alike, whatever happens between their requests."""
    with Client(server.url, policy="plain") as client:
        obs = np.zeros(4, np.float32)
        drawn: list[list[int]] = [[], []]
        for name in ("x", "y"):
            client.act(obs, session=name, explore=True, seed=5)
        for _ in range(20):
            for own, name in zip(drawn, ("x", "y"), strict=True):
                own.append(client.act(obs, session=name, explore=True).action)
            client.act(obs, explore=True)
        assert drawn[0] == drawn[1]
        assert len(set(drawn[0])) > 1


def test_a_client_plays(plain: Any) -> None:
    """`env_loop` plays whole episodes, as the actor by itself does."""
    from rlconnect.bridge.rollout import rollout

    env = gym.make("CartPole-v1")
    policy = policy_of(env.observation_space, env.action_space)
    alone = rollout(policy, env, episodes=3, seed=7)
    with running({"only": policy}) as server:
        with Client(server.url) as client:
            assert client.env_loop(env, 3, seed=7) == list(alone.returns)

        async def later() -> list[float]:
            async with AsyncClient(server.url) as client:
                return await client.env_loop(env, 3, seed=7)

        assert asyncio.run(later()) == list(alone.returns)
        assert len(server.app.sessions) == 0


def test_nested_observations_and_actions() -> None:
    """Parts of observations are fields, parts of actions as well."""
    action_space = spaces.Dict(
        {"push": spaces.Box(-2, 2, (1,), np.float32), "go": spaces.Discrete(2)}
    )
    policy = policy_of(NESTED, action_space)
    obs = {"speed": [0.5, -0.5], "gear": 3}
    wanted = Actor.from_policy(policy).act({"speed": np.array([0.5, -0.5], np.float32), "gear": 3})
    with running({"nested": policy}) as server:
        got = server.act(obs)["action"]
        assert got["go"] == wanted["go"]
        np.testing.assert_allclose(got["push"], wanted["push"], rtol=1e-5)
        several = server.act([obs, obs], batch=True)["action"]
        np.testing.assert_allclose(several["push"], [wanted["push"]] * 2, rtol=1e-5)
        for wrong in ({"speed": [0.5, 0.5]}, {"speed": [0.5, 0.5], "gear": 4}, [1, 2]):
            status, document = server.ask("POST", "/v1/act", {"obs": wrong})
            assert (status, document["code"]) == (400, "bad_observation")


def test_policies_that_see_rewards(rng: np.random.Generator) -> None:
    """The reward of the last action comes with the observation after it; without it is told."""
    model = {"use_lstm": True, "lstm_cell_size": 8, "lstm_use_prev_reward": True}
    policy = policy_of(model=model)
    actor = Actor.from_policy(policy)
    with running({"only": policy}) as server, Client(server.url) as client:
        for step, obs in enumerate(rng.uniform(-1, 1, (5, 4)).astype(np.float32)):
            reward = {"reward": 0.5 * step} if step else {}
            got = client.act(obs, session="r", **reward).action
            assert got == int(actor.act(obs, env_ids=0, **reward))
        with pytest.raises(ServeError, match="no reward"):
            client.act(obs, session="r")


BAD: list[tuple[Any, int, str]] = [
    ([], 400, "bad_request"),
    ({}, 400, "policy_missing"),
    ({"policy": "plain"}, 400, "obs_missing"),
    ({"obs": [0, 0, 0]}, 400, "bad_observation"),
    ({"obs": [[0, 0], [0, 0]]}, 400, "bad_observation"),
    ({"obs": [0, [0], 0, 0]}, 400, "bad_observation"),
    ({"obs": ["0", "0", "0", "0"]}, 400, "bad_observation"),
    ({"obs": [None] * 4}, 400, "bad_observation"),
    ({"obs": [1e300] * 4}, 400, "bad_observation"),
    ({"obs": [10**400] * 4}, 400, "bad_observation"),
    ({"obs": {"a": 1}}, 400, "bad_observation"),
    ({"obs": 1}, 400, "bad_observation"),
    ({"obs": [], "batch": True}, 400, "bad_observation"),
    ({"obs": "x", "batch": True}, 400, "bad_observation"),
    ({"obs": [0] * 4, "batch": "yes"}, 400, "bad_field"),
    ({"obs": [0] * 4, "session": 7}, 400, "bad_field"),
    ({"obs": [0] * 4, "session": ""}, 400, "bad_field"),
    ({"obs": [0] * 4, "session": "x" * 200}, 400, "bad_field"),
    ({"obs": [0] * 4, "session": "a\nb"}, 400, "bad_field"),
    ({"obs": [0] * 4, "step": True}, 400, "bad_field"),
    ({"obs": [0] * 4, "reward": "much", "session": "q", "policy": "memory"}, 400, "bad_field"),
    ({"obs": [0] * 4, "terminated": [1, 2], "policy": "memory"}, 400, "bad_field"),
    ({"obs": [0] * 4, "observation": 1}, 400, "unknown_field"),
    ({"obs": [0] * 4, "policy": "nobody"}, 404, "no_policy"),
]


@pytest.mark.parametrize(("asked", "status", "code"), BAD, ids=[str(each[0])[:50] for each in BAD])
def test_mistakes_are_told(server: Running, asked: Any, status: int, code: str) -> None:
    """What does not fit is answered with a reason; the server goes on."""
    if isinstance(asked, dict) and asked:
        asked = {"policy": "plain", **asked}
    got, document = server.ask("POST", "/v1/act", asked)
    assert (got, document["code"]) == (status, code), document
    assert document["error"]
    server.act([0.0] * 4, policy="plain")


def test_one_mistake_spoils_nobody_elses_answer(server: Running, plain: Any) -> None:
    """In one forward pass only who is wrong is told so."""

    async def all_at_once() -> list[Any]:
        async def one(obs: Any) -> Any:
            async with AsyncClient(server.url, policy="plain") as client:
                try:
                    return (await client.act(obs)).action
                except ServeError as error:
                    return error.code

        return await asyncio.gather(*(one([0.1] * (4 if n % 3 else 5)) for n in range(12)))

    right = int(Actor.from_policy(plain).act(np.full(4, 0.1, np.float32)))
    found = asyncio.run(all_at_once())
    assert found == ["bad_observation" if n % 3 == 0 else right for n in range(12)]


def test_what_there_is(server: Running) -> None:
    """Policies, sessions, health, metrics, the description and the page."""
    status, told = server.ask("GET", "/v1/policies")
    names = {each["name"]: each for each in told["policies"]}
    assert status == 200
    assert (names["plain"]["has_memory"], names["memory"]["has_memory"]) == (False, True)
    server.act(names["plain"]["example"], policy="plain")
    assert server.ask("GET", "/healthz") == (200, {"status": "ok"})
    assert server.ask("GET", "/readyz") == (200, {"status": "ready"})
    text = server.ask("GET", "/metrics")[1].decode()
    assert 'rlconnect_requests_total{policy="plain",status="200"}' in text
    status, described = server.ask("GET", "/openapi.json")
    assert {"/v1/act", "/v1/policies", "/metrics"} <= set(described["paths"])
    for path, methods in described["paths"].items():
        if "{" not in path and "get" in methods and path != "/v1/stream":
            assert server.ask("GET", path)[0] == 200, path
    status, page = server.ask("GET", "/")
    assert status == 200
    assert b"<title>rlconnect serve</title>" in page
    assert server.ask("HEAD", "/healthz") == (200, b"")
    assert server.ask("GET", "/nothing")[0] == 404
    assert server.ask("GET", "/v1/act")[0] == 405


def test_a_session_is_ended(server: Running) -> None:
    """DELETE lets a session go; its name may be used anew."""
    obs = [0.1] * 4
    first = server.act(obs, policy="memory", session="over")["action"]
    server.act(obs, policy="memory", session="over")
    assert server.ask("DELETE", "/v1/sessions/over") == (
        200, {"session": "over", "ended": ["memory"]},
    )  # fmt: skip
    assert server.ask("DELETE", "/v1/sessions/over")[0] == 404
    with Client(server.url, policy="memory") as client:
        client.act(obs, session="50%25 / over")
        client.end("50%25 / over")
        assert ("memory", "50%25 / over") not in {each.key for each in server.app.sessions}
    assert server.act(obs, policy="memory", session="over")["action"] == first


def test_what_is_evicted_is_told(memory: Any) -> None:
    """A session that made room, or that lay unused, is gone, never silently fresh."""
    with running({"memory": memory}, max_sessions=2, session_ttl=1000.0) as server:
        for name in ("a", "b", "c"):
            server.act([0.1] * 4, session=name)
        status, document = server.ask("POST", "/v1/act", {"obs": [0.1] * 4, "session": "a"})
        assert (status, document["code"]) == (410, "session_gone")
        assert "too many sessions" in document["error"]
        assert server.act([0.1] * 4, session="a", step=0)["session"] == "a"
        own = server.act([0.1] * 4, session=True)["session"]
        assert server.act([0.1] * 4, session=own)["session"] == own
        stranger = own.replace(own.split("-")[1], "00000000")
        status, document = server.ask("POST", "/v1/act", {"obs": [0.1] * 4, "session": stranger})
        assert (status, document["code"]) == (410, "session_gone")
        assert "started again" in document["error"]


def test_a_stream_of_steps(server: Running, memory: Any, rng: np.random.Generator) -> None:
    """A WebSocket is a session of its own, that is over when it closes."""
    before = len(server.app.sessions)
    actor = Actor.from_policy(memory)
    with server.websocket("/v1/stream?policy=memory") as socket:
        for obs in rng.uniform(-1, 1, (4, 4)).astype(np.float32):
            socket.send(json.dumps({"obs": obs.tolist()}).encode())
            assert json.loads(socket.receive())["action"] == int(actor.act(obs, env_ids=0))
        socket.send(b"{")
        assert json.loads(socket.receive())["code"] == "bad_json"
        assert len(server.app.sessions) == before + 1
    for _ in range(200):
        if len(server.app.sessions) == before:
            break
        server.ask("GET", "/healthz")
    assert len(server.app.sessions) == before


def test_a_token_is_wanted(plain: Any) -> None:
    """Without it nothing but health is told."""
    with running({"plain": plain}, token="open sesame") as server:
        assert server.ask("GET", "/v1/policies")[0] == 401
        assert server.ask("GET", "/v1/policies", authorization="Bearer sesame")[0] == 401
        assert server.ask("GET", "/v1/policies", authorization="Bearer open sesame")[0] == 200
        assert server.ask("GET", "/healthz")[0] == 200
        with Client(server.url, token="open sesame") as client:
            client.act([0.0] * 4)


def test_box_spaces_of_whole_numbers() -> None:
    """Pixels are whole numbers of 0 to 255."""
    space = spaces.Box(0, 255, (3,), np.uint8)
    with running({"only": policy_of(space)}) as server:
        server.act([0, 255, 7])
        for wrong in ([0, 256, 7], [0, -1, 7], [0.5, 1, 2]):
            assert server.ask("POST", "/v1/act", {"obs": wrong})[0] == 400
    assert BOX.shape == (4,)


@pytest.mark.parametrize("name", ["plain", "memory"])
def test_what_the_network_gave_is_fetched(
    server: Running, plain: Any, memory: Any, name: str, rng: np.random.Generator
) -> None:
    """Beside the action, as JSON and msgpack, alone and of a batch; memory moves on as without."""
    actor = Actor.from_policy(plain if name == "plain" else memory)
    steps = rng.uniform(-1, 1, (4, 3, 4)).astype(np.float32)
    some = ["vf_preds", "action_dist_inputs"]
    with Client(server.url, policy=name) as client:
        for number, rows in enumerate(steps):
            wanted, fetched = actor.act_and_fetch(rows, env_ids=[0, 1, 2])
            ids = {"session": "fetches", "step": number, "batch": True}
            if number == 1:
                assert client.act(rows, **ids).action == wanted.tolist()
                continue
            acted = client.act(rows, **ids, fetches=some if number else True)
            assert acted.action == wanted.tolist()
            assert list(acted.fetches) == (some if number else list(fetched))
            for column, held in acted.fetches.items():
                assert np.allclose(held, fetched[column], atol=1e-6)
        told = client.act(steps[0, 0], fetches=some)
    as_json = server.act(steps[0, 0].tolist(), policy=name, fetches=some)
    for column in some:
        assert np.allclose(as_json["fetches"][column], told.fetches[column], atol=1e-6)
    assert np.shape(as_json["fetches"]["vf_preds"]) == ()
    explored = server.act(steps[0, 0].tolist(), policy=name, fetches=True, explore=True, seed=1)
    assert explored["fetches"]["action_logp"] < 0
    assert "fetches" not in server.act(steps[0, 0].tolist(), policy=name, fetches=False)
    for wrong in (["vf_preds", "q_values"], [3], [{}]):
        asked = {"obs": [0.0] * 4, "policy": name, "fetches": wrong, "session": "none of it"}
        status, document = server.ask("POST", "/v1/act", asked)
        assert (status, document["code"]) == (400, "no_fetch"), document
        assert "vf_preds" in document["hint"]
    assert (name, "none of it") not in {each.key for each in server.app.sessions}


def test_numbers_that_json_has_no_word_for() -> None:
    """An action of them is refused, and the connection goes on; among fetches they are null."""
    policy = policy_of(action_space=spaces.Box(-1.0, 1.0, (2,), np.float32))
    with running({"only": policy}) as server:
        network = server.app.models["only"].current.player.policy.networks
        weights = network.get_weights()
        server.call(
            network.set_weights, {name: np.full_like(own, np.nan) for name, own in weights.items()}
        )
        status, document = server.ask("POST", "/v1/act", {"obs": [0.0] * 4})
        assert (status, document["code"]) == (500, "no_number")
        with server.websocket("/v1/stream") as socket:
            for _ in range(2):
                socket.send(b'{"obs": [0, 0, 0, 0]}')
                assert json.loads(socket.receive())["code"] == "no_number"
        server.call(
            network.set_weights,
            {n: np.full_like(w, np.nan) if "value" in n else w for n, w in weights.items()},
        )
        answer = server.act([0.0] * 4, fetches=["vf_preds", "action_logp"])
        assert answer["fetches"] == {"vf_preds": None, "action_logp": 0.0}
