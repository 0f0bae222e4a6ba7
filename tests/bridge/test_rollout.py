"""Episodes that are kept while a policy plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.bridge import Actor
from rlconnect.offline import open_dataset

pytest.importorskip("pyarrow")

AUTORESETS = ["NEXT_STEP", "SAME_STEP"] if hasattr(gym.vector, "AutoresetMode") else [None]


class Counting(gym.Env):
    """Sees the step's number; rewards what is done in it; ends after so many steps."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Box(0.0, 10.0, (1,), np.float32)

    def __init__(self, steps: int = 3) -> None:
        self._steps, self._at = steps, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._at = 0
        return np.zeros(2, np.float32), {"begins": True}

    def step(self, action: Any) -> Any:
        self._at += 1
        seen = np.full(2, self._at, np.float32)
        return seen, float(action[0]), self._at == self._steps, False, {"at": self._at}


def actor() -> Actor:
    """Does something else for each observation."""
    from tests.bridge.actor.test_actor import made

    return Actor.from_policy(made(Counting.observation_space, Counting.action_space))


def check(folder: Path, played: Any, lengths: list[int]) -> None:
    """What was kept is what was played, in the actions of modules and of the environment."""
    kept = list(open_dataset(folder).episodes())
    assert sorted(len(episode) for episode in kept) == sorted(lengths)
    assert sorted(e.get_return() for e in kept) == pytest.approx(sorted(played.returns))
    for episode in kept:
        steps = len(episode)
        seen = np.asarray(episode.get_observations())
        np.testing.assert_array_equal(seen[:, 0], np.arange(steps + 1))
        assert episode.is_terminated
        done = np.asarray(episode.get_extra_model_outputs("actions_for_env"))
        np.testing.assert_allclose(done[:, 0], np.asarray(episode.get_rewards()), rtol=1e-6)
        np.testing.assert_allclose(episode.get_actions(), done / 5.0 - 1.0, atol=1e-6)


def test_episodes_of_one_environment(tmp_path: Path) -> None:
    """Each step, its info and the last observation are kept."""
    played = actor().rollout(Counting(), episodes=3, record=tmp_path)
    check(tmp_path, played, [3, 3, 3])
    (first, *_) = open_dataset(tmp_path).episodes()
    assert first.get_infos(0) == {"begins": True}
    assert first.get_infos(3) == {"at": 3}


@pytest.mark.parametrize("mode", AUTORESETS)
def test_episodes_of_a_vector(mode: str | None, tmp_path: Path) -> None:
    """Of each environment as many as count, whenever it is reset."""
    options = {} if mode is None else {"autoreset_mode": gym.vector.AutoresetMode[mode]}
    vector = gym.vector.SyncVectorEnv([lambda n=n: Counting(n) for n in (2, 5)], **options)
    played = actor().rollout(vector, episodes=4, explore=True, record=tmp_path)
    check(tmp_path, played, [2, 2, 5, 5])


def test_episodes_of_several_agents(tmp_path: Path) -> None:
    """An agent's part ends where the agent does."""
    from tests.bridge.actor.test_actor import Parallel, made

    env = Parallel()
    policy = made(env.observation_space("a"), env.action_space("a"))
    Actor.from_policy(policy).rollout(env, episodes=2, record=tmp_path)
    kept = list(open_dataset(tmp_path).episodes())
    assert [
        {agent: (len(part), part.is_terminated) for agent, part in one.agent_episodes.items()}
        for one in kept
    ] == [{"a": (3, True), "b": (5, True)}] * 2


def test_a_cut_run_keeps_what_is_over(tmp_path: Path) -> None:
    """When the environment fails, the episodes before are there."""

    class Failing(Counting):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            if seed == 2:
                raise RuntimeError("out of order")
            return super().reset(seed=seed)

    with pytest.raises(RuntimeError, match="out of order"):
        actor().rollout(Failing(), episodes=5, record=tmp_path)
    assert len(list(open_dataset(tmp_path).episodes())) == 2
