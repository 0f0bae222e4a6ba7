"""The places where files of the new stack name classes and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...core.trust import Slot
from .class_names import own_classes

_PIECES: Final = (
    ".connectors.common",
    ".connectors.connector",
    ".connectors.env_to_module",
    ".connectors.learner",
    ".connectors.module_to_env",
    ".connectors.pipeline",
)


def _derived(base: Callable[[], type[Any]]) -> Callable[[Any], bool]:
    """Whether something is a class derived from one of ours, which is loaded when asked."""
    return lambda thing: isinstance(thing, type) and issubclass(thing, base())


def _v2() -> Any:
    from ... import v2

    return v2


PIECE: Final = Slot(
    "a piece of a pipeline", own_classes(*_PIECES), _derived(lambda: _v2().ConnectorV2)
)
MODULE: Final = Slot("a module", own_classes(".modules"), _derived(lambda: _v2().RLModule))
CATALOG: Final = Slot("a catalog", own_classes(".modules"), _derived(lambda: _v2().Catalog))
CONFIG: Final = Slot(
    "the settings of an algorithm",
    own_classes(".algorithms", ".config"),
    lambda thing: _is_config(thing),
)
ALGORITHM: Final = Slot(
    "an algorithm", own_classes(".algorithms"), _derived(lambda: _v2().Algorithm)
)
COMPONENT: Final = Slot(
    "a part of an algorithm",
    own_classes(*_PIECES, ".algorithms", ".env_runners", ".learning", ".modules"),
    _derived(lambda: _v2().Checkpointable),
)
ENV_RUNNER: Final = Slot(
    "an env runner", own_classes(".env_runners"), _derived(lambda: _v2().EnvRunner)
)
LEARNER: Final = Slot("a learner", own_classes(".learning"), _derived(lambda: _v2().Learner))
PRELEARNER: Final = Slot(
    "what makes train batches of recorded data",
    own_classes(".recorded"),
    lambda thing: isinstance(thing, type),
)
NETWORK_CLASS: Final = Slot(
    "a class in the settings of networks",
    lambda name: name.rpartition(".")[2] if name.startswith("torch.nn.") else None,
)
"""Classes of torch's are taken by their names, as settings have them."""
CALLBACKS: Final = Slot("a class of callbacks", own_classes(".config.callbacks"), callable)
FUNCTION: Final = Slot("a function that is called", fits=callable)
ENVIRONMENT: Final = Slot("an environment", fits=callable, register="register_env(name, creator)")


def _is_config(thing: Any) -> bool:
    base = _v2().AlgorithmConfig
    # Somebody may give settings in place of a class.
    return isinstance(thing, base) or (isinstance(thing, type) and issubclass(thing, base))
