"""Numpy networks and distributions for the default modules of the new stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
from torch import nn

from ...core.errors import ConfigError
from ...core.formulas.categorical import best_of_columns
from ...core.nets.direct import Direct
from ...core.nets.numpy_layers import (
    LARGE,
    ColumnStack,
    Dense,
    Stack,
    dense,
    numpy_activation,
    quickest,
)
from ...core.step.plan import Choose
from ...core.types import Array
from ...legacy.distributions.families import Categorical, DiagGaussian, Family
from ...v2.distributions.torch_continuous import TorchDiagGaussian, TorchSquashedGaussian
from ...v2.distributions.torch_discrete import TorchCategorical
from ...v2.modules.bc import DefaultBCTorchRLModule
from ...v2.modules.cql import DefaultCQLTorchRLModule
from ...v2.modules.encoders import TorchActorCriticEncoder, TorchMLPEncoder
from ...v2.modules.iql import DefaultIQLTorchRLModule
from ...v2.modules.layers import TorchFreeLogStdMLPHead, TorchMLPHead
from ...v2.modules.ppo import DefaultAPPOTorchRLModule, DefaultPPOTorchRLModule
from ...v2.modules.sac import DefaultSACTorchRLModule

Finish = Callable[[Array], Array]

_ENCODERS: Final = {
    DefaultAPPOTorchRLModule: "encoder",
    DefaultBCTorchRLModule: "encoder",
    DefaultCQLTorchRLModule: "pi_encoder",
    DefaultIQLTorchRLModule: "pi_encoder",
    DefaultPPOTorchRLModule: "encoder",
    DefaultSACTorchRLModule: "pi_encoder",
}
"""Name of the encoder in front of the head `pi`, by module class."""


def direct_of(module: Any, greedy: Choose) -> Direct | None:
    """A default module in numpy; None of another one, or where it has other layers.

    Large weights are the module's own, others copied. `greedy` chooses where only torch knows how.
    """
    name = _ENCODERS.get(type(module))
    if name is None:
        return None
    encoder, head = getattr(module, name), module.pi
    if type(encoder) is TorchActorCriticEncoder:
        encoder = _part_of(encoder, "actor_encoder")
    network = _dense_network(encoder, head)
    if network is None:
        return None
    kind, finish = module.get_inference_action_dist_cls(), _finish_of(head)
    of_columns = best_of_columns if kind is TorchCategorical else None
    return Direct.of(network, GREEDY.get(kind, greedy), of_columns, finish)


def value_network(module: Any) -> ColumnStack | Stack | None:
    """Return the value network of a default module in numpy; None if it has other layers."""
    if type(module) is DefaultIQLTorchRLModule:
        return _dense_network(module.vf_encoder, module.vf)
    encoder = getattr(module, "encoder", None)
    if type(encoder) is not TorchActorCriticEncoder:
        return None
    return _dense_network(_part_of(encoder, "critic_encoder"), module.vf)


def _part_of(encoder: TorchActorCriticEncoder, part: str) -> Any:
    """Return the encoder of the actor or of the critic, which may be shared."""
    return encoder.encoder if encoder.config.shared else encoder.get_submodule(part)


def _dense_network(encoder: Any, head: Any) -> ColumnStack | Stack | None:
    heads = (TorchMLPHead, TorchFreeLogStdMLPHead)
    if type(encoder) is not TorchMLPEncoder or type(head) not in heads:
        return None
    try:
        layers = [*_layers(encoder.net.mlp), *_layers(head.net.mlp)]
    except ConfigError:
        return None
    return quickest(layers) if layers else None


def _best(inputs: Array) -> Array:
    return np.asarray(inputs.argmax(-1), np.int32)


def _means(inputs: Array) -> Array:
    return np.ascontiguousarray(inputs[:, : inputs.shape[1] // 2])


GREEDY: Final[dict[Any, Choose]] = {
    TorchCategorical: _best,
    TorchDiagGaussian: _means,
    TorchSquashedGaussian: _means,
}
"""Greedy actions of arrays by distribution class; torch computes all others."""

FAMILIES: Final[dict[Any, Callable[[int], Family]]] = {
    TorchCategorical: Categorical,
    TorchDiagGaussian: DiagGaussian,
}
"""Distributions that are sampled in numpy; torch samples all others."""


def _layers(modules: Iterable[nn.Module]) -> list[Dense]:
    """Dense layers, each with the activation behind it."""
    layers: list[Dense] = []
    for module in modules:
        if isinstance(module, nn.Linear):
            weight = module.weight.detach().cpu().numpy()
            bias = None if module.bias is None else module.bias.detach().cpu().numpy()
            bias = np.zeros(len(weight), np.float32) if bias is None else bias
            is_large = weight.nbytes > LARGE and weight.dtype == bias.dtype == np.float32
            layers.append(Dense(weight.T, bias) if is_large else dense(weight, bias))
        elif layers and layers[-1].act is None:
            act = numpy_activation(type(module).__name__)
            layers[-1] = Dense(layers[-1].weight, layers[-1].bias, act)
        else:
            raise ConfigError("an activation of no layer", found=type(module).__name__)
    return layers


def _finish_of(head: Any) -> Finish | None:
    """Deviations as the head gives them: held in bounds, or its own parameters."""
    bound = float(head.log_std_clip_param_const) if head.clip_log_std else np.inf
    if isinstance(head, TorchFreeLogStdMLPHead):
        deviations = np.clip(head.log_std.detach().cpu().numpy(), -bound, bound)
        return lambda means: np.concatenate([means, np.tile(deviations, (len(means), 1))], 1)
    if not head.clip_log_std:
        return None

    def bounded(out: Array) -> Array:
        deviations = out[:, out.shape[1] // 2 :]
        np.clip(deviations, -bound, bound, out=deviations)
        return out

    return bounded
