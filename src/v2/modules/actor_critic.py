"""Encoders for actor and critic: one for both, or one each."""

from __future__ import annotations

from typing import Any

from ...core.columns import Columns
from ...core.errors import ConfigError
from .network_configs import ActorCriticEncoderConfig
from .networks import (
    ACTOR,
    CRITIC,
    ENCODER_OUT,
    ActorCriticEncoder,
    StatefulActorCriticEncoder,
)
from .torch_model import TorchModel


class TorchActorCriticEncoder(TorchModel, ActorCriticEncoder):
    """Features for actor and critic from stateless encoders.

    Args:
        config: An `ActorCriticEncoderConfig`.
    """

    framework = "torch"

    def __init__(self, config: ActorCriticEncoderConfig) -> None:
        super().__init__(config)
        base: Any = config.base_encoder_config
        if base is None:
            raise ConfigError("an ActorCriticEncoderConfig needs a base_encoder_config")
        if config.shared:
            self.encoder = base.build(framework="torch")
            return
        self.actor_encoder = base.build(framework="torch")
        is_left_out = config.inference_only and not isinstance(self, StatefulActorCriticEncoder)
        self.critic_encoder: Any = None if is_left_out else base.build(framework="torch")

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        if self.config.shared:
            features = self.encoder(inputs, **kwargs)[ENCODER_OUT]
            critic = {} if self.config.inference_only else {CRITIC: features}
            return {ENCODER_OUT: {ACTOR: features, **critic}}
        out = {ACTOR: self.actor_encoder(inputs, **kwargs)[ENCODER_OUT]}
        if self.critic_encoder is not None:
            out[CRITIC] = self.critic_encoder(inputs, **kwargs)[ENCODER_OUT]
        return {ENCODER_OUT: out}


class TorchStatefulActorCriticEncoder(TorchActorCriticEncoder, StatefulActorCriticEncoder):
    """Features for actor and critic from recurrent encoders.

    The critic stays even where the module only acts: its state is part of the episodes.
    """

    def get_initial_state(self) -> dict[str, Any]:
        """Give the shared encoder's, or `{ACTOR: ..., CRITIC: ...}`."""
        if self.config.shared:
            return self.encoder.get_initial_state()  # type: ignore[no-any-return]  # a submodule
        return {
            ACTOR: self.actor_encoder.get_initial_state(),
            CRITIC: self.critic_encoder.get_initial_state(),
        }

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        if self.config.shared:
            both = self.encoder(inputs, **kwargs)
            features = both[ENCODER_OUT]
            return {
                ENCODER_OUT: {ACTOR: features, CRITIC: features},
                Columns.STATE_OUT: both[Columns.STATE_OUT],
            }
        state = inputs[Columns.STATE_IN]
        actor = self.actor_encoder({**inputs, Columns.STATE_IN: state[ACTOR]}, **kwargs)
        critic = self.critic_encoder({**inputs, Columns.STATE_IN: state[CRITIC]}, **kwargs)
        return {
            ENCODER_OUT: {ACTOR: actor[ENCODER_OUT], CRITIC: critic[ENCODER_OUT]},
            Columns.STATE_OUT: {
                ACTOR: actor[Columns.STATE_OUT],
                CRITIC: critic[Columns.STATE_OUT],
            },
        }
