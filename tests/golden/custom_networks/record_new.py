"""New-stack modules of their authors', by real Ray."""
import json, sys, os, shutil
import numpy as np, torch
from gymnasium.spaces import Box, Discrete, Dict
from torch import nn
import ray
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.columns import Columns
OUT = sys.argv[1]
class TinyCnn(TorchRLModule, ValueFunctionAPI):
    def setup(self):
        layers, c = [], 2
        for out, k, s in [(4, 4, 2), (6, 3, 1)]:
            layers += [nn.Conv2d(c, out, k, s), nn.ReLU()]; c = out
        self._cnn = nn.Sequential(*layers, nn.Flatten()); self._fc = nn.Sequential(nn.Linear(6 * 2 * 2, 8), nn.Tanh())
        self._logits = nn.Linear(8, self.action_space.n); self._values = nn.Linear(8, 1)
    def _emb(self, b):
        return self._fc(self._cnn(b[Columns.OBS].float().permute(0, 3, 1, 2)))
    def _forward(self, b, **kw): return {Columns.ACTION_DIST_INPUTS: self._logits(self._emb(b))}
    def compute_values(self, b, embeddings=None): return self._values(self._emb(b)).squeeze(-1)
class TinyLstm(TorchRLModule, ValueFunctionAPI):
    def setup(self):
        self._fc_net = nn.Sequential(nn.Linear(3, 6), nn.ReLU())
        self._lstm = nn.LSTM(6, 5, batch_first=True)
        self._pi_head = nn.Linear(5, 2 * self.action_space.shape[0]); self._values = nn.Linear(5, 1)
    def get_initial_state(self): return {"h": np.zeros(5, np.float32), "c": np.zeros(5, np.float32)}
    def _emb(self, b):
        s = b[Columns.STATE_IN]
        x, (h, c) = self._lstm(self._fc_net(b[Columns.OBS]), (s["h"].unsqueeze(0), s["c"].unsqueeze(0)))
        return x, {"h": h.squeeze(0), "c": c.squeeze(0)}
    def _forward(self, b, **kw):
        x, s = self._emb(b); return {Columns.ACTION_DIST_INPUTS: self._pi_head(x), Columns.STATE_OUT: s}
    def compute_values(self, b, embeddings=None): return self._values(self._emb(b)[0]).squeeze(-1)
class TinyDict(TorchRLModule, ValueFunctionAPI):
    def setup(self):
        self.body = nn.Sequential(nn.Linear(3, 8), nn.SiLU()); self.emb = nn.Embedding(4, 8)
        self.pi = nn.Linear(16, self.action_space.n); self.vf = nn.Linear(16, 1)
    def _emb(self, b):
        o = b[Columns.OBS]; return torch.cat([self.body(o["pos"]), self.emb(o["kind"].long())], -1)
    def _forward(self, b, **kw): return {Columns.ACTION_DIST_INPUTS: self.pi(self._emb(b))}
    def compute_values(self, b, embeddings=None): return self.vf(self._emb(b)).squeeze(-1)
rng = np.random.default_rng(5)
CASES = {"cnn": (TinyCnn, Box(-1, 1, (10, 10, 2)), Discrete(3)), "lstm": (TinyLstm, Box(-1, 1, (3,)), Box(-1, 1, (2,))),
  "dict": (TinyDict, Dict({"kind": Discrete(4), "pos": Box(-1, 1, (3,))}), Discrete(3))}
for name, (cls, obs, act) in CASES.items():
    torch.manual_seed(2)
    m = RLModuleSpec(module_class=cls, observation_space=obs, action_space=act, model_config={"hidden": 8}).build()
    with torch.no_grad():
        for p in m.parameters(): p.add_(torch.randn_like(p) * .4)
    if name == "dict": o = {"kind": rng.integers(0, 4, 6), "pos": rng.uniform(-1, 1, (6, 3)).astype(np.float32)}
    elif name == "lstm": o = rng.uniform(-1, 1, (3, 4, 3)).astype(np.float32)
    else: o = rng.uniform(-1, 1, (3, 10, 10, 2)).astype(np.float32)
    t = lambda x: {k: torch.from_numpy(v) for k, v in x.items()} if isinstance(x, dict) else torch.from_numpy(x)
    b = {"obs": t(o)}
    rec = {"ray": ray.__version__, "obs": {k: v.tolist() for k, v in o.items()} if isinstance(o, dict) else o.round(7).tolist()}
    if name == "lstm":
        s = {k: rng.normal(size=(3, 5)).astype(np.float32) for k in "hc"}; b["state_in"] = t(s); rec["state_in"] = {k: v.tolist() for k, v in s.items()}
    with torch.no_grad():
        f = m.forward_inference(b); v = m.compute_values(b)
    rec["action_dist_inputs"] = f["action_dist_inputs"].numpy().tolist(); rec["vf_preds"] = v.numpy().tolist()
    if name == "lstm": rec["state_out"] = {k: x.numpy().tolist() for k, x in f["state_out"].items()}
    target = os.path.join(OUT, name); shutil.rmtree(target, ignore_errors=True)
    m.save_to_path(target)
    json.dump(rec, open(os.path.join(OUT, name + ".json"), "w"))
    print(name, {k: v.shape for k, v in m.get_state().items()}, os.listdir(target))
