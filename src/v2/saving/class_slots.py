"""The places where files of the new stack name classes and functions."""

from __future__ import annotations

from typing import Any, Final

from ...core.errors import UnknownNameError
from ...core.text.near_names import did_you_mean
from ...core.trust import Slot
from .class_names import derived_from, own_classes, pairs_of


def _is_config(thing: Any) -> bool:
    # Somebody may give settings in place of a class.
    return derived_from("AlgorithmConfig")(thing if isinstance(thing, type) else type(thing))


PIECE: Final = Slot(
    "a piece of a pipeline", own_classes(".connectors"), derived_from("ConnectorV2")
)
MODULE: Final = Slot("a module", own_classes(".modules"), derived_from("RLModule"))
CATALOG: Final = Slot("a catalog", own_classes(".modules"), derived_from("Catalog"))
CONFIG: Final = Slot(
    "the settings of an algorithm", own_classes(".algorithms", ".config"), _is_config
)
ALGORITHM: Final = Slot("an algorithm", own_classes(".algorithms"), derived_from("Algorithm"))
COMPONENT: Final = Slot(
    "a part of an algorithm",
    own_classes(".connectors", ".algorithms", ".env_runners", ".learning", ".modules"),
    derived_from("Checkpointable"),
)
ENV_RUNNER: Final = Slot("an env runner", own_classes(".env_runners"), derived_from("EnvRunner"))
LEARNER: Final = Slot("a learner", own_classes(".learning"), derived_from("Learner"))
PRELEARNER: Final = Slot(
    "what makes train batches of recorded data",
    own_classes(".recorded"),
    lambda thing: isinstance(thing, type),
)
REPLAY_BUFFER: Final = Slot(
    "a replay buffer", own_classes(".replay"), lambda thing: isinstance(thing, type)
)
NETWORK_CLASS: Final = Slot(
    "a class in the settings of networks",
    lambda name: name.rpartition(".")[2] if name.startswith("torch.nn.") else None,
)
"""Classes of torch's are taken by their names, as settings have them."""
CALLBACKS: Final = Slot("a class of callbacks", own_classes(".config.callbacks"), callable)
FUNCTION: Final = Slot("a function that is called", fits=callable)
ENVIRONMENT: Final = Slot("an environment", fits=callable, register="register_env(name, creator)")


_LIKE_PPO: Final = ("A2C", "A3C", "APPO", "IMPALA")
"""Algorithms with networks like PPO's; they do not train here."""


def algorithm_named(name: str) -> Any:
    """The algorithm of ours that has a name.

    Raises:
        UnknownNameError: There is none, or none that trains.
    """
    pairs = pairs_of(".algorithms", "Config")
    if name not in pairs:
        otherwise = (
            "others can be loaded and run, not trained, without Ray: rlconnect.legacy.Policy."
        )
        if str(name).upper() in _LIKE_PPO:
            hint = "PPO trains the same networks, sampling and learning by turns."
        else:
            hint = did_you_mean(str(name), pairs, otherwise=otherwise)
        raise UnknownNameError(
            f"no algorithm {name!r}", expected=", ".join(map(repr, pairs)), hint=hint
        )
    return ALGORITHM.table(f"rlconnect.v2.{name}")
