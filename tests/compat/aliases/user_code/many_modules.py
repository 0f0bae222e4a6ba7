"""Several modules in one: made from specs, reached by id, acted with."""

from made import ACT, OBS
from masked_actions import fill
from own_network import VPGTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule, MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.framework import try_import_torch

torch, _ = try_import_torch()


class Counted(MultiRLModule):
    def setup(self):
        super().setup()
        self.set_up = True


def run():
    one = RLModuleSpec(
        module_class=VPGTorchRLModule,
        observation_space=OBS,
        action_space=ACT,
        model_config={"hidden_dim": 4},
    )
    two = RLModuleSpec(
        module_class=VPGTorchRLModule,
        observation_space=OBS,
        action_space=ACT,
        model_config={"hidden_dim": 3},
    )
    module = MultiRLModuleSpec(
        multi_rl_module_class=Counted, rl_module_specs={"one": one, "two": two}
    ).build()
    for part in ("one", "two"):
        fill(module[part])
    ids = ("one", "two")
    batch = {part: {Columns.OBS: torch.linspace(0, 1, 3).reshape(1, 3)} for part in ids}
    out = module.forward_inference(batch)
    return {
        "ids": sorted(module.keys()),
        "private": sorted(module._rl_modules),
        "set_up": module.set_up,
        "one": out["one"][Columns.ACTION_DIST_INPUTS].detach().numpy(),
        "two": out["two"][Columns.ACTION_DIST_INPUTS].detach().numpy(),
        "contains": "three" in module,
    }
