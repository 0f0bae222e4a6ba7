"""Vectors of environments in this process and in others: one behaviour, one way of surviving."""

import numpy as np
import pytest
from rlconnect.v2.envs.failures import EnvStepError
from rlconnect.v2.envs.process_envs import ProcessEnvs
from rlconnect.v2.envs.sync_envs import SyncEnvs

from ..env_runners.counting import Count, patience_until

KINDS = pytest.mark.parametrize("kind", [SyncEnvs, ProcessEnvs])


@pytest.fixture
def make():
    """Build a vector of counting environments; all are closed at the end."""
    made = []

    def build(kind, settings=None, count=2, **kwargs):
        made.append(kind([lambda: Count(settings)] * count, **kwargs))
        return made[-1]

    yield build
    for envs in made:
        envs.close()


@KINDS
def test_an_ended_episode_is_reset_in_the_next_step(make, kind):
    """That step has no reward, and the first observation of the new episode."""
    envs = make(kind)
    observations, infos = envs.reset_all(seed=3)
    assert np.array_equal(observations, [[0, 0], [0, 0]])
    assert infos == [{"episode": 0}] * 2
    made = [envs.advance(np.array([0, 0])) for _ in range(4)]
    assert [each.terminateds for each in made] == [[False] * 2] * 2 + [[True] * 2, [False] * 2]
    assert made[2].rewards == [3.0, 3.0]
    assert np.array_equal(made[3].observations, [[1, 0], [1, 0]])
    assert (made[3].rewards, made[3].infos) == ([0.0, 0.0], [{"episode": 1}] * 2)


@KINDS
def test_gymnasium_sees_a_vector_environment(make, kind):
    """`reset` and `step` give arrays and vectorised infos; attributes are reached by name."""
    envs = make(kind)
    observations, infos = envs.reset(seed=[5, 6])
    assert observations.shape == (2, 2)
    assert list(infos["episode"]) == [0, 0]
    _, rewards, terminateds, truncateds, infos = envs.step(np.array([1, 2]))
    assert (rewards.tolist(), terminateds.tolist(), truncateds.tolist()) == (
        [1.0, 1.0],
        [False] * 2,
        [False] * 2,
    )
    assert list(infos["time"]) == [1, 1]
    assert envs.get_attr("time") == (1, 1)
    assert [each[-1] for each in envs.get_attr("seeds")] == [5, 6]
    assert envs.observation_space.shape == (2, 2)
    assert envs.action_space.shape == (2,)


@KINDS
def test_an_environment_that_raises_is_an_error_with_its_place(make, kind):
    """What it raised is the cause."""
    envs = make(kind, {"raise_at": (0, 2)})
    envs.reset_all()
    envs.advance([0, 0])
    with pytest.raises(EnvStepError, match=r"environment 0 .*boom") as caught:
        envs.advance([0, 0])
    assert isinstance(caught.value.__cause__, ValueError)


@KINDS
def test_an_environment_that_raises_is_made_anew(make, kind):
    """No step is made there; the observation is the first of the next episode."""
    envs = make(kind, {"raise_at": (0, 2)}, is_restarting=True)
    envs.reset_all(seed=1)
    envs.advance([0, 0])
    made = envs.advance([0, 0])
    assert sorted(made.failed) == [0, 1]
    assert "boom" in made.failed[0]
    assert np.array_equal(made.observations, [[0, 0], [0, 0]])
    assert (made.rewards, made.truncateds) == ([0.0, 0.0], [False, False])
    assert envs.num_restarts == 2
    assert envs.advance([0, 0]).rewards == [1.0, 1.0]


def test_an_environment_that_hangs_is_ended_and_made_anew(tmp_path, monkeypatch):
    """The process that does not answer in time is killed; others lose nothing."""
    note = tmp_path / "note"
    monkeypatch.setattr("rlconnect.v2.envs.process_envs.wait", patience_until(note))
    makers = [lambda: Count({"hang_at": (0, 2), "hang_note": str(note)}), Count]
    envs = ProcessEnvs(makers, is_restarting=True, timeout=1.0)
    try:
        envs.reset_all()
        envs.advance([0, 0])
        made = envs.advance([0, 0])
        assert list(made.failed) == [0]
        assert "1.0 seconds" in made.failed[0]
        assert np.array_equal(made.observations, [[0, 0], [0, 2]])
    finally:
        envs.close()


def test_time_is_up_at_once_where_none_is_given():
    """An answer that is not there when its time is over is a failure."""
    envs = ProcessEnvs([lambda: Count({"hang_at": (0, 1)})])
    try:
        envs.reset_all()
        envs._timeout = 0.0
        with pytest.raises(EnvStepError, match=r"0\.0 seconds"):
            envs.advance([0])
    finally:
        envs._workers[0].process.kill()
        envs.close()


def test_a_process_that_dies_is_made_anew():
    """A killed process is a failed environment."""
    envs = ProcessEnvs([Count, Count], is_restarting=True)
    try:
        envs.reset_all()
        envs._workers[1].process.kill()
        envs._workers[1].process.join()
        made = envs.advance([0, 0])
        assert list(made.failed) == [1]
        assert made.rewards == [1.0, 0.0]
    finally:
        envs.close()


def test_an_environment_that_never_resets_ends_the_attempts():
    """Making it anew is tried a few times."""

    class Broken(Count):
        def reset(self, *, seed=None, options=None):
            raise RuntimeError("no reset")

    envs = SyncEnvs([Broken], is_restarting=True)
    with pytest.raises(EnvStepError, match=r"reset\(\).*no reset"):
        envs.reset_all()


def test_settings_reach_environments_in_processes(make):
    """`set_attr` and `call` go to each of them."""
    envs = make(ProcessEnvs)
    envs.set_attr("time", [4, 5])
    assert envs.call("get_wrapper_attr", "time") == (4, 5)


def test_an_error_that_does_not_pickle_is_told_as_text(make):
    """The traceback comes along."""

    class Odd(Count):
        def step(self, action):
            error = ValueError("strange")
            error.where = lambda: None
            raise error

    envs = ProcessEnvs([Odd])
    try:
        envs.reset_all()
        with pytest.raises(EnvStepError, match="strange"):
            envs.advance([0])
    finally:
        envs.close()
