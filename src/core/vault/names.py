"""RLlib's class names through ten years, read back to the algorithm they belong to."""

from __future__ import annotations

import re
from typing import Final

from ..algorithms import ALGORITHMS, SPELLINGS

_SUFFIX: Final = re.compile(
    r"(?:Torch|TF1|TF2|TF|Jax|Eager|StaticGraph|Dynamic)*"
    r"(?:Policy|Trainer|Config|RLModule|Learner|Catalog)?(?:_eager|_traced)*$"
)
# No class of RLlib's has so long a path; searching for an ending takes quadratic time.
_LONGEST: Final = 500
# Functions that make policies of no algorithm in particular.
_GENERIC: Final = frozenset({"", "torch", "tf", "policy", "random", "multi"})


def algorithm_name(*class_paths: str) -> str:
    """The algorithm that the first telling class name belongs to; empty when none tells.

    Example:
        >>> algorithm_name("", "ray.rllib.algorithms.ppo.ppo_torch_policy.PPOTorchPolicy")
        'PPO'
        >>> algorithm_name("ray.rllib.algorithms.impala.impala.ImpalaConfig")
        'IMPALA'
    """
    for path in class_paths:
        if len(path) > _LONGEST:
            continue
        module, _, name = path.rpartition(".")
        stem = _SUFFIX.sub("", name).lower().replace("default", "").replace("_", "")
        if stem in SPELLINGS:
            return SPELLINGS[stem]
        parts = module.split(".")
        for marker in ("algorithms", "agents"):
            if marker in parts[:-1]:
                folder = parts[parts.index(marker) + 1].replace("_", "")
                if folder in SPELLINGS:
                    return SPELLINGS[folder]
        if name and stem not in _GENERIC and name.endswith(("Config", "Trainer")):
            return _SUFFIX.sub("", name)
    return ""


def policy_algorithm(policy_class: str, algorithm: str) -> str:
    """The algorithm of a policy: its own class decides, unless the algorithm borrowed that class.

    Example:
        >>> policy_algorithm("A3CTorchPolicy", "A2C"), policy_algorithm("DQNTorchPolicy", "PPO")
        ('A2C', 'DQN')
    """
    by_policy = algorithm_name(policy_class)
    around = ALGORITHMS.get(algorithm)
    return algorithm if not by_policy or (around and around.borrows == by_policy) else by_policy
