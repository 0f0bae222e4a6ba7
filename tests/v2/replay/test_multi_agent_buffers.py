"""Steps of several agents: kept by module, drawn on their own."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError, EpisodeError
from rlconnect.v2 import (
    DQN,
    DQNConfig,
    MultiAgentEpisode,
    MultiAgentEpisodeReplayBuffer,
    MultiAgentPrioritizedEpisodeReplayBuffer,
    make_multi_agent,
)

KINDS = [MultiAgentEpisodeReplayBuffer, MultiAgentPrioritizedEpisodeReplayBuffer]
START = {"a": 0.0, "b": 100.0, "c": 200.0}


def episode(id_, steps=6):
    """One whose agents see and earn their number plus the step; two of them share a module."""
    made = MultiAgentEpisode(
        id_=id_,
        agent_to_module_mapping_fn=lambda agent, *_, **__: "one" if agent == "a" else "others",
    )
    made.add_env_reset(observations={key: np.array([n], np.float32) for key, n in START.items()})
    for step in range(steps):
        made.add_env_step(
            observations={key: np.array([n + step + 1], np.float32) for key, n in START.items()},
            actions=dict.fromkeys(START, step % 2),
            rewards={key: n + step for key, n in START.items()},
            terminateds={"__all__": step == steps - 1},
        )
    return made


def filled(kind, episodes=8, **settings):
    """A buffer of episodes of six steps."""
    buffer = kind(**{"capacity": 30, "seed": 1, **settings})
    for number in range(episodes):
        buffer.add(episode(f"{number}"))
    return buffer


@pytest.mark.parametrize("kind", KINDS)
def test_whole_episodes_go_with_all_their_agents(kind):
    """The capacity counts steps of environments; what is left is the newest."""
    buffer = filled(kind)

    assert (len(buffer), buffer.get_num_episodes(), buffer.get_num_episodes_evicted()) == (30, 5, 3)
    assert (buffer.get_num_timesteps("one"), buffer.get_num_timesteps("others")) == (30, 60)
    assert (buffer.get_num_episodes("others"), buffer.get_num_agent_timesteps()) == (10, 90)
    assert sorted(buffer.get_module_ids()) == ["one", "others"]
    assert buffer.get_added_timesteps() == 48


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_those_of_the_agents(kind):
    """So many of each module, each a step of an episode that is held."""
    buffer = filled(kind)

    drawn = buffer.sample(40, n_step=2, gamma=0.5)

    assert [each.module_id for each in drawn] == ["one"] * 40 + ["others"] * 40
    assert len({each.multi_agent_episode_id for each in drawn}) == 80
    for each in drawn:
        first = each.get_observations(0)[0]
        steps = each.get_extra_model_outputs("n_step", 0)
        assert first - START[each.agent_id] == each.t_started
        assert each.get_observations(-1)[0] == first + steps
        assert each.get_rewards(0) == first + (steps == 2) * 0.5 * (first + 1)
        assert each.is_terminated == (each.t_started + steps == 6)
        assert int(each.multi_agent_episode_id.split("_")[0]) >= 3


def test_only_some_modules_are_drawn_from():
    """As `modules_to_sample` says; others are told."""
    buffer = filled(MultiAgentEpisodeReplayBuffer)

    drawn = buffer.sample(5, n_step=1, modules_to_sample=["others"])

    assert {each.module_id for each in drawn} == {"others"}
    with pytest.raises(EpisodeError, match="'nobody'"):
        buffer.sample(5, n_step=1, modules_to_sample=["nobody"])
    with pytest.raises(ConfigError, match="independent"):
        buffer.sample(5, n_step=1, replay_mode="synchronized")


@pytest.mark.parametrize("kind", KINDS)
def test_it_comes_back_as_it_was(kind):
    """The same draws follow."""
    buffer = filled(kind)
    other = kind(capacity=30)

    other.set_state(buffer.get_state())

    for each in (buffer, other):
        each.add(episode("new"))
    ours, theirs = (
        [(e.agent_id, e.t_started, e.id_) for e in each.sample(30, n_step=2)]
        for each in (buffer, other)
    )
    assert [one[:2] for one in ours] == [one[:2] for one in theirs]
    assert (len(buffer), buffer.get_num_episodes_evicted()) == (30, 4)
    assert (len(other), other.get_num_episodes_evicted()) == (30, 4)


def several(**buffer):
    """DQN of two modules for three agents."""
    return (
        DQNConfig()
        .environment(make_multi_agent("CartPole-v1"), env_config={"num_agents": 3})
        .env_runners(num_env_runners=0)
        .multi_agent(
            policies={"even", "odd"},
            policy_mapping_fn=lambda agent, *_, **__: "odd" if int(agent) % 2 else "even",
        )
        .training(
            num_steps_sampled_before_learning_starts=20,
            train_batch_size=8,
            n_step=2,
            replay_buffer_config={"capacity": 60, **buffer},
        )
        .rl_module(model_config={"fcnet_hiddens": [8]})
        .reporting(min_sample_timesteps_per_iteration=40)
        .debugging(seed=3)
    )


def test_errors_of_each_module_become_its_priorities():
    """Row by row: the error of a step is that step's next priority."""
    algo = several(type="MultiAgentPrioritizedEpisodeReplayBuffer", alpha=1.0).build_algo()
    algo.train()
    buffer, seen = algo.local_replay_buffer, {}
    plain = buffer.update_priorities

    def noted(errors, module_id):
        own = buffer.buffers[module_id]
        seen[module_id] = own._last_drawn.copy(), np.array(errors)
        plain(errors, module_id)

    buffer.update_priorities = noted
    learner, batches = algo.learner_group._learner, {}
    loss = learner.compute_loss_for_module

    def looked(**given):
        batches[given["module_id"]] = given["batch"]["obs"].numpy()
        return loss(**given)

    learner.compute_loss_for_module = looked

    algo.training_step()

    for module_id, (rows, errors) in seen.items():
        own = buffer.buffers[module_id]
        np.testing.assert_array_equal(own._rows.columns["obs"][rows], batches[module_id])
        by_row = dict(zip(rows.tolist(), errors, strict=True))
        np.testing.assert_allclose(
            own._priorities.get(np.array([*by_row])), np.maximum([*by_row.values()], 1e-12)
        )
    assert set(seen) == {"even", "odd"}
    algo.stop()


def test_a_buffer_for_one_agent_is_refused_for_several():
    """And the other way round; the error says which one to set."""
    with pytest.raises(ConfigError, match="MultiAgentPrioritizedEpisodeReplayBuffer"):
        several().validate()
    one = DQNConfig().environment(
        observation_space=Box(-1.0, 1.0, (2,), np.float32), action_space=Discrete(2)
    )
    one.training(replay_buffer_config={"type": "MultiAgentEpisodeReplayBuffer"})
    with pytest.raises(ConfigError, match="'EpisodeReplayBuffer'"):
        one.validate()


def test_a_run_of_several_agents_trains_and_tells():
    """Every module learns, and what its buffer counts is told by module."""
    algo = several(type="MultiAgentEpisodeReplayBuffer").build_algo()

    result = algo.train()

    assert isinstance(algo, DQN)
    assert all(np.isfinite(result["learners"][key]["qf_loss"]) for key in ("even", "odd"))
    assert result["replay_buffer"]["even"]["num_env_steps_added"] > 40
    algo.stop()
