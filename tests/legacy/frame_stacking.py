"""The custom model of one recording, importable where only Ray is."""

import torch
from rlconnect.legacy import TorchModelV2, ViewRequirement
from torch import nn


class FrameStacking(TorchModelV2, nn.Module):
    """A user's model that looks at the last observations, actions and rewards."""

    def __init__(self, obs_space, action_space, num_outputs, model_config, name, num_frames=1):
        TorchModelV2.__init__(self, obs_space, action_space, num_outputs, model_config, name)
        nn.Module.__init__(self)
        self.num_frames = num_frames
        width = num_frames * (obs_space.shape[0] + action_space.n + 1)
        self.layer1 = nn.Linear(width, 24)
        self.out = nn.Linear(24, num_outputs)
        self.values = nn.Linear(24, 1)
        past = f"-{num_frames}:-1"
        self.view_requirements["prev_n_obs"] = ViewRequirement(
            "obs", shift=f"-{num_frames - 1}:0", space=obs_space
        )
        self.view_requirements["prev_n_rewards"] = ViewRequirement("rewards", shift=past)
        self.view_requirements["prev_n_actions"] = ViewRequirement(
            "actions", shift=past, space=self.action_space
        )

    def forward(self, input_dict, states, seq_lens):
        actions = nn.functional.one_hot(
            input_dict["prev_n_actions"].long(), self.action_space.n
        ).float()
        seen = [input_dict["prev_n_obs"], actions, input_dict["prev_n_rewards"]]
        flat = torch.cat([part.float().flatten(1) for part in seen], 1)
        features = torch.relu(self.layer1(flat))
        self._value = self.values(features)
        return self.out(features), states

    def value_function(self):
        return self._value.squeeze(1)


MODELS = {"legacy_framestack": FrameStacking}
