"""The interface of a network: built from a config, called with columns; no torch needed here."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Final

from ...core.columns import Columns

if TYPE_CHECKING:
    from .network_configs import ModelConfig

ENCODER_OUT: Final = "encoder_out"
"""Key of an encoder's output."""

ACTOR: Final = "actor"
"""Key of what belongs to the policy, where actor and critic differ."""

CRITIC: Final = "critic"
"""Key of what belongs to the value function."""


def initial_state_of(encoder: Any) -> dict[str, Any]:
    """The state of an encoder at an episode's start; empty for one that has none."""
    give = getattr(encoder, "get_initial_state", None)
    return give() if give is not None else {}


def state_of(encoded: dict[str, Any]) -> dict[str, Any]:
    """The column of states of what an encoder gave, if it carries one."""
    state = encoded.get(Columns.STATE_OUT)
    return {} if state is None else {Columns.STATE_OUT: state}


class Model(abc.ABC):
    """Any part of a module's network, built from `config`."""

    def __init__(self, config: ModelConfig) -> None:
        self.config: Any = config

    def get_initial_state(self) -> dict[str, Any]:
        """Return the state before the first step, without a batch axis; empty if stateless."""
        return {}

    @abc.abstractmethod
    def _forward(self, inputs: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""

    @abc.abstractmethod
    def get_num_parameters(self) -> tuple[int, int]:
        """Count numbers that are trained, and numbers that are not."""


class Encoder(Model):
    """Turns the columns of a batch into `{ENCODER_OUT: features}`.

    One that carries a state reads `state_in` and adds `state_out`.
    """


class ActorCriticEncoder(Encoder):
    """Features for actor and critic: `{ENCODER_OUT: {ACTOR: ..., CRITIC: ...}}`.

    Either one shared `encoder`, or an `actor_encoder` and a `critic_encoder`; the latter is left
    out where the module only acts.
    """


class StatefulActorCriticEncoder(ActorCriticEncoder):
    """The same with a state per encoder: `{ACTOR: state, CRITIC: state}` when not shared."""
