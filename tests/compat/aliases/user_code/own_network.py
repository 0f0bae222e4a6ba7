"""A module without a catalog, with its own nets, values and distribution."""

from made import ACT, OBS
from masked_actions import fill
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.models.torch.misc import normc_initializer, same_padding, valid_padding
from ray.rllib.utils.framework import try_import_torch

torch, nn = try_import_torch()


class VPGTorchRLModule(TorchRLModule, ValueFunctionAPI):
    def setup(self):
        hidden = self.model_config["hidden_dim"]
        self._net = nn.Sequential(nn.Linear(3, hidden), nn.ReLU())
        self._pi = nn.Linear(hidden, self.action_space.n)
        self._values = nn.Linear(hidden, 1)
        normc_initializer(0.01)(self._values.weight)
        self.action_dist_cls = TorchCategorical

    def _forward(self, batch, **kwargs):
        embeddings = self._net(batch[Columns.OBS])
        return {Columns.ACTION_DIST_INPUTS: self._pi(embeddings), "embeddings": embeddings}

    def compute_values(self, batch, embeddings=None):
        if embeddings is None:
            embeddings = self._net(batch[Columns.OBS])
        return self._values(embeddings).squeeze(-1)


def run():
    module = VPGTorchRLModule(
        observation_space=OBS, action_space=ACT, model_config={"hidden_dim": 6}
    )
    norm = float(torch.linalg.norm(module._values.weight.detach()))
    fill(module)
    batch = {Columns.OBS: torch.linspace(-1, 1, 6).reshape(2, 3)}
    out = module.forward_exploration(batch)
    distribution = module.get_exploration_action_dist_cls().from_logits(
        out[Columns.ACTION_DIST_INPUTS]
    )
    return {
        "norm": norm,
        "logits": out[Columns.ACTION_DIST_INPUTS].detach().numpy(),
        "values": module.compute_values(batch).detach().numpy(),
        "logp": distribution.logp(torch.tensor([1, 2])).detach().numpy(),
        "entropy": distribution.entropy().detach().numpy(),
        "greedy": distribution.to_deterministic().sample().numpy(),
        "state": sorted(module.get_state()),
        "same": [list(part) for part in same_padding((7, 7), 3, 2)],
        "valid": list(valid_padding((7, 7), (3, 3), 2)),
    }
