"""The catalogs of the algorithms: which heads stand on which encoders."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from typing_extensions import override

from ...core.columns import Columns
from ...core.importing.torch_needed import torch_needed
from .action_distributions import UnsupportedSpaceException
from .catalog import Catalog, _check_if_diag_gaussian
from .model_config import DENSE_LAYERS, initializers
from .network_configs import (
    ActorCriticEncoderConfig,
    MLPEncoderConfig,
    MultiStreamEncoderConfig,
)

__all__ = ["BCCatalog", "DQNCatalog", "PPOCatalog", "SACCatalog", "_check_if_diag_gaussian"]


class PPOCatalog(Catalog):
    """An encoder for actor and critic, a policy head and a value head (PPO and its kin)."""

    @override
    def _describe_heads(self) -> None:
        self.actor_critic_encoder_config = ActorCriticEncoderConfig(
            base_encoder_config=self._encoder_config,
            shared=self._model_config_dict["vf_share_layers"],
        )
        self.pi_and_vf_head_hiddens = self._model_config_dict["head_fcnet_hiddens"]
        self.pi_and_vf_head_activation = self._model_config_dict["head_fcnet_activation"]
        self.pi_head_config: Any = None  # known only once the distribution is
        self.vf_head_config: Any = self._head_config(
            1, use_layernorm=self._model_config_dict["head_fcnet_use_layernorm"]
        )

    def build_actor_critic_encoder(self, framework: str = "torch") -> Any:
        """Make the encoder for both."""
        return self.actor_critic_encoder_config.build(framework=framework)

    @override
    def build_encoder(self, framework: str = "torch") -> Any:
        """Refuse: there is `build_actor_critic_encoder`."""
        raise NotImplementedError("use PPOCatalog.build_actor_critic_encoder() instead.")

    def build_pi_head(self, framework: str = "torch") -> Any:
        """Make the head that gives the distribution's inputs."""
        self.pi_head_config = self._policy_head_config(framework)
        return self.pi_head_config.build(framework=framework)

    def build_vf_head(self, framework: str = "torch") -> Any:
        """Make the head that gives one value."""
        return self.vf_head_config.build(framework=framework)


class BCCatalog(Catalog):
    """An encoder and a policy head."""

    @override
    def _describe_heads(self) -> None:
        self.pi_head_hiddens = self._model_config_dict["head_fcnet_hiddens"]
        self.pi_head_activation = self._model_config_dict["head_fcnet_activation"]
        self.pi_head_config: Any = None  # known only once the distribution is

    def build_pi_head(self, framework: str = "torch") -> Any:
        """Make the head that gives the distribution's inputs."""
        self.pi_head_config = self._policy_head_config(framework)
        return self.pi_head_config.build(framework=framework)


class DQNCatalog(Catalog):
    """An encoder, a head for advantages per action and, when dueling, a head for the value.

    Actions are Discrete; the setting `num_atoms` above 1 asks for a distribution over returns.
    """

    @override
    def _describe_heads(self) -> None:
        action_space = self.action_space
        if not isinstance(action_space, spaces.Discrete):
            raise UnsupportedSpaceException(
                "DQN",
                expected="a Discrete action space",
                found=repr(action_space),
                hint="train PPO or SAC." if isinstance(action_space, spaces.Box) else "train PPO.",
            )
        self.num_atoms = int(self._model_config_dict.get("num_atoms") or 1)
        self.af_head_config: Any = self._get_head_config(int(action_space.n) * self.num_atoms)
        self.vf_head_config: Any = self._get_head_config(1)

    def _get_head_config(self, output_layer_dim: int) -> Any:
        return self._head_config(output_layer_dim)

    def build_af_head(self, framework: str = "torch") -> Any:
        """Make the head for advantages, or for action values when not dueling."""
        return self.af_head_config.build(framework=framework)

    def build_vf_head(self, framework: str = "torch") -> Any:
        """Make the head for the value."""
        return self.vf_head_config.build(framework=framework)


