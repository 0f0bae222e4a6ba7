"""Several modules: they train side by side, come, go, and are resumed."""

import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import Algorithm, PPOConfig, RLModuleSpec, make_multi_agent

from tests.v2.algorithms.algorithm_cases import small


def by_number(agent_id, episode, **kwargs):
    """Agent 0 has p0, agent 1 has p1."""
    return f"p{agent_id}"


def config():
    """Two CartPoles, a module each."""
    return (
        PPOConfig()
        .environment(make_multi_agent("CartPole-v1"), env_config={"num_agents": 2})
        .multi_agent(policies={"p0", "p1"}, policy_mapping_fn=by_number)
        .env_runners(num_env_runners=0, batch_mode="complete_episodes")
        .training(train_batch_size=60, minibatch_size=30, num_epochs=1)
        .rl_module(model_config={"fcnet_hiddens": [8]})
        .debugging(seed=1)
    )


def test_a_module_comes_and_goes():
    """A new module acts for the agents mapped to it and learns; removed, it does neither."""
    algo = config().build_algo()
    algo.train()
    known = algo.get_module("p0")
    spec = RLModuleSpec(
        module_class=type(known),
        observation_space=known.observation_space,
        action_space=known.action_space,
        model_config={"fcnet_hiddens": [8]},
    )

    algo.add_module(
        "p2",
        spec,
        new_agent_to_module_mapping_fn=lambda agent_id, episode, **kwargs: f"p{agent_id + 1}",
    )
    result = algo.train()

    assert result["learners"]["p2"]["num_module_steps_trained"] > 0
    assert result["env_runners"]["num_module_steps_sampled"]["p2"] > 0
    algo.remove_module("p2", new_agent_to_module_mapping_fn=by_number)
    assert algo.get_module("p2") is None
    algo.train()
    algo.stop()


def test_a_run_of_several_goes_on_exactly(tmp_path):
    """All modules, and the random numbers of environments inside of environments."""
    algo = config().build_algo()
    algo.train()
    path = algo.save_to_path(tmp_path / "a")
    expected = [algo.train()["learners"][each]["total_loss"] for each in ("p0", "p1")]
    resumed = Algorithm.from_checkpoint(path, config=config())
    assert [resumed.train()["learners"][each]["total_loss"] for each in ("p0", "p1")] == expected
    algo.stop()
    resumed.stop()


def test_a_single_agent_run_has_one_module():
    """Adding one to it is told to be impossible."""
    algo = small().build_algo()
    with pytest.raises(ConfigError, match="multi-agent"):
        algo.add_module("p", RLModuleSpec())
    algo.stop()
