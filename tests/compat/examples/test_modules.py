"""Modules of RLlib's examples, at work."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.compat.examples.action_masking import ActionMaskingTorchRLModule
from rlconnect.compat.examples.environments import ActionMaskEnv, MultiAgentCartPole
from rlconnect.compat.examples.lstm_module import LSTMContainingRLModule
from rlconnect.compat.examples.random_module import RandomRLModule
from rlconnect.core.errors import PieceError, SpaceError
from rlconnect.v2 import MultiRLModuleSpec, PPOConfig, RLModuleSpec

MASKED = Dict({"action_mask": Box(0.0, 1.0, (3,)), "observations": Box(-1, 1, (5,))})


def small(config):
    """A run of 32 steps an iteration."""
    config.env_runners(num_env_runners=0)
    return config.training(train_batch_size_per_learner=32, minibatch_size=32, num_epochs=1)


def test_random_actions_of_any_space():
    """A row for each observation, numpy or torch, nested or not."""
    space = gym.spaces.Dict({"a": Discrete(3), "b": Box(-1, 1, (2,))})
    module = RandomRLModule(action_space=space)

    by_name = module.forward_inference({"obs": {"x": np.zeros((4, 3))}})["actions"]
    of_tensors = module.forward_exploration({"obs": torch.zeros(2, 3)})["actions"]

    assert (by_name["a"].shape, by_name["b"].shape) == ((4,), (4, 2))
    assert all(space["b"].contains(row) for row in of_tensors["b"])
    with pytest.raises(PieceError, match="does not learn"):
        module.forward_train({"obs": np.zeros((4, 3))})


def test_learning_beside_a_random_module():
    """One module learns, the other one acts at random, and both are saved."""
    specs = {"p": RLModuleSpec(), "r": RLModuleSpec(module_class=RandomRLModule)}
    config = small(PPOConfig().environment(MultiAgentCartPole, env_config={"num_agents": 2}))
    config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=specs)).multi_agent(
        policies={"p", "r"},
        policy_mapping_fn=lambda agent, episode, **_: "r" if agent else "p",
        policies_to_train=["p"],
    )
    algo = config.build_algo()

    learnt = algo.train()["learners"]

    assert "total_loss" in learnt["p"]
    assert "total_loss" not in learnt.get("r", {})
    algo.stop()


def test_masked_actions_have_no_chance():
    """Logits where the mask is 0 are the lowest number, the others the network's; Ray 2.60."""
    module = ActionMaskingTorchRLModule(
        observation_space=MASKED, action_space=Discrete(3), model_config={}
    )
    mask = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    batch = {"obs": {"action_mask": mask, "observations": torch.ones(2, 5)}}

    logits = [
        forward(batch)["action_dist_inputs"]
        for forward in (module.forward_inference, module.forward_exploration, module.forward_train)
    ]

    assert all(torch.equal(each, logits[0]) for each in logits)
    assert torch.equal(logits[0] == -3.4e38, mask == 0)
    assert module.compute_values(batch).shape == (2,)
    assert module.observation_space == MASKED
    with pytest.raises(SpaceError, match="action_mask"):
        ActionMaskingTorchRLModule(observation_space=MASKED["observations"])


def test_learning_with_masks():
    """The environment refuses masked actions, so none was taken."""
    given = {"observation_space": Box(-1, 1, (5,)), "action_space": Discrete(4)}
    config = small(PPOConfig().environment(ActionMaskEnv, env_config=given))
    config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
    algo = config.build_algo()

    learnt = algo.train()["learners"]["default_policy"]

    assert np.isfinite(learnt["total_loss"])
    algo.stop()


def test_a_module_with_an_lstm_of_its_own(rng):
    """Logits and states have the batch's form, and values are the same with features or without."""
    module = LSTMContainingRLModule(
        observation_space=Box(-1, 1, (5,)),
        action_space=Discrete(4),
        model_config={"lstm_cell_size": 8, "dense_layers": [6]},
    )
    start = module.get_initial_state()
    state = {name: torch.from_numpy(part).repeat(3, 1) for name, part in start.items()}
    batch = {"obs": torch.from_numpy(rng.normal(size=(3, 2, 5)).astype(np.float32))}
    batch["state_in"] = state

    out = module.forward_train(batch)

    assert module.is_stateful()
    assert out["action_dist_inputs"].shape == (3, 2, 4)
    assert {name: tuple(part.shape) for name, part in out["state_out"].items()} == {
        "h": (3, 8),
        "c": (3, 8),
    }
    torch.testing.assert_close(
        module.compute_values(batch, embeddings=out["embeddings"]), module.compute_values(batch)
    )


def test_learning_with_an_lstm_of_ones_own():
    """PPO learns with it."""
    config = small(PPOConfig().environment("CartPole-v1"))
    config.rl_module(
        rl_module_spec=RLModuleSpec(
            module_class=LSTMContainingRLModule,
            model_config={"lstm_cell_size": 8, "dense_layers": [6], "max_seq_len": 8},
        )
    )
    algo = config.build_algo()

    result = algo.train()

    assert np.isfinite(result["learners"]["default_policy"]["total_loss"])
    algo.stop()
