"""Old-stack policies with custom models, by real Ray: checkpoints and what they compute."""
import json, sys, os, shutil
import numpy as np, torch, gymnasium as gym
from gymnasium.spaces import Box, Discrete, Dict, MultiDiscrete
from torch import nn
import ray
from ray.rllib.models import ModelCatalog
from ray.rllib.models.torch.torch_modelv2 import TorchModelV2
from ray.rllib.models.torch.recurrent_net import RecurrentNetwork
from ray.rllib.models.torch.fcnet import FullyConnectedNetwork
from ray.rllib.models.preprocessors import get_preprocessor
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.ppo_torch_policy import PPOTorchPolicy
from ray.rllib.algorithms.dqn.dqn_torch_policy import DQNTorchPolicy
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.policy.sample_batch import SampleBatch
OUT = sys.argv[1]

class Mlp(TorchModelV2, nn.Module):
    def __init__(self, o, a, n, c, name):
        TorchModelV2.__init__(self, o, a, n, c, name); nn.Module.__init__(self)
        self.fc1 = nn.Linear(4, 8); self.fc2 = nn.Linear(8, 8)
        self.policy_head = nn.Linear(8, n); self.value_head = nn.Linear(8, 1)
    def forward(self, d, s, l):
        x = torch.relu(self.fc1(d["obs"].float())); self._f = torch.relu(self.fc2(x))
        return self.policy_head(self._f), s
    def value_function(self): return self.value_head(self._f).squeeze(1)

class Gauss(TorchModelV2, nn.Module):
    def __init__(self, o, a, n, c, name):
        TorchModelV2.__init__(self, o, a, n, c, name); nn.Module.__init__(self)
        self.actor = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, n // 2))
        self.critic = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
        self.log_std = nn.Parameter(torch.randn(n // 2) * .3)
    def forward(self, d, s, l):
        self._o = d["obs_flat"].float(); m = self.actor(self._o)
        return torch.cat([m, self.log_std.expand_as(m)], -1), s
    def value_function(self): return self.critic(self._o).squeeze(-1)

class Conv(TorchModelV2, nn.Module):
    def __init__(self, o, a, n, c, name):
        TorchModelV2.__init__(self, o, a, n, c, name); nn.Module.__init__(self)
        self.conv = nn.Sequential(nn.Conv2d(3, 4, 4, 2), nn.ReLU(), nn.Conv2d(4, 4, 3, 1), nn.ReLU(), nn.Flatten())
        self.hidden = nn.Linear(4 * 5 * 5, 8); self.logits = nn.Linear(8, n); self.value = nn.Linear(8, 1)
    def forward(self, d, s, l):
        x = self.conv(d["obs"].float().permute(0, 3, 1, 2) / 255.0); self._f = torch.relu(self.hidden(x))
        return self.logits(self._f), s
    def value_function(self): return self.value(self._f).squeeze(1)

class Rnn(RecurrentNetwork, nn.Module):
    def __init__(self, o, a, n, c, name):
        nn.Module.__init__(self); super().__init__(o, a, n, c, name)
        self.fc1 = nn.Linear(4, 6); self.lstm = nn.LSTM(6, 5, batch_first=True)
        self.action_branch = nn.Linear(5, n); self.value_branch = nn.Linear(5, 1); self._f = None
    def get_initial_state(self): return [torch.zeros(5), torch.zeros(5)]
    def value_function(self): return torch.reshape(self.value_branch(self._f), [-1])
    def forward_rnn(self, x, state, l):
        x = nn.functional.relu(self.fc1(x))
        self._f, [h, c] = self.lstm(x, [state[0].unsqueeze(0), state[1].unsqueeze(0)])
        return self.action_branch(self._f), [h.squeeze(0), c.squeeze(0)]

class Mask(TorchModelV2, nn.Module):
    def __init__(self, o, a, n, c, name):
        orig = o.original_space
        TorchModelV2.__init__(self, o, a, n, c, name); nn.Module.__init__(self)
        self.internal_model = FullyConnectedNetwork(orig["observations"], a, n, c, name + "_internal")
    def forward(self, d, s, l):
        logits, _ = self.internal_model({"obs": d["obs"]["observations"]})
        return logits + torch.clamp(torch.log(d["obs"]["action_mask"]), min=torch.finfo(torch.float32).min), s
    def value_function(self): return self.internal_model.value_function()

class Slim(TorchModelV2, nn.Module):
    def __init__(self, o, a, n, c, name, hidden=8):
        from ray.rllib.models.torch.misc import SlimFC
        TorchModelV2.__init__(self, o, a, n, c, name); nn.Module.__init__(self)
        self._hidden_layers = nn.Sequential(SlimFC(5, hidden, activation_fn="elu"), SlimFC(hidden, hidden, activation_fn="elu"))
        self.norm = nn.LayerNorm(hidden)
        self._logits = SlimFC(hidden, n); self._value_branch = SlimFC(hidden, 1)
    def forward(self, d, s, l):
        self._f = self.norm(self._hidden_layers(d["obs_flat"].float()))
        return self._logits(self._f), s
    def value_function(self): return self._value_branch(self._f).squeeze(1)

class QNet(TorchModelV2, nn.Module):
    def __init__(self, o, a, n, c, name, **kw):
        TorchModelV2.__init__(self, o, a, n, c, name); nn.Module.__init__(self)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, n), nn.ReLU())
    def forward(self, d, s, l): return self.net(d["obs"].float()), s

