"""Optimisers by the names that strangers' learners read."""

import gymnasium as gym
import pytest
import torch
from rlconnect.v2 import PPOConfig, PPOTorchLearner, RLModuleSpec


class EverySecond(PPOTorchLearner):
    """Steps after every second minibatch, with the mean of the gradients."""

    count = 0

    def compute_gradients(self, loss_per_module, **kwargs):
        if self.count % 2 == 0:
            for optimizer in self._optimizer_parameters:
                optimizer.zero_grad(set_to_none=True)
        self.count += 1
        assert self._grad_scalers is None
        sum(loss_per_module.values()).backward()
        if self.count % 2:
            return {}
        return {ref: None if p.grad is None else p.grad / 2 for ref, p in self._params.items()}

    def apply_gradients(self, gradients_dict):
        if self.count % 2 == 0:
            super().apply_gradients(gradients_dict)


def learner_of(cls, **settings):
    """A built learner of CartPole."""
    config = PPOConfig().environment("CartPole-v1").learners(learner_class=cls)
    config = config.training(**settings)
    return config.build_learner(env=gym.make("CartPole-v1"))


@pytest.fixture
def batch():
    """Eight rows of a train batch."""
    rows = torch.Generator().manual_seed(0)
    return {
        "obs": torch.randn(8, 4, generator=rows),
        "actions": torch.zeros(8, dtype=torch.int64),
        "action_logp": torch.full((8,), -0.7),
        "action_dist_inputs": torch.zeros(8, 2),
        "advantages": torch.randn(8, generator=rows),
        "value_targets": torch.randn(8, generator=rows),
        "loss_mask": torch.tensor([True] * 6 + [False] * 2),
    }


def test_views_show_what_was_registered():
    """Names, parameters and modules of all optimisers are there."""
    learner = learner_of(PPOTorchLearner)
    optimizer = learner.get_optimizer()

    assert learner._named_optimizers == {"default_policy_default_optimizer": optimizer}
    assert learner._module_optimizers == {"default_policy": ["default_policy_default_optimizer"]}
    assert learner._optimizer_name_to_module == {
        "default_policy_default_optimizer": "default_policy"
    }
    assert set(learner._optimizer_parameters[optimizer]) == set(learner._params)


def test_gradients_can_be_gathered_over_minibatches(batch):
    """A learner that clears gradients by itself steps when it says so."""
    learner = learner_of(EverySecond)
    before = {k: v.copy() for k, v in learner.module["default_policy"].get_state().items()}

    learner.update(batch={"default_policy": batch}, minibatch_size=4, num_epochs=1)

    after = learner.module["default_policy"].get_state()
    assert learner.count == 2
    assert any((before[name] != after[name]).any() for name in before)


def test_a_learner_may_compute_with_fewer_bits(batch):
    """Losses under autocast are means over the rows that count, too."""

    class Halved(PPOTorchLearner):
        def _update(self, *args, **kwargs):
            with torch.amp.autocast("cpu", dtype=torch.bfloat16):
                return super()._update(*args, **kwargs)

    results = learner_of(Halved).update(batch={"default_policy": batch})

    assert torch.isfinite(torch.as_tensor(results["default_policy"]["total_loss"].peek()))


def test_a_module_described_by_one_that_acts_learns_whole():
    """A spec of an acting module, as self-play takes it, adds a module that can learn."""
    learner = learner_of(PPOTorchLearner)
    acting = learner.module["default_policy"]
    spec = RLModuleSpec.from_module(acting)
    spec.inference_only = True

    learner.add_module(module_id="next", module_spec=spec)

    assert not learner.module["next"].inference_only
