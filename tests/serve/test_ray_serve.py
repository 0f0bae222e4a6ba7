"""A checkpoint as an application of Ray Serve."""

from __future__ import annotations

import http.client
import importlib.util
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rlconnect.bridge import Actor
from rlconnect.core.errors import ConfigError, MissingExtraError
from rlconnect.serve import Client, SessionGoneError
from rlconnect.serve.ray_serve import app

from .running import recurrent, running

IS_THERE = importlib.util.find_spec("ray") is not None and importlib.util.find_spec("ray.serve")
with_ray = pytest.mark.skipif(not IS_THERE, reason="Ray Serve is not installed")
# Ray's own code warns of much, and leaves sockets and processes to the end of the program.
pytestmark = pytest.mark.filterwarnings("ignore")
OBS = [0.5, -0.5, 0.25, 1.0]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policy")
    recurrent().export_checkpoint(str(folder))
    return folder


@pytest.fixture(scope="module")
def url(checkpoint: Path) -> Iterator[str]:
    """Two replicas behind a proxy on loopback."""
    patch = pytest.MonkeyPatch()
    for name in ("PROXY_READY_CHECK_TIMEOUT_S", "PROXY_HEALTH_CHECK_TIMEOUT_S"):
        patch.setenv(f"RAY_SERVE_{name}", "120")  # read when Ray Serve is imported
    import ray
    from ray import serve

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ray.init(num_cpus=4, include_dashboard=False, logging_level="error", log_to_driver=False)
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        built = app({"path": str(checkpoint), "min_replicas": "2", "num_cpus": 0.1})
        serve.run(built, name="policies", route_prefix="/")
        yield f"http://127.0.0.1:{port}"
    finally:
        serve.shutdown()
        ray.shutdown()
        patch.undo()


def asked(url: str, document: Any, **headers: str) -> tuple[int, Any]:
    """What is answered to JSON."""
    host, _, port = url.removeprefix("http://").partition(":")
    headers = {name.replace("_", "-"): own for name, own in headers.items()}
    with closing(http.client.HTTPConnection(host, int(port), timeout=120)) as connection:
        body = json.dumps(document)
        connection.request("POST", "/v1/act", body, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@with_ray
def test_sessions_act_as_alone(url: str, checkpoint: Path, rng: np.random.Generator) -> None:
    """By clients that tell Ray whose request it is, and by those that do not know of Ray."""
    episodes = rng.uniform(-1, 1, (6, 4, 4)).astype(np.float32)
    with Client(url, timeout=120) as client:
        for number, episode in enumerate(episodes):
            actor = Actor.from_checkpoint(checkpoint)
            with client.session() as session:
                for step, obs in enumerate(episode):
                    wanted = int(actor.act(obs, env_ids=0))
                    assert session.act(obs).action == wanted
                    told = {"obs": obs.tolist(), "session": f"raw{number}", "step": step}
                    assert asked(url, told)[1]["action"] == wanted
        acted = client.act(episodes[0, :3], batch=True, fetches=["vf_preds"])
        assert len(acted.action) == len(acted.fetches["vf_preds"]) == 3
        assert client.policies()[0]["has_memory"]


@with_ray
def test_no_session_begins_by_mistake(url: str) -> None:
    """A name that no replica knows is gone, unless its request is the first; mistakes are told."""
    assert asked(url, {"obs": OBS, "session": "unheard of"})[1]["code"] == "session_gone"
    status, document = asked(url, {"obs": OBS, "session": True})
    assert status == 200
    for _ in range(3):
        told = {"obs": OBS, "session": document["session"]}
        assert asked(url, told)[1]["session"] == document["session"]
        assert asked(url, told, x_session_id=document["session"])[0] == 200
    assert asked(url, {"obs": OBS[:2]})[1]["code"] == "bad_observation"
    assert asked(url, {"obs": OBS[:2], "session": "mistaken", "step": 0})[0] == 400
    with Client(url, timeout=120) as client, pytest.raises(SessionGoneError):
        client.act(OBS, session="s-00000000-1-000000000000", step=4)


def test_a_strict_app_begins_sessions_at_step_0() -> None:
    """What replicas are told, without Ray."""
    with running({"main": recurrent()}) as server:
        server.app.is_strict = True
        status, document = server.ask("POST", "/v1/act", {"obs": OBS, "session": "a"})
        assert (status, document["code"]) == (410, "session_gone")
        assert "step 0" in document["error"]
        server.act(OBS, session="a", step=0)
        server.act(OBS, session="a")
        assert server.act(OBS)["session"] is None


@with_ray
@pytest.mark.parametrize(
    "wrong", [{"max_replicas": "many"}, {"replicas": 3, "path": "x"}, {"max_sessions": "x"}]
)
def test_wrong_arguments_are_told(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        app(wrong)


@pytest.mark.skipif(bool(IS_THERE), reason="Ray Serve is installed")
def test_what_is_missing_is_told() -> None:
    """Without Ray the module is imported all the same."""
    with pytest.raises(MissingExtraError, match="Ray Serve"):
        app({"path": "x"})
