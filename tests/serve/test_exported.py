"""Exported programs behind a port, with a memory for each session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rlconnect
from rlconnect.bridge import Actor
from rlconnect.serve import Client, ServeError, ServeSettings, app_of

from .running import policy_of, running

pytestmark = pytest.mark.torch("2.9")
LSTM = {"use_lstm": True, "lstm_cell_size": 8, "fcnet_hiddens": [8]}


@pytest.fixture(scope="module")
def seeing() -> Any:
    """A policy that sees its last action and reward, through a filter."""
    model = {**LSTM, "lstm_use_prev_action": True, "lstm_use_prev_reward": True}
    return policy_of(model=model, observation_filter="MeanStdFilter")


@pytest.mark.parametrize("ending", ["onnx", "pt2"])
def test_a_program_is_served_with_sessions(
    seeing: Any, ending: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """By its file, its folder or its manifest; it remembers, and moves on to a policy and back."""
    if ending == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnxscript")
    file = tmp_path / f"policy.{ending}"
    rlconnect.export(seeing, str(file))
    seeing.export_checkpoint(str(tmp_path / "checkpoint"))
    for path in (tmp_path / f"policy.{ending}.json", file):
        app = app_of(ServeSettings(policies={"main": str(path)}))
        assert app.models["main"].describe()["needs_reward"]
    episodes = rng.uniform(-1, 1, (3, 8, 4)).astype(np.float32)
    program = rlconnect.load(str(file)).only
    with (
        running({"main": program}, admin_token="secret") as server,
        Client(server.url, token="secret") as client,
    ):
        actors = [Actor.from_policy(seeing) for _ in episodes]
        for step in range(8):
            if step in (3, 6):
                path = str(tmp_path / "checkpoint") if step == 3 else str(file)
                assert client.admin("promote", path=path, move=True)["moved"] == 3
            for number, (actor, episode) in enumerate(zip(actors, episodes, strict=True)):
                reward = float(number) if step else None
                got = client.act(episode[step], session=f"s{number}", step=step, reward=reward)
                assert got.action == int(actor.act(episode[step], env_ids=0, reward=reward))
        with pytest.raises(ServeError, match="reward") as error:
            client.act(episodes[0, 0], session="s0", step=8)
        assert error.value.code == "reward_missing"
        for wrong in ({"explore": True}, {"fetches": ["vf_preds"]}):
            with pytest.raises(ServeError) as error:
                client.act(episodes[0, 0], **wrong)
            assert error.value.status == 400
        assert client.act(episodes[0, 0], fetches=True).fetches == {}
