"""RLlib's algorithms: how ten years of releases spelled them, and what everyone must know of each.

An algorithm of the old stack is a row of `ALGORITHMS`. How its policies compute and act is said
once a family, in the file of `legacy/heads` that has the family's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Algorithm(NamedTuple):
    """Facts about an algorithm that readers of files need.

    `spellings` are its names without marks, suffixes and capitals, between blanks. `family` is
    which of the old stack's ways to act its policies have; empty if they cannot here. `borrows` is
    the algorithm whose policy class it uses, where it has none of its own.
    """

    spellings: str
    family: str = ""
    borrows: str = ""


ALGORITHMS: Final[Mapping[str, Algorithm]] = {
    "A2C": Algorithm("a2c", "actor_critic", borrows="A3C"),
    "A3C": Algorithm("a3c", "actor_critic"),
    "APEX": Algorithm("apex apexdqn", "dqn", borrows="DQN"),
    "APEX_DDPG": Algorithm("apexddpg", "ddpg", borrows="DDPG"),
    "APPO": Algorithm("appo asyncppo", "actor_critic"),
    "ARS": Algorithm("ars", "evolution"),
    "BC": Algorithm("bc", "actor_critic", borrows="MARWIL"),
    "BanditLinTS": Algorithm("banditlints", "bandit", borrows="BanditLinUCB"),
    "BanditLinUCB": Algorithm("banditlinucb bandit", "bandit"),
    "CQL": Algorithm("cql", "sac"),
    "CRR": Algorithm("crr", "crr"),
    "DDPG": Algorithm("ddpg", "ddpg"),
    "DQN": Algorithm("dqn dqnrainbow rainbow", "dqn"),
    "DreamerV3": Algorithm("dreamerv3"),
    "ES": Algorithm("es", "evolution"),
    "IMPALA": Algorithm("impala vtrace vtracetf", "actor_critic"),
    "IQL": Algorithm("iql"),
    "MADDPG": Algorithm("maddpg"),
    "MARWIL": Algorithm("marwil", "actor_critic"),
    "PG": Algorithm("pg", "actor"),
    "PPO": Algorithm("ppo ddppo", "actor_critic"),
    "QMIX": Algorithm("qmix"),
    "R2D2": Algorithm("r2d2", "dqn"),
    "RNNSAC": Algorithm("rnnsac", "sac"),
    "SAC": Algorithm("sac", "sac"),
    "SimpleQ": Algorithm("simpleq", "simple_q"),
    "TD3": Algorithm("td3", "ddpg", borrows="DDPG"),
}

SPELLINGS: Final[Mapping[str, str]] = {
    spelling: name for name, row in ALGORITHMS.items() for spelling in row.spellings.split()
}
"""What a name is without its marks, suffixes and capitals -> the algorithm it stands for."""

NETWORKS: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "sac": (
        ("policy_model_config", "fcnet_hiddens", "fcnet_activation"),
        ("q_model_config", "fcnet_hiddens", "fcnet_activation"),
    ),
    "ddpg": (
        ("", "actor_hiddens", "actor_hidden_activation"),
        ("", "critic_hiddens", "critic_hidden_activation"),
    ),
}
"""Families with networks that `model` does not describe -> where actor and critic are described:
below which setting, and the names of layers and activation there."""


def family_of(algorithm: str) -> str:
    """The family of the old stack that an algorithm is of; empty for any other name.

    Example:
        >>> family_of("TD3"), family_of("DreamerV3")
        ('ddpg', '')
    """
    return ALGORITHMS[algorithm].family if algorithm in ALGORITHMS else ""


def acts_by_values(algorithm: str) -> bool:
    """True if policies of an algorithm take the action of the highest Q value."""
    return family_of(algorithm) in ("dqn", "simple_q")
