"""Gymnasium's vectors in this process and in others: one behaviour, one way of restarting."""

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from rlconnect.core.errors import SpaceError
from rlconnect.v2 import PPOConfig
from rlconnect.v2.envs.failures import EnvStepError
from rlconnect.v2.envs.vectorising import make_vector_env

from ..env_runners.counting import POLL, Count, patience_until

KINDS = pytest.mark.parametrize("kind", ["sync", "async"])


@pytest.fixture
def make():
    """Build a vector of counting environments; all are closed at the end."""
    made = []

    def build(kind, settings=None, env=Count, is_restarting=False, timeout=None):
        config = PPOConfig().environment(env, env_config=settings or {})
        config.env_runners(num_envs_per_env_runner=2, gym_env_vectorize_mode=kind)
        config.fault_tolerance(
            restart_failed_sub_environments=is_restarting, env_step_timeout_s=timeout
        )
        made.append(make_vector_env(config).stepper)
        return made[-1]

    yield build
    for envs in made:
        if not envs.vector_env.closed:
            envs.vector_env.close()


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
def test_gymnasium_makes_the_vector(make, kind):
    """Infos come back as they were."""
    envs = make(kind, {"info": {"pair": (1, 2.5), "deep": {"a": None}}})
    assert type(envs.vector_env) is {"sync": SyncVectorEnv, "async": AsyncVectorEnv}[kind]
    envs.reset_all(seed=[5, 6])
    assert (
        envs.advance(np.array([1, 2])).infos
        == [{"time": 1, "pair": (1, 2.5), "deep": {"a": None}}] * 2
    )
    assert envs.vector_env.get_attr("time") == (1, 1)
    assert [each[-1] for each in envs.vector_env.get_attr("seeds")] == [5, 6]
    envs.vector_env.set_attr("time", [4, 5])
    assert envs.vector_env.call("get_wrapper_attr", "time") == (4, 5)


@KINDS
def test_an_environment_that_raises_is_an_error_with_its_place(make, kind):
    """What it raised is the cause."""
    envs = make(kind, {"raise_at": (0, 2)})
    envs.reset_all()
    envs.advance([0, 0])
    with pytest.raises(EnvStepError, match=r"environment 0 .*boom") as caught:
        envs.advance([0, 0])
    assert isinstance(caught.value.__cause__, ValueError)
    envs.reset_all()
    assert envs.advance([0, 0]).rewards == [1.0, 1.0]


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


@KINDS
def test_a_vector_resumes_in_the_middle_of_an_episode(make, kind):
    """The step after the end of an episode is a reset there, too, and seeds continue."""
    envs, other = make(kind), make(kind)
    envs.reset_all(seed=1)
    for _ in range(3):
        envs.advance([0, 0])
    other.reset_all()
    other.advance([0, 0])
    assert other.remember(envs.memory())
    for _ in range(6):
        one, two = envs.advance([0, 0]), other.advance([0, 0])
        assert np.array_equal(one.observations, two.observations)
        assert one[1:] == two[1:]


@KINDS
def test_an_observation_that_does_not_fit_is_reported(make, kind):
    """The error names the environment and the reason."""

    class Wide(Count):
        def reset(self, *, seed=None, options=None):
            return np.zeros(3, np.float32), {}

    with pytest.raises(SpaceError, match=r"environment 0 .*expected shape \(2,\), found \(3,\)"):
        make(kind, env=Wide).reset_all()


def test_an_environment_that_hangs_is_ended(make, tmp_path, monkeypatch):
    """Its process is killed; all environments of the vector start a new episode."""
    note = tmp_path / "note"
    monkeypatch.setattr(AsyncVectorEnv, POLL, patience_until(note))
    settings = {"hang_at": (0, 2), "hang_note": str(note)}
    envs = make("async", settings, is_restarting=True, timeout=1.0)
    envs.reset_all()
    envs.advance([0, 0])
    processes = envs.vector_env.processes
    made = envs.advance([0, 0])
    assert list(made.failed) == [0, 1]
    assert "within 1.0 seconds" in made.failed[0]
    assert np.array_equal(made.observations, [[0, 0], [0, 0]])
    assert not any(each.is_alive() for each in processes)
    assert envs.advance([0, 0]).rewards == [1.0, 1.0]


@pytest.mark.parametrize("is_restarting", [False, True])
def test_a_process_that_dies_is_found(make, is_restarting):
    """A killed process ends the vector, which starts again if that is wanted."""
    envs = make("async", is_restarting=is_restarting)
    envs.reset_all()
    envs.vector_env.processes[1].kill()
    envs.vector_env.processes[1].join()
    if is_restarting:
        assert "exit code -9" in envs.advance([0, 0]).failed[0]
    else:
        with pytest.raises(EnvStepError, match=r"environment 1 .*exit code -9"):
            envs.advance([0, 0])
        envs.reset_all()
    assert envs.advance([0, 0]).rewards == [1.0, 1.0]


def test_an_environment_that_never_resets_ends_the_attempts(make):
    """Making it anew is tried a few times."""

    class Broken(Count):
        def reset(self, *, seed=None, options=None):
            raise RuntimeError("no reset")

    envs = make("sync", env=Broken, is_restarting=True)
    with pytest.raises(EnvStepError, match=r"reset\(\).*no reset"):
        envs.reset_all()


def test_an_error_that_does_not_pickle_is_told_as_text(make):
    """The message comes along."""

    class Odd(Count):
        def step(self, action):
            error = ValueError("strange")
            error.where = lambda: None
            raise error

    envs = make("async", env=Odd)
    envs.reset_all()
    with pytest.raises(EnvStepError, match="strange"):
        envs.advance([0, 0])