class SACCatalog(Catalog):
    """Encoders and heads for a policy and for values of actions in a flat Box or Discrete space."""

    @override
    def _determine_components_hook(self) -> None:
        if not isinstance(self.action_space, (spaces.Box, spaces.Discrete)):
            raise UnsupportedSpaceException(
                "SAC", expected="a Box or Discrete action space", found=repr(self.action_space)
            )
        super()._determine_components_hook()

    @override
    def _describe_heads(self) -> None:
        self.pi_and_qf_head_hiddens = self._model_config_dict["head_fcnet_hiddens"]
        self.pi_and_qf_head_activation = self._model_config_dict["head_fcnet_activation"]
        self.pi_head_config: Any = None  # known only once the distribution is
        action_space = self.action_space
        width = int(action_space.n) if isinstance(action_space, spaces.Discrete) else 1
        self.qf_head_config: Any = self._head_config(width)

    def build_qf_encoder(self, framework: str = "torch") -> Any:
        """Make the encoder for action values: of observations, in a Box also of actions."""
        self.qf_encoder_config: Any
        if isinstance(self.action_space, spaces.Discrete):
            self.qf_encoder_config = self._encoder_config
        elif self._model_config_dict.get("qf_encoder_joins_inputs"):  # releases before Ray 2.49
            self.qf_encoder_config = self._joint_qf_encoder()
        else:
            self.qf_encoder_config = self._two_stream_qf_encoder()
        return self.qf_encoder_config.build(framework=framework)

    def _action_size(self) -> int:
        return int(np.prod(self.action_space.shape or ()))

    def _two_stream_qf_encoder(self) -> MultiStreamEncoderConfig:
        settings = self._model_config_dict
        self.qf_action_encoder_config = MLPEncoderConfig(
            input_dims=(self._action_size(),),
            hidden_layer_dims=settings["fcnet_hiddens"][:-1],
            hidden_layer_activation=settings["fcnet_activation"],
            output_layer_dim=self.latent_dims[0],
            output_layer_activation=settings["fcnet_activation"],
            **initializers(settings, "fcnet", *DENSE_LAYERS),
        )
        return MultiStreamEncoderConfig(
            base_encoder_configs={
                Columns.OBS: self._encoder_config,
                Columns.ACTIONS: self.qf_action_encoder_config,
            },
            hidden_layer_dims=settings["fusionnet_hiddens"],
            hidden_layer_activation=settings["fusionnet_activation"],
            output_layer_dim=self.latent_dims[0],
            output_layer_activation=settings["fusionnet_activation"],
            **initializers(settings, "fusionnet", *DENSE_LAYERS),
        )

    def _joint_qf_encoder(self) -> Any:
        """A dense encoder of observation and action side by side."""
        size = int(np.prod(self.observation_space.shape or ())) + self._action_size()
        joint = spaces.Box(-np.inf, np.inf, (size,), np.float32)
        return self._get_encoder_config(joint, self._model_config_dict, self.action_space)

    def build_pi_head(self, framework: str = "torch") -> Any:
        """Make the head that gives the distribution's inputs."""
        action_dist_cls = self.get_action_dist_cls(framework=framework)
        width = int(action_dist_cls.required_input_dim(space=self.action_space))
        self.pi_head_config = self._head_config(width)
        return self.pi_head_config.build(framework=framework)

    def build_qf_head(self, framework: str = "torch") -> Any:
        """Make the head for action values: one of all actions, or of the one given."""
        return self.qf_head_config.build(framework=framework)

    @override
    def get_action_dist_cls(self, framework: str = "torch") -> Any:
        """Return the squashed normal for a Box, else the categorical."""
        with torch_needed("a distribution class"):
            from ..distributions.torch_continuous import TorchSquashedGaussian
            from ..distributions.torch_discrete import TorchCategorical

        if isinstance(self.action_space, spaces.Discrete):
            return TorchCategorical
        return TorchSquashedGaussian
