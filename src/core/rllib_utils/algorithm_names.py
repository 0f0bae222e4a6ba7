"""RLlib's algorithms, however ten years of releases spelled them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SPELLINGS: Final[Mapping[str, str]] = {
    "impala": "IMPALA",
    "vtrace": "IMPALA",
    "vtracetf": "IMPALA",
    "appo": "APPO",
    "asyncppo": "APPO",
    "ppo": "PPO",
    "ddppo": "PPO",
    "a2c": "A2C",
    "a3c": "A3C",
    "pg": "PG",
    "bc": "BC",
    "marwil": "MARWIL",
    "cql": "CQL",
    "crr": "CRR",
    "sac": "SAC",
    "rnnsac": "RNNSAC",
    "dqn": "DQN",
    "dqnrainbow": "DQN",
    "rainbow": "DQN",
    "simpleq": "SimpleQ",
    "apexdqn": "APEX",
    "apex": "APEX",
    "apexddpg": "APEX_DDPG",
    "r2d2": "R2D2",
    "ddpg": "DDPG",
    "td3": "TD3",
    "es": "ES",
    "ars": "ARS",
    "banditlints": "BanditLinTS",
    "banditlinucb": "BanditLinUCB",
    "bandit": "BanditLinUCB",
    "iql": "IQL",
    "dreamerv3": "DreamerV3",
    "qmix": "QMIX",
    "maddpg": "MADDPG",
}
"""What a name is without its marks, suffixes and capitals -> the algorithm it stands for."""