CASES = {
 "mlp": (Mlp, Box(-1, 1, (4,)), Discrete(3), {}),
 "gauss": (Gauss, Box(-1, 1, (6,)), Box(-1, 1, (2,)), {}),
 "conv": (Conv, Box(0, 255, (16, 16, 3), np.uint8), Discrete(4), {}),
 "rnn": (Rnn, Box(-1, 1, (4,)), Discrete(3), {"max_seq_len": 5}),
 "mask": (Mask, Dict({"action_mask": Box(0, 1, (3,)), "observations": Box(-1, 1, (4,))}), Discrete(3), {"fcnet_hiddens": [8, 8], "fcnet_activation": "tanh", "vf_share_layers": False}),
 "slim": (Slim, Dict({"pos": Box(-1, 1, (3,)), "kind": Discrete(2)}), MultiDiscrete([2, 3]), {"custom_model_config": {"hidden": 8}}),
 "dqn": (QNet, Box(-1, 1, (4,)), Discrete(3), {"fcnet_hiddens": [8, 8]}),
}
rng = np.random.default_rng(7)
for name, (cls, obs, act, extra) in CASES.items():
    torch.manual_seed(3)
    ModelCatalog.register_custom_model("my_" + name, cls)
    is_q = name == "dqn"
    config = (DQNConfig() if is_q else PPOConfig()).api_stack(enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False).framework("torch").environment(None, observation_space=obs, action_space=act)
    if is_q: config.training(hiddens=[6], dueling=True, num_atoms=1)
    config.training(model={"custom_model": "my_" + name, **extra})
    config.validate() if False else None
    pre = get_preprocessor(obs)(obs)
    space = pre.observation_space
    d = config.to_dict(); d["num_gpus"] = 0
    policy = (DQNTorchPolicy if is_q else PPOTorchPolicy)(space, act, config)
    # weights far from their small beginnings, so that an activation shows
    w = policy.get_weights()
    policy.set_weights({k: (v + rng.normal(0, .5, v.shape).astype(np.float32)) for k, v in w.items()})
    if is_q: policy.update_target()
    raw = []
    for _ in range(3 if name == "conv" else 6):
        o = obs.sample()
        if name == "mask": o["action_mask"] = np.array([1, rng.integers(0, 2), 1], np.float32)
        raw.append(o)
    rows = np.stack([pre.transform(o) for o in raw])
    state = [np.zeros((len(rows),) + tuple(s.shape), np.float32) + .1 * (i + 1) for i, s in enumerate(policy.get_initial_state())]
    a, after, f = policy.compute_actions(rows, state_batches=state, explore=False)
    target = os.path.join(OUT, name); shutil.rmtree(target, ignore_errors=True)
    policy.export_checkpoint(target)
    rec = {"ray": ray.__version__, "obs": rows.tolist(), "state_in": [np.asarray(s).tolist() for s in state], "state_out": [np.asarray(s).tolist() for s in after],
      "actions": np.asarray(a).tolist() if not isinstance(a, tuple) else [np.asarray(x).tolist() for x in a]}
    for k in ("action_dist_inputs", "vf_preds", "q_values"):
        if k in f: rec[k] = np.asarray(f[k]).tolist()
    json.dump(rec, open(os.path.join(OUT, name + ".json"), "w"))
    print(name, {k: v.shape for k, v in policy.get_weights().items()}, sorted(os.listdir(target)))
