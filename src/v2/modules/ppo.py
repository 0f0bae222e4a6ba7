"""The default modules of PPO, IMPALA and MARWIL, and that of APPO with its slow copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from typing_extensions import override

from ...core.columns import Columns
from .apis import (
    TARGET_NETWORK_ACTION_DIST_INPUTS,
    InferenceOnlyAPI,
    TargetNetworkAPI,
    ValueFunctionAPI,
)
from .catalogs import PPOCatalog
from .dense_pass import DensePass, is_unwatched
from .encoders import TorchActorCriticEncoder
from .network_configs import RecurrentEncoderConfig
from .networks import ACTOR, CRITIC, ENCODER_OUT, initial_state_of, state_of
from .rl_module import RLModule
from .torch_model import make_target_network
from .torch_rl_module import TorchRLModule


class DefaultPPORLModule(RLModule, InferenceOnlyAPI, ValueFunctionAPI):
    """An encoder for actor and critic, a policy head `pi` and a value head `vf`."""

    encoder: Any
    pi: Any
    vf: Any

    @override
    def setup(self) -> None:
        """Build the networks; without the critic's where the module only acts."""
        catalog = self._needed_catalog()
        config = catalog.actor_critic_encoder_config
        if isinstance(config.base_encoder_config, RecurrentEncoderConfig):
            # The critic's state is part of every episode, so acting needs it too.
            self.inference_only = False
        config.inference_only = bool(self.inference_only)
        self.encoder = catalog.build_actor_critic_encoder(framework=self.framework)
        self.pi = catalog.build_pi_head(framework=self.framework)
        self.vf = None if self.inference_only else catalog.build_vf_head(framework=self.framework)

    @override
    def get_initial_state(self) -> dict[str, Any]:
        return initial_state_of(self.encoder)

    @override
    def get_non_inference_attributes(self) -> list[str]:
        is_shared = getattr(self.encoder, "encoder", None) is not None
        return ["vf"] if is_shared else ["vf", "encoder.critic_encoder"]


class DefaultPPOTorchRLModule(TorchRLModule, DefaultPPORLModule):
    """The default module of PPO, IMPALA and MARWIL.

    Example:
        >>> import torch
        >>> from gymnasium.spaces import Box, Discrete
        >>> module = DefaultPPOTorchRLModule(
        ...     observation_space=Box(-1, 1, (3,)), action_space=Discrete(2), model_config={}
        ... )
        >>> module.compute_values({"obs": torch.zeros(5, 3)}).shape
        torch.Size([5])
    """

    _default_catalog = PPOCatalog

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        encoded = self.encoder(batch)
        return {
            **state_of(encoded),
            Columns.ACTION_DIST_INPUTS: self.pi(encoded[ENCODER_OUT][ACTOR]),
        }

    @override
    def _repeated_pass(self, explore: bool) -> Callable[..., dict[str, Any]]:
        usual = super()._repeated_pass(explore)
        encoder = self.encoder
        is_as_it_comes = (
            type(self) is DefaultPPOTorchRLModule
            and is_unwatched(self, "_forward", "_forward_exploration", "_forward_inference")
            and type(encoder) is TorchActorCriticEncoder
            and is_unwatched(encoder, "_forward")
        )
        if not is_as_it_comes:
            return usual
        actor = encoder.encoder if encoder.config.shared else encoder.actor_encoder
        return DensePass.of(actor, self.pi) or usual

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        encoded = self.encoder(batch)
        return {
            Columns.EMBEDDINGS: encoded[ENCODER_OUT][CRITIC],
            **state_of(encoded),
            Columns.ACTION_DIST_INPUTS: self.pi(encoded[ENCODER_OUT][ACTOR]),
        }

    @override
    def compute_values(self, batch: dict[str, Any], embeddings: Any | None = None) -> Tensor:
        if embeddings is None:
            embeddings = self._critic_features(batch)
        values: Tensor = self.vf(embeddings).squeeze(-1)
        return values

    def _critic_features(self, batch: dict[str, Any]) -> Any:
        critic = getattr(self.encoder, "critic_encoder", None)
        if critic is None:
            return self.encoder(batch)[ENCODER_OUT][CRITIC]
        if self.is_stateful():
            batch = {**batch, Columns.STATE_IN: batch[Columns.STATE_IN][CRITIC]}
        return critic(batch)[ENCODER_OUT]


class DefaultAPPORLModule(DefaultPPORLModule, TargetNetworkAPI):
    """PPO's networks, and copies of encoder and policy that follow them slowly."""

    _old_encoder: Any
    _old_pi: Any

    @override
    def make_target_networks(self) -> None:
        self._old_encoder = make_target_network(self.encoder)
        self._old_pi = make_target_network(self.pi)

    @override
    def get_target_network_pairs(self) -> list[tuple[Any, Any]]:
        return [(self.encoder, self._old_encoder), (self.pi, self._old_pi)]

    @override
    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        features = self._old_encoder(batch)[ENCODER_OUT][ACTOR]
        return {TARGET_NETWORK_ACTION_DIST_INPUTS: self._old_pi(features)}

    @override
    def get_non_inference_attributes(self) -> list[str]:
        return [*super().get_non_inference_attributes(), "_old_encoder", "_old_pi"]


class DefaultAPPOTorchRLModule(DefaultPPOTorchRLModule, DefaultAPPORLModule):
    """The default module of APPO."""
