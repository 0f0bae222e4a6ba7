"""Catalogs that give another encoder, another head and another distribution."""

import gymnasium as gym
from made import ACT, OBS
from masked_actions import fill
from ray.rllib.algorithms.ppo.ppo_catalog import PPOCatalog
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.core.models.base import ACTOR, ENCODER_OUT
from ray.rllib.core.models.configs import MLPEncoderConfig, MLPHeadConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.framework import try_import_torch

torch, _ = try_import_torch()


class SmallCatalog(PPOCatalog):
    @classmethod
    def _get_encoder_config(cls, observation_space, **kwargs):
        return MLPEncoderConfig(
            input_dims=observation_space.shape,
            hidden_layer_dims=[5],
            hidden_layer_activation="tanh",
            output_layer_dim=6,
            output_layer_activation="linear",
        )

    def build_pi_head(self, framework):
        return MLPHeadConfig(
            input_dims=self.latent_dims,
            hidden_layer_dims=[7],
            hidden_layer_activation="relu",
            output_layer_dim=self.action_space.n,
            output_layer_activation="linear",
        ).build(framework=framework)


def run():
    spec = RLModuleSpec(
        module_class=DefaultPPOTorchRLModule,
        observation_space=OBS,
        action_space=ACT,
        model_config={"vf_share_layers": True},
        catalog_class=SmallCatalog,
    )
    module = fill(spec.build())
    batch = {Columns.OBS: torch.linspace(-1, 1, 6).reshape(2, 3)}
    with torch.no_grad():
        encoded = module.encoder(batch)[ENCODER_OUT][ACTOR]
        logits = module.forward_inference(batch)[Columns.ACTION_DIST_INPUTS]
    catalog = SmallCatalog(OBS, gym.spaces.Discrete(4), {"vf_share_layers": True})
    return {
        "latent": list(catalog.latent_dims),
        "encoded": encoded.numpy(),
        "logits": logits.numpy(),
        "distribution": catalog.get_action_dist_cls("torch").__name__,
    }
