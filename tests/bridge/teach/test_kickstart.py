"""A policy stands beside PPO's own loss for a while, as a setting of its config."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete
from rlconnect import Actor, kickstart, load
from rlconnect.bridge.front.load import as_policies
from rlconnect.core.errors import ConfigError, SpaceError
from rlconnect.v2 import PPO, BCConfig, PPOConfig, make_multi_agent

from tests.bridge.teach.rule import SMALL, Follow, Sign, recurrent, teacher

LABELS = "teacher_action_dist_inputs"


def config(**settings):
    return (
        PPOConfig()
        .environment(Sign)
        .env_runners(num_env_runners=0)
        .rl_module(model_config=SMALL)
        .training(train_batch_size=200, minibatch_size=100, num_epochs=4, lr=1e-2, **settings)
        .debugging(seed=0)
    )


def test_a_teacher_stands_beside_ppo_for_a_while():
    """Its divergence is told, weighs what the schedule says, and falls."""
    algorithm = config(teacher=teacher(), teacher_coeff=[[0, 5.0], [600, 0.0]]).build_algo()
    found = []

    for _ in range(5):
        result = algorithm.train()["learners"]["default_policy"]
        found.append((result["teacher_coeff"], result["teacher_kl"]))
    algorithm.stop()

    weights, apart = np.array(found).T
    assert weights[0] > weights[1] > 0
    assert weights[-1] == 0
    assert apart[2] < apart[0]
    assert torch.isfinite(torch.as_tensor(apart)).all()


def test_only_ppo_is_kickstarted():
    """Other algorithms have losses of their own."""
    with pytest.raises(ConfigError, match="PPO"):
        kickstart(BCConfig(), teacher())


def test_kickstart_is_that_setting():
    """The function and the setting are one thing."""
    old = teacher()

    made = kickstart(config(), old, 0.5)

    assert made.teacher is old
    assert made.teacher_coeff == 0.5


def test_a_path_stays_in_the_settings(tmp_path):
    """TOML tells the path; a policy itself cannot be told there."""
    made = config(teacher=tmp_path / "old", teacher_coeff=0.5)

    again = PPOConfig.from_toml(made.environment("CartPole-v1").to_toml())

    assert again.teacher == str(tmp_path / "old")
    assert again.teacher_coeff == 0.5
    with pytest.raises(ConfigError, match=r"training\.teacher \(a Policy\)"):
        made.training(teacher=teacher()).to_toml()


@pytest.mark.parametrize("kind", ["a path", "a policy"])
def test_a_checkpoint_tells_its_teacher_and_opens_none(tmp_path, kind):
    """What a file names is not opened; whoever goes on gives the teacher again, or none."""
    old = teacher()
    as_policies(old).save(tmp_path / "old")
    algorithm = config(teacher=tmp_path / "old" if kind == "a path" else old).build_algo()
    algorithm.train()
    algorithm.save(tmp_path / "run")
    algorithm.stop()

    settings = {"env": Sign}
    with pytest.warns(UserWarning, match="teacher"):
        bare = PPO.from_checkpoint(tmp_path / "run", settings=settings)
    with pytest.raises(ConfigError, match="not opened"):
        bare.train()
    for again in (tmp_path / "old", None):
        alone = PPO.from_checkpoint(tmp_path / "run", settings={**settings, "teacher": again})
        alone.train()
        assert (alone.env_runner.teaching is None) is (again is None)
        alone.stop()

    assert load(tmp_path / "run").only.native.module.action_space == Discrete(2)


@pytest.mark.parametrize("is_watched", [False, True], ids=["in rows", "step by step"])
@pytest.mark.parametrize("old", [teacher(), recurrent()], ids=["layers", "an LSTM"])
def test_it_says_what_it_would_do_at_each_step(old, is_watched):
    """In every way of sampling, over the ends of episodes and of calls."""
    made = config(teacher=old).env_runners(num_envs_per_env_runner=3)
    if is_watched:
        made.callbacks(on_episode_step=lambda **_: None)
    runner = made.build_algo().env_runner

    chunks = [*runner.sample(num_timesteps=40), *runner.sample(num_timesteps=70)]

    alone = Actor.from_policy(old)
    assert len({chunk.id_ for chunk in chunks}) < len(chunks)
    for chunk in sorted(chunks, key=lambda each: each.t_started):
        for seen, said in zip(
            chunk.get_observations()[:-1], chunk.get_extra_model_outputs(LABELS), strict=True
        ):
            _, fetches = alone.act_and_fetch(seen[None], env_ids=[chunk.id_])
            np.testing.assert_allclose(said, fetches["action_dist_inputs"][0], atol=1e-6)


def test_nobody_is_asked_while_evaluating():
    """A teacher is for those who learn."""
    made = config(teacher=teacher()).evaluation(evaluation_interval=1, evaluation_duration=1)
    algorithm = made.build_algo()

    assert algorithm.env_runner.teaching is not None
    assert algorithm.eval_env_runner.teaching is None


def test_what_was_saved_in_the_middle_goes_on_as_it_would(tmp_path):
    """The memory of a teacher is kept with the running episodes."""
    algorithm = config(teacher=recurrent()).build_algo()
    algorithm.train()
    algorithm.save(tmp_path / "run")
    expected = algorithm.train()["learners"]["default_policy"]["teacher_kl"]

    settings = {"env": Sign, "teacher": recurrent()}
    again = PPO.from_checkpoint(tmp_path / "run", settings=settings)

    assert again.train()["learners"]["default_policy"]["teacher_kl"] == pytest.approx(expected)


def test_each_module_may_have_a_teacher_of_its_own():
    """A module that none is named after learns by PPO alone."""
    made = (
        config(teacher={"p": teacher(), "r": recurrent()})
        .environment(make_multi_agent(Sign), env_config={"num_agents": 3})
        .multi_agent(
            policies={"p", "q", "r"}, policy_mapping_fn=lambda agent, *_, **__: "pqr"[agent]
        )
    )
    algorithm = made.build_algo()

    learners = algorithm.train()["learners"]

    assert {key for key in learners if "teacher_kl" in learners[key]} == {"p", "r"}
    (episode, *_) = algorithm.env_runner.sample(num_episodes=1)
    alone = Actor.from_policy(recurrent())
    single = episode.agent_episodes[2]
    for seen, said in zip(
        single.get_observations()[:-1], single.get_extra_model_outputs(LABELS), strict=True
    ):
        _, fetches = alone.act_and_fetch(seen[None], env_ids=[0])
        np.testing.assert_allclose(said, fetches["action_dist_inputs"][0], atol=1e-6)


def test_a_teacher_of_other_things_is_refused_when_it_is_built():
    """Before anything is sampled, with what differs."""
    with pytest.raises(SpaceError, match="sees other things") as refused:
        config(teacher=teacher(width=4)).build_algo()
    assert "feature" in str(refused.value)
    with pytest.raises(SpaceError, match="does other things"):
        config(teacher=teacher(Follow.action_space)).build_algo()
    with pytest.raises(ConfigError, match="a path, a policy"):
        config(teacher=3)
