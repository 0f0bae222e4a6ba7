# Made of the table in __init__.py by `make stubs`.
from .acting import choose_actions as choose_actions
from .algorithms import algorithm_named as algorithm_named
from .array_head import ArrayHead as ArrayHead, build_array_head as build_array_head
from .ddpg_model import DDPGTorchModel as DDPGTorchModel
from .dqn_model import DQNTorchModel as DQNTorchModel
from .head import PolicyHead as PolicyHead, PolicyOutputs as PolicyOutputs
from .noisy import NoisyLayer as NoisyLayer
from .registry import build_head as build_head
from .sac_model import SACTorchModel as SACTorchModel
from .torch_source import TorchSource as TorchSource, compute_actions as compute_actions
_HOME: dict[str, str]
