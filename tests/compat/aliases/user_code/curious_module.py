"""An intrinsic curiosity model: a module that has its own loss."""

from made import ACT, OBS
from masked_actions import fill
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import SelfSupervisedLossAPI
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.utils.framework import try_import_torch
from ray.rllib.utils.torch_utils import one_hot

torch, nn = try_import_torch()


class IntrinsicCuriosityModel(TorchRLModule, SelfSupervisedLossAPI):
    def setup(self):
        size = self.model_config.get("feature_dim", 4)
        self._feature_net = nn.Sequential(nn.Linear(3, size), nn.Tanh())
        self._forward_net = nn.Linear(size + 4, size)
        self._inverse_net = nn.Linear(2 * size, 4)

    def _forward_train(self, batch, **kwargs):
        both = torch.cat([batch[Columns.OBS], batch[Columns.NEXT_OBS]], dim=0)
        phi, next_phi = torch.chunk(self._feature_net(both), 2, dim=0)
        action = one_hot(batch[Columns.ACTIONS].long(), self.action_space).float()
        predicted = self._forward_net(torch.cat([phi, action], dim=-1))
        error = 0.5 * torch.sum((predicted - next_phi) ** 2, dim=-1)
        return {Columns.INTRINSIC_REWARDS: error, "phi": phi, "next_phi": next_phi}

    def compute_self_supervised_loss(self, *, learner, module_id, config, batch, fwd_out):
        logits = self._inverse_net(torch.cat([fwd_out["phi"], fwd_out["next_phi"]], dim=-1))
        inverse = nn.functional.cross_entropy(logits, batch[Columns.ACTIONS].long())
        return 0.8 * inverse + 0.2 * torch.mean(fwd_out[Columns.INTRINSIC_REWARDS])


def run():
    module = IntrinsicCuriosityModel(
        observation_space=OBS, action_space=ACT, model_config={"feature_dim": 5}
    )
    fill(module)
    batch = {
        Columns.OBS: torch.linspace(-1, 1, 6).reshape(2, 3),
        Columns.NEXT_OBS: torch.linspace(1, -1, 6).reshape(2, 3),
        Columns.ACTIONS: torch.tensor([0, 3]),
    }
    out = module.forward_train(batch)
    loss = module.compute_self_supervised_loss(
        learner=None, module_id="icm", config=None, batch=batch, fwd_out=out
    )
    return {
        "rewards": out[Columns.INTRINSIC_REWARDS].detach().numpy(),
        "loss": float(loss.detach()),
    }
