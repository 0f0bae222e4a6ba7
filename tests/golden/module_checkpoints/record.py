"""Saves one small module of each kind with real RLlib 2.60, and what it answers to `obs`.

Run with an interpreter that has Ray. Writes one folder per case and outputs.npz.
"""

import logging
import pathlib
import shutil
import sys
import types
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from gymnasium.spaces import Box, Discrete, MultiDiscrete  # noqa: E402
from ray.rllib.algorithms.appo.torch.default_appo_torch_rl_module import (  # noqa: E402
    DefaultAPPOTorchRLModule,
)
from ray.rllib.algorithms.bc.torch.default_bc_torch_rl_module import (  # noqa: E402
    DefaultBCTorchRLModule,
)
from ray.rllib.algorithms.dqn.torch.default_dqn_torch_rl_module import (  # noqa: E402
    DefaultDQNTorchRLModule,
)
from ray.rllib.algorithms.ppo.ppo_catalog import PPOCatalog  # noqa: E402
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import (  # noqa: E402
    DefaultPPOTorchRLModule,
)
from ray.rllib.algorithms.sac.torch.default_sac_torch_rl_module import (  # noqa: E402
    DefaultSACTorchRLModule,
)
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig  # noqa: E402
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec  # noqa: E402
from ray.rllib.core.rl_module.rl_module import RLModuleSpec  # noqa: E402

HERE = pathlib.Path(__file__).parent
OBS = Box(-10, 10, (3,), np.float32)
BOX = Box(-1, 1, (2,), np.float32)
SMALL = {"fcnet_hiddens": [4]}
DQN = {"num_atoms": 1, "epsilon": 0.0, "double_q": True, "dueling": True}

users = types.ModuleType("somebodys_modules")
sys.modules["somebodys_modules"] = users


class TheirNet(DefaultPPOTorchRLModule):
    """A user's own class."""


class TheirCatalog(PPOCatalog):
    """A user's own catalog."""


for cls in (TheirNet, TheirCatalog):
    cls.__module__ = "somebodys_modules"
    setattr(users, cls.__name__, cls)


def spec(kind, act=Discrete(2), inference_only=False, catalog_class=None, **config):
    return RLModuleSpec(
        kind, OBS, act, inference_only=inference_only, model_config=config, catalog_class=catalog_class
    )


CASES = {
    "ppo": spec(DefaultPPOTorchRLModule, **SMALL),
    "ppo_separate": spec(DefaultPPOTorchRLModule, vf_share_layers=False, **SMALL),
    "ppo_dataclass": RLModuleSpec(
        DefaultPPOTorchRLModule, OBS, BOX, model_config=DefaultModelConfig(fcnet_hiddens=[4])
    ),
    "ppo_inference": spec(DefaultPPOTorchRLModule, inference_only=True, vf_share_layers=False, **SMALL),
    "ppo_lstm": spec(DefaultPPOTorchRLModule, use_lstm=True, lstm_cell_size=3, **SMALL),
    "ppo_choices": spec(DefaultPPOTorchRLModule, act=MultiDiscrete([2, 3]), **SMALL),
    "appo": spec(DefaultAPPOTorchRLModule, vf_share_layers=False, **SMALL),
    "bc": spec(DefaultBCTorchRLModule, act=BOX, **SMALL),
    "dqn": spec(DefaultDQNTorchRLModule, act=Discrete(3), **DQN, **SMALL),
    "sac": spec(DefaultSACTorchRLModule, act=BOX, twin_q=True, fusionnet_hiddens=[4], **SMALL),
    "their_class": spec(TheirNet, **SMALL),
    "their_catalog": spec(DefaultPPOTorchRLModule, catalog_class=TheirCatalog, **SMALL),
}


def answer(module, batch):
    out = module.forward_inference(dict(batch))
    return out["actions"] if "actions" in out else out["action_dist_inputs"]


def main():
    obs = torch.arange(12.0).reshape(4, 3) / 10
    outputs = {"obs": obs.numpy()}
    for path in HERE.iterdir():
        if path.is_dir() and path.name != "__pycache__":
            shutil.rmtree(path)
    for name, described in CASES.items():
        torch.manual_seed(len(name))
        module = described.build()
        batch = {"obs": obs}
        if name == "ppo_lstm":
            state = {key: torch.zeros(4, 1, 3) for key in ("h", "c")}
            batch = {"obs": obs[:, None], "state_in": state}
        if hasattr(module, "make_target_networks") and name != "dqn":
            module.make_target_networks()
        outputs[name] = answer(module, batch).detach().numpy()
        if hasattr(module, "compute_values") and name != "ppo_inference":
            outputs[f"{name}/values"] = module.compute_values(dict(batch)).detach().numpy()
        module.save_to_path(str(HERE / name))
        if name in ("ppo", "ppo_lstm"):
            module.save_to_path(str(HERE / f"{name}_msgpack"), use_msgpack=True)
    multi = MultiRLModuleSpec(
        rl_module_specs={"a": CASES["ppo"], "b": CASES["dqn"], "c": CASES["their_class"]}
    ).build()
    for key in ("a", "b", "c"):
        outputs[f"multi/{key}"] = answer(multi[key], {"obs": obs}).detach().numpy()
    multi.save_to_path(str(HERE / "multi"))
    np.savez_compressed(HERE / "outputs.npz", **outputs)


main()
