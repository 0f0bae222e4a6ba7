"""A custom TorchModelV2 with view requirements, registered in the catalog."""

import gymnasium as gym
import numpy as np
from masked_actions import fill
from ray.rllib.models import ModelCatalog
from ray.rllib.models.torch.fcnet import FullyConnectedNetwork
from ray.rllib.models.torch.misc import SlimFC
from ray.rllib.models.torch.torch_modelv2 import TorchModelV2
from ray.rllib.policy.view_requirement import ViewRequirement
from ray.rllib.utils.framework import try_import_torch
from ray.rllib.utils.torch_utils import one_hot

torch, nn = try_import_torch()


class StackedModel(TorchModelV2, nn.Module):
    def __init__(self, obs_space, action_space, num_outputs, model_config, name, num_frames=2):
        nn.Module.__init__(self)
        super().__init__(obs_space, action_space, None, model_config, name)
        self.num_frames = num_frames
        self.num_outputs = num_outputs
        self.layer = SlimFC(num_frames * (3 + action_space.n), 5, activation_fn="relu")
        self.out = SlimFC(5, self.num_outputs)
        self.values = SlimFC(5, 1)
        self._last_value = None
        self.view_requirements["prev_n_obs"] = ViewRequirement(
            data_col="obs", shift=f"-{num_frames - 1}:0", space=obs_space
        )
        self.view_requirements["prev_n_actions"] = ViewRequirement(
            data_col="actions", shift=f"-{num_frames}:-1", space=self.action_space
        )

    def forward(self, input_dict, states, seq_lens):
        obs = input_dict["prev_n_obs"].reshape(-1, 3 * self.num_frames)
        actions = one_hot(input_dict["prev_n_actions"], self.action_space).float()
        joined = torch.cat([obs, actions.reshape(obs.shape[0], -1)], dim=-1)
        features = self.layer(joined)
        self._last_value = self.values(features)
        return self.out(features), []

    def value_function(self):
        return torch.squeeze(self._last_value, -1)


def run():
    ModelCatalog.register_custom_model("stacked_for_aliases", StackedModel)
    obs, act = gym.spaces.Box(-1, 1, (3,), np.float32), gym.spaces.Discrete(4)
    model = fill(StackedModel(obs, act, 4, {}, "stacked"))
    inputs = {
        "prev_n_obs": torch.linspace(-1, 1, 12).reshape(2, 2, 3),
        "prev_n_actions": torch.tensor([[0, 1], [2, 3]]),
    }
    inputs["obs"] = torch.zeros(2, 3)
    logits, _ = model(inputs, [], None)
    view = model.view_requirements["prev_n_obs"]
    plain = fill(
        FullyConnectedNetwork(
            obs,
            act,
            4,
            {
                "fcnet_hiddens": [6],
                "fcnet_activation": "tanh",
                "vf_share_layers": True,
                "no_final_linear": False,
                "free_log_std": False,
            },
            "plain",
        )
    )
    out, _ = plain(
        {"obs": torch.zeros(2, 3), "obs_flat": torch.linspace(-1, 1, 6).reshape(2, 3)}, [], None
    )
    return {
        "logits": logits.detach().numpy(),
        "values": model.value_function().detach().numpy(),
        "shift": [view.shift_from, view.shift_to],
        "column": view.data_col,
        "plain": out.detach().numpy(),
    }
