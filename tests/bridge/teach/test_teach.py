"""A policy teaches another network what it does, alone or beside PPO's own loss."""

import errno
import os

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect import Actor, adapt, load, rollout, teach
from rlconnect.bridge.teach import student as students
from rlconnect.bridge.teach.recorded_env import over_and_over
from rlconnect.bridge.teach.taught import Lesson, is_enough
from rlconnect.core.adapters import MapActions
from rlconnect.core.errors import (
    CheckpointWriteError,
    ConfigError,
    EpisodeError,
    PieceError,
    SpaceError,
)
from rlconnect.v2 import MeanStdFilter, PPOConfig, make_multi_agent
from rlconnect.v2.learning.update_losses import LossError

from tests.bridge.teach.rule import SEEN, SMALL, Follow, Sign, recurrent, teacher
from tests.core.vault.recorded import ROOT


def config(**model):
    return PPOConfig().environment(Sign).rl_module(model_config={**SMALL, **model})


def taught(student, **words):
    settings = {"steps": 4_000, "round_steps": 500, "num_envs": 8, "episodes": 10, "until": 0.95}
    return teach(student, words.pop("teacher", None) or teacher(), **{**settings, **words})


@pytest.mark.parametrize(
    "model", [{}, {"use_lstm": True, "lstm_cell_size": 8}], ids=["layers", "an LSTM"]
)
def test_another_network_learns_what_the_teacher_does(model):
    """It agrees nearly always, and earns what the teacher earns."""
    told = []

    found = taught(config(**model), progress=told.append)

    assert found.is_reached, str(found)
    assert found.lessons[-1].agreement >= 0.95
    assert tuple(told) == found.lessons
    assert found.student_returns.mean >= 0.9 * found.teacher_returns.mean
    assert found.teacher_returns.mean > found.random_returns.mean
    assert found.to_dict()["returns"]["student"]["mean"] == found.student_returns.mean
    assert "reached" in str(found)


def test_numbers_are_taught_as_well():
    """Means of continuous actions come near the teacher's."""
    student = PPOConfig().environment(Follow).rl_module(model_config=SMALL)

    found = taught(student, teacher=teacher(Follow.action_space), until=0.9)

    assert found.lessons[-1].agreement > found.lessons[0].agreement
    assert found.is_reached, str(found)


def test_the_student_sees_through_its_own_pieces():
    """Its filter stands behind the teacher, who sees what the environment gives."""
    student = config().env_runners(env_to_module_connector=lambda *_: MeanStdFilter())

    found = taught(student)

    names = [type(piece).__name__ for piece in found.student.env_to_module.connectors]
    assert names[0] == "MeanStdFilter"
    assert found.is_reached, str(found)


def test_a_filter_counts_at_first_and_stands_still_for_the_lessons(tmp_path):
    """What it makes of a state stays; a student that comes with counts keeps them."""
    student = config().env_runners(env_to_module_connector=lambda *_: MeanStdFilter())

    found = taught(student, steps=2_000, round_steps=200, until=1.0)

    (piece,) = found.student.env_to_module["MeanStdFilter"]
    assert 250 <= piece.num_counted < 500  # an eighth, in whole rounds, and resets
    assert piece.update_stats
    counted = piece.num_counted

    found.save(tmp_path / "student")
    again = taught(tmp_path / "student", steps=400, round_steps=200, until=1.0, env=Sign)

    assert again.lessons[0].agreement > 0.7
    (piece,) = again.student.env_to_module["MeanStdFilter"]
    assert piece.num_counted == counted


def test_an_environment_plays_in_its_own_vector():
    """One that brings a vectorised form is played in that, if the student's config says so."""
    student = PPOConfig().environment("CartPole-v1").rl_module(model_config=SMALL)
    student.env_runners(gym_env_vectorize_mode="vector_entry_point")
    cart = load(ROOT / "examples/checkpoints/ppo-cartpole-ray-2.7").only

    found = taught(student, teacher=cart, steps=400, round_steps=200, episodes=2)

    assert len(found.lessons) == 2
    assert found.teacher_returns.mean == 500


