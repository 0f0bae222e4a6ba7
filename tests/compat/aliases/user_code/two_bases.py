"""A piece with two bases: one's own and one of RLlib's."""

import numpy as np
from made import ACT, OBS
from own_network import VPGTorchRLModule
from ray.rllib.connectors.common.numpy_to_tensor import NumpyToTensor
from ray.rllib.connectors.connector_v2 import ConnectorV2


class Doubles(ConnectorV2):
    def __call__(self, *, rl_module, batch, episodes, **kwargs):
        doubled = {
            module: {key: value * 2 for key, value in columns.items()}
            for module, columns in batch.items()
        }
        return super().__call__(rl_module=rl_module, batch=doubled, episodes=episodes, **kwargs)


class DoublesToTensor(Doubles, NumpyToTensor):
    pass


def run():
    piece = DoublesToTensor(OBS, ACT, device="cpu")
    module = VPGTorchRLModule(
        observation_space=OBS, action_space=ACT, model_config={"hidden_dim": 2}
    )
    batch = {"default_policy": {"obs": np.arange(3, dtype=np.float32)}}
    out = piece(rl_module=module, batch=batch, episodes=[])
    tensor = out["default_policy"]["obs"] if "default_policy" in out else out["obs"]
    return {"type": type(tensor).__name__, "values": tensor.numpy()}
