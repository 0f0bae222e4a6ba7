"""An RLModule that unpacks a mask from a dict of observations."""

import gymnasium as gym
import numpy as np
from made import ACT, OBS
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.utils.framework import try_import_torch
from ray.rllib.utils.torch_utils import FLOAT_MIN

torch, nn = try_import_torch()


class ActionMaskingRLModule(RLModule):
    def __init__(
        self,
        observation_space=None,
        action_space=None,
        inference_only=None,
        learner_only=False,
        model_config=None,
        catalog_class=None,
        **kwargs,
    ):
        self.observation_space_with_mask = observation_space
        super().__init__(
            observation_space=observation_space["observations"],
            action_space=action_space,
            inference_only=inference_only,
            learner_only=learner_only,
            model_config=model_config,
            catalog_class=catalog_class,
            **kwargs,
        )


class ActionMaskingTorchRLModule(ActionMaskingRLModule, DefaultPPOTorchRLModule):
    def setup(self):
        super().setup()
        self._checked = False

    def _forward_inference(self, batch, **kwargs):
        mask, batch = self._unpack(batch)
        return self._mask(super()._forward_inference(batch, **kwargs), mask)

    def compute_values(self, batch, embeddings=None):
        if isinstance(batch[Columns.OBS], dict):
            _, batch = self._unpack(batch)
        return ValueFunctionAPI.compute_values and super().compute_values(batch, embeddings)

    def _unpack(self, batch):
        self._checked = True
        observations = batch[Columns.OBS]
        return observations["action_mask"], {**batch, Columns.OBS: observations["observations"]}

    def _mask(self, outs, mask):
        outs[Columns.ACTION_DIST_INPUTS] = outs[Columns.ACTION_DIST_INPUTS] + torch.clamp(
            torch.log(mask), min=FLOAT_MIN
        )
        return outs


def fill(module):
    with torch.no_grad():
        for index, (_, parameter) in enumerate(sorted(module.named_parameters())):
            values = torch.cos(torch.arange(parameter.numel()) + index) * 0.1
            parameter.copy_(values.reshape(parameter.shape))
    return module


def run():
    space = gym.spaces.Dict(
        {"observations": OBS, "action_mask": gym.spaces.Box(0.0, 1.0, (4,), np.float32)}
    )
    from ray.rllib.algorithms.ppo.ppo_catalog import PPOCatalog

    module = ActionMaskingTorchRLModule(
        observation_space=space,
        action_space=ACT,
        model_config=DefaultModelConfig(fcnet_hiddens=[8, 8]),
        catalog_class=PPOCatalog,
    )
    fill(module)
    batch = {
        Columns.OBS: {
            "observations": torch.linspace(-1, 1, 6).reshape(2, 3),
            "action_mask": torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1]]),
        }
    }
    with torch.no_grad():
        out = module.forward_inference(batch)[Columns.ACTION_DIST_INPUTS]
        values = module.compute_values(batch)
    return {
        "allowed": (out > -1e30).numpy(),
        "logits": torch.where(out > -1e30, out, torch.zeros_like(out)).numpy(),
        "values": values.numpy(),
        "checked": module._checked,
    }
