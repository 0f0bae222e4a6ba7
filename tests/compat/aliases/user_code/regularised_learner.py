"""A PPO learner with one more term in its loss."""

import gymnasium as gym
from masked_actions import fill
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.utils.annotations import override
from ray.rllib.utils.framework import try_import_torch

torch, _ = try_import_torch()


class WeightRegularizer(PPOTorchLearner):
    @override(PPOTorchLearner)
    def compute_loss_for_module(self, *, module_id, config, batch, fwd_out):
        base = super().compute_loss_for_module(
            module_id=module_id, config=config, batch=batch, fwd_out=fwd_out
        )
        parameters = self.get_parameters(self.module[module_id])
        mean_weight = torch.mean(torch.stack([torch.mean(torch.abs(p)) for p in parameters]))
        self.metrics.log_value((module_id, "mean_weight"), mean_weight.item(), window=1)
        return base + 0.1 * mean_weight


def run():
    env = gym.make("CartPole-v1")
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .learners(learner_class=WeightRegularizer)
        .training(entropy_coeff=0.01, vf_loss_coeff=0.5)
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[6], vf_share_layers=False))
    )
    learner = config.build_learner(env=env)
    module = learner.module["default_policy"]
    fill(module.unwrapped())
    batch = {
        Columns.OBS: torch.linspace(-1, 1, 12).reshape(3, 4),
        Columns.ACTIONS: torch.tensor([0, 1, 1]),
        Columns.ACTION_LOGP: torch.tensor([-0.7, -0.6, -0.8]),
        Columns.ACTION_DIST_INPUTS: torch.tensor([[0.1, 0.2], [0.0, 0.3], [-0.2, 0.1]]),
        Postprocessing.ADVANTAGES: torch.tensor([1.0, -1.0, 0.5]),
        Postprocessing.VALUE_TARGETS: torch.tensor([0.5, 0.2, -0.1]),
    }
    out = module.forward_train(batch)
    loss = learner.compute_loss_for_module(
        module_id="default_policy",
        config=config.get_config_for_module("default_policy"),
        batch=batch,
        fwd_out=out,
    )
    return {"class": type(learner).__name__, "loss": float(loss.detach())}
