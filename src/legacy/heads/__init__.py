"""What each algorithm of the old stack adds to a network, and how a policy acts with it.

Names are imported when first asked for: `acting.py` and the files of families with a
numpy twin need no torch. Start with `family.py`, then `head.py`.
"""

from __future__ import annotations

from ...core.importing.lazy_names import lazy_names

_HOME = {
    "ArrayHead": ".array_head",
    "DDPGTorchModel": ".ddpg_model",
    "DQNTorchModel": ".dqn_model",
    "NoisyLayer": ".noisy",
    "PolicyHead": ".head",
    "PolicyOutputs": ".head",
    "SACTorchModel": ".sac_model",
    "algorithm_named": ".algorithms",
    "TorchSource": ".torch_source",
    "build_array_head": ".array_head",
    "build_head": ".registry",
    "choose_actions": ".acting",
    "compute_actions": ".torch_source",
}

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME)