def test_it_is_saved_taught_on_and_plays(tmp_path):
    """The folder loads, plays as the student did, and is a student again."""
    found = taught(config(), steps=2_000, until=1.0)
    found.save(tmp_path / "student")

    played = rollout(load(tmp_path / "student").only, Sign, episodes=10, seed=0)
    again = taught(tmp_path / "student", env=Sign, steps=500, until=0.0)

    assert played.returns == found.student_returns.returns
    assert again.lessons[0].agreement > found.lessons[0].agreement + 0.1
    from_triple = taught(found.student, env=Sign, steps=500, until=0.0)
    assert from_triple.lessons[0].agreement == pytest.approx(again.lessons[0].agreement, abs=0.1)


def test_each_episode_has_the_memory_of_a_recurrent_teacher():
    """What it says at a step is what it would have done, had it lived through the episode."""
    old = recurrent()
    lived = []
    student = config().env_runners(num_envs_per_env_runner=2)
    student.callbacks(on_episode_end=lambda *, episode, **_: lived.append(episode.to_numpy()))

    taught(student, teacher=old, steps=100, round_steps=100, until=0.0)

    alone = Actor.from_policy(old)
    for episode in lived[:4]:
        alone.reset()
        rows = []
        for seen in episode.get_observations()[:-1]:
            _, fetches = alone.act_and_fetch(seen[None], env_ids=[0])
            rows.append(fetches["action_dist_inputs"][0])
        said = episode.get_extra_model_outputs("teacher_action_dist_inputs")
        np.testing.assert_allclose(said, rows, atol=1e-6)


def test_a_teacher_for_something_else_is_refused():
    """What it sees, what it does, how well it does it, and where it would be asked."""
    with pytest.raises(SpaceError, match="sees other things"):
        taught(config(), teacher=teacher(width=4))
    with pytest.raises(SpaceError, match="does other things"):
        taught(config(), teacher=teacher(Discrete(2, start=1)), env=_with(Discrete(4)))
    with pytest.raises(ConfigError, match="worse than random"):
        taught(config(), teacher=teacher(factor=-3.0))
    with pytest.raises(ConfigError, match="live environment"):
        taught(config(), env=Sign())
    with pytest.raises(ConfigError, match="needs an environment"):
        taught(PPOConfig())


def _with(actions):
    class Other(Sign):
        action_space = actions

    return Other


def test_a_network_for_other_actions_is_refused():
    """A teacher behind an adapter of actions has to be grafted first."""
    three = _with(Discrete(3))
    adapted = adapt(
        teacher(), observation_space=SEEN, action_space=Discrete(3), action=MapActions([0, 1], 3)
    )
    with pytest.raises(PieceError, match="graft"):
        taught(config(), teacher=adapted, env=three)


def test_a_loss_that_is_no_number_leaves_the_student_of_the_round_before(tmp_path, monkeypatch):
    """The update is named, and what lies on disk is whole."""
    told = []

    def spoil(lesson):
        told.append(load(tmp_path / "new").only.native.module.get_state())
        monkeypatch.setattr(
            students, "teacher_kl", lambda module, batch, out: batch["teacher_values"] * np.nan
        )

    with pytest.raises(LossError, match="update 2"):
        taught(config(), until=1.0, progress=spoil, out=tmp_path / "new")

    kept = load(tmp_path / "new").only.native.module.get_state()
    assert len(told) == 1
    assert all(np.array_equal(kept[name], told[0][name]) for name in kept)


