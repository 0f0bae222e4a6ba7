"""Small policy networks for discrete actions: alone, and behind an encoder that several share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from torch import nn
from typing_extensions import override

from ...core.columns import Columns
from ...core.errors import ConfigError
from ...core.trust import trust
from ...v2.modules.multi_rl_module import MultiRLModule
from ...v2.modules.networks import ENCODER_OUT
from ...v2.modules.torch_rl_module import TorchRLModule

SHARED_ENCODER_ID: Final = "shared_encoder"


def _layers(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


@trust
class VPGTorchRLModule(TorchRLModule):
    """One hidden layer of `model_config["hidden_dim"]` units; see `RLModule` for its arguments."""

    @override
    def setup(self) -> None:
        inputs, outputs = self.observation_space.shape[0], self.action_space.n
        self._policy_net = _layers(inputs, self.model_config["hidden_dim"], outputs)

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self._policy_net(batch[Columns.OBS])}


@trust
class DiscreteBCTorchModule(TorchRLModule):
    """The same with the first of `model_config["fcnet_hiddens"]` for its layer."""

    @override
    def setup(self) -> None:
        self.input_dim = self.observation_space.shape[0]
        hidden = self.model_config["fcnet_hiddens"][0]
        self.policy = _layers(self.input_dim, hidden, self.action_space.n)

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self.policy(batch[Columns.OBS])}


@trust
class SharedEncoder(TorchRLModule):
    """One layer of `model_config["embedding_dim"]` units that several policies look through."""

    @override
    def setup(self) -> None:
        inputs = self.observation_space.shape[0]
        self._net = nn.Sequential(nn.Linear(inputs, self.model_config["embedding_dim"]))

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {ENCODER_OUT: self._net(batch[Columns.OBS])}


@trust
class VPGPolicyAfterSharedEncoder(TorchRLModule):
    """A policy that sees what the shared encoder made of an observation."""

    @override
    def setup(self) -> None:
        settings = self.model_config
        outputs = self.action_space.n
        self._pi_head = _layers(settings["embedding_dim"], settings["hidden_dim"], outputs)

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self._pi_head(batch[ENCODER_OUT])}


@trust
class VPGMultiRLModuleWithSharedEncoder(MultiRLModule):
    """Policies behind one encoder, which is the module of the id `SHARED_ENCODER_ID`.

    Raises:
        ConfigError: There is no such module, or no policy beside it.
    """

    @override
    def setup(self) -> None:
        super().setup()
        ids = list(self.keys())
        if SHARED_ENCODER_ID not in ids or len(ids) < 2:
            raise ConfigError(
                f"{type(self).__name__} needs an encoder and policies",
                expected=f"a module {SHARED_ENCODER_ID!r} and others",
                found=", ".join(map(repr, ids)) or "no modules",
            )
        self.encoder = self[SHARED_ENCODER_ID]

    def _encoded(self, batch: Mapping[str, Any], forward: str, **kwargs: Any) -> dict[str, Any]:
        by_module = {}
        for module_id, part in batch.items():
            encoded = {**part, ENCODER_OUT: self.encoder._forward(part)[ENCODER_OUT]}
            policy = self[module_id]
            call = {
                "inference": policy._forward_inference,
                "exploration": policy._forward_exploration,
                "train": policy._forward_train,
            }[forward]
            by_module[module_id] = call(encoded, **kwargs)
        return by_module

    @override
    def _forward_inference(self, batch: Any, **kwargs: Any) -> dict[str, Any]:
        return self._encoded(batch, "inference", **kwargs)

    @override
    def _forward_exploration(self, batch: Any, **kwargs: Any) -> dict[str, Any]:
        return self._encoded(batch, "exploration", **kwargs)

    @override
    def _forward_train(self, batch: Any, **kwargs: Any) -> dict[str, Any]:
        return self._encoded(batch, "train", **kwargs)
