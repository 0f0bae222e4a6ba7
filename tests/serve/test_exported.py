"""Exported programs behind a port, with a memory for each session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rlconnect
from rlconnect.bridge import Actor
from rlconnect.serve import Client, ServeError, ServeSettings, app_of

from tests.legacy.replay import GOLDEN, Recording

from .running import running

pytestmark = pytest.mark.torch("2.9")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_program_is_served_with_sessions(
    exported: Any, tmp_path: Path, rng: np.random.Generator
) -> None:
    """By its file, its folder or its manifest; it remembers, and moves on to a policy and back."""
    file, _ = exported("ppo_lstm_prev", "pt2")
    seeing = Recording(GOLDEN / "legacy" / "2.7.2" / "ppo_lstm_prev").load("default_policy")
    seeing.export_checkpoint(str(tmp_path / "checkpoint"))
    for path in (file.with_name(f"{file.name}.json"), file):
        app = app_of(ServeSettings(policies={"main": str(path)}), options={"allow_program": True})
        assert app.models["main"].describe()["needs_reward"]
    episodes = rng.uniform(-1, 1, (3, 8, 5)).astype(np.float32)
    program = rlconnect.load(str(file), allow_program=True).only
    with (
        running({"main": program}, admin_token="secret") as server,
        Client(server.url, token="secret") as client,
    ):
        server.app.models["main"].current.loading = {"allow_program": True}
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