def test_a_full_disk_leaves_the_student_of_the_round_before(tmp_path, monkeypatch):
    """The error gives the disk's reason, and what lies there is whole."""
    told = []

    def fill(lesson):
        told.append(load(tmp_path / "new").only.native.module.get_state())
        monkeypatch.setattr(os, "fsync", refused)

    def refused(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(CheckpointWriteError, match="no space left"):
        taught(config(), until=1.0, progress=fill, out=tmp_path / "new")

    kept = load(tmp_path / "new").only.native.module.get_state()
    assert len(told) == 1
    assert all(np.array_equal(kept[name], told[0][name]) for name in kept)
    assert os.listdir(tmp_path) == ["new"]


def test_one_good_round_is_not_enough():
    """Its states may have been easy ones."""
    poor, good = (Lesson(0, agreement, 0.0) for agreement in (0.9, 0.99))

    assert not is_enough([good, poor, good], 0.98)
    assert is_enough([poor, good, good], 0.98)


def test_a_student_without_memory_is_told_that_its_teacher_has_one():
    """It may agree less often for that."""
    found = taught(config(), teacher=recurrent(), steps=50, round_steps=50, until=0.0)
    alike = taught(config(), steps=50, round_steps=50, until=0.0)

    assert "remembers" in str(found)
    assert not alike.remark


def test_a_teacher_of_actions_alone_is_followed():
    """One that is not stretched, one that an adapter gives other numbers, and an exported one."""
    swapped = adapt(
        teacher(factor=-3.0),
        observation_space=SEEN,
        action_space=Discrete(2),
        action=MapActions([1, 0], 2),
    )
    assert taught(config(), teacher=swapped).is_reached


def test_recorded_steps_are_learnt_from(tmp_path):
    """Nobody plays meanwhile; the episodes come round again, and what they earn stays theirs."""
    pytest.importorskip("pyarrow")
    rollout(recurrent(), Sign, episodes=30, explore=True, record=tmp_path / "lived")

    found = taught(config(), data=tmp_path / "lived")

    assert found.is_reached, str(found)
    assert found.lessons[-1].steps > 300
    assert found.student_returns.mean >= 0.9 * found.teacher_returns.mean


def test_no_episodes_teach_nothing():
    """That is told, and not waited for."""

    class Empty:
        def recordings(self):
            return iter(())

    with pytest.raises(EpisodeError, match="no episodes"):
        next(over_and_over(Empty()))


def test_numbers_in_other_units_are_taught():
    """What an old policy gives in an environment's own numbers, a student gives in [-1, 1]."""

    class Wide(Follow):
        action_space = Box(-4, 4, (1,), np.float32)

        def _worth(self, action):
            return float(4 - abs(np.asarray(action).item() - self.seen[0]))

    old = teacher(Wide.action_space, factor=6.0, normalize_actions=False)
    student = PPOConfig().environment(Wide).rl_module(model_config=SMALL)

    found = taught(student, teacher=old, until=0.9)

    assert found.is_reached, str(found)
    assert found.student_returns.mean >= 0.9 * found.teacher_returns.mean


def several(*names):
    """Agents of the same kind, each played by the policy of its place."""
    student = PPOConfig().environment(make_multi_agent(Sign), env_config={"num_agents": len(names)})
    return student.rl_module(model_config=SMALL).multi_agent(
        policies=set(names), policy_mapping_fn=lambda agent, *_, **__: names[agent]
    )


def test_several_agents_are_taught_in_one_environment(tmp_path):
    """By one teacher; their policies are saved side by side with who plays whom, and play."""
    found = taught(several("p", "q"), until=0.9)
    found.save(tmp_path / "students")

    assert found.is_reached, str(found)
    assert set(found.student) == {"p", "q"}
    assert found.student_returns.mean >= 0.9 * found.teacher_returns.mean
    players = Actor.from_checkpoint(tmp_path / "students")
    env = make_multi_agent(Sign)({"num_agents": 2})
    assert rollout(players, env, episodes=10, seed=0).returns == found.student_returns.returns


def test_several_teachers_teach_those_of_their_names():
    """Each student does what its own teacher does; one that has none is named."""
    student = several("p", "p", "q")
    contrary = teacher(factor=-3.0)

    found = taught(student, teacher={"p": teacher(), "q": contrary}, until=0.9)

    assert found.is_reached, str(found)
    with pytest.raises(ConfigError, match="nobody teaches 'q'"):
        taught(student, teacher={"p": teacher(), "r": contrary})


def test_a_student_of_one_agent_is_not_put_among_several():
    """The error says how it is told who plays whom."""
    with pytest.raises(ConfigError, match="policy_mapping_fn"):
        taught(config(), env=make_multi_agent(Sign))
