"""Which network a space and a set of model settings give, as the old stack chose it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import torch
from gymnasium.spaces import Dict, Space, Tuple
from torch import Tensor, nn

from ...core.errors import ConfigError
from ...core.runtime.sharing import PerThread
from ...core.text.near_names import did_you_mean
from ..distributions.registered import CUSTOM_MODELS
from .attention import AttentionWrapper
from .base import LegacyModel, ModelOutput, TorchModelV2
from .complex import ComplexInputNetwork
from .defaults import with_defaults
from .fcnet import FullyConnectedNetwork
from .leaves import network_kind
from .lstm import LSTMWrapper
from .visionnet import VisionNetwork


class PlainModule(LegacyModel):
    """A torch module behind the interface of the old stack; its weights keep their names.

    `forward` of the module takes observations and gives outputs, or a pair of outputs and values.
    One that needs several arguments is called as RLlib calls a model, `(input_dict, state,
    seq_lens)`, and gives outputs and states. Its own `value_function`, `get_initial_state` and
    `view_requirements` are used where it has them; without values, `vf_preds` is NaN.

    Args:
        module: The module.
        *given: What every model of the old stack is built from.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> net = nn.Sequential(nn.Linear(3, 2))
        >>> model = PlainModule(net, Box(-1, 1, (3,)), Discrete(2), 2, {})
        >>> list(model.state_dict())
        ['0.weight', '0.bias']
    """

    _module: Any

    _value = PerThread[Tensor]()

    def __init__(self, module: nn.Module, *given: Any) -> None:
        super().__init__(*given)
        # Shared, not copied: whatever moves or loads these, moves and loads the module's.
        self._parameters = module._parameters
        self._buffers = module._buffers
        self._modules = module._modules
        object.__setattr__(self, "_module", module)  # not registered, so that names do not change
        self._is_rllib_like = _needs_several(module.forward)
        self.view_requirements.update(getattr(module, "view_requirements", {}))

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Outputs, and the next state where the module has one."""
        if self._is_rllib_like:
            outputs, after = self._module(input_dict, state, seq_lens)
            self._value = torch.full((len(outputs),), torch.nan)
            return outputs, list(after)
        result = self._module(input_dict["obs"])
        outputs, value = result if isinstance(result, tuple) else (result, None)
        blank = torch.full((len(outputs),), torch.nan, device=outputs.device)
        self._value = blank if value is None else value.reshape(-1)
        return outputs, []

    def value_function(self) -> Tensor:
        """The module's values of the last forward pass, NaN where it gives none."""
        value_fn = getattr(self._module, "value_function", None)
        value: Any = self._value if value_fn is None else value_fn()
        return value  # type: ignore[no-any-return]  # the module's business

    def get_initial_state(self) -> list[Any]:
        """The module's states at an episode's start."""
        initial = getattr(self._module, "get_initial_state", None)
        return [] if initial is None else list(initial())

    def train(self, mode: bool = True) -> PlainModule:
        """Switch the module as well as its parts."""
        super().train(mode)
        self._module.training = mode
        return self


def model_of(
    factory: Callable[..., Any], arguments: tuple[Any, ...], settings: Mapping[str, Any]
) -> Any:
    """Call a custom factory and return its result as an old-stack network.

    The factory is called like a model class, or without arguments if it accepts none.

    Raises:
        ConfigError: It did not return a torch module.
    """
    model = (
        factory(*arguments, **settings)
        if _accepts(factory, *arguments)
        else _called(factory, settings)
    )
    if isinstance(model, TorchModelV2):
        return model
    if not isinstance(model, nn.Module):
        name = getattr(factory, "__name__", repr(factory))
        raise ConfigError(
            f"the custom model {name!r} made no network",
            expected="a TorchModelV2 or any torch.nn.Module",
            found=f"a {type(model).__name__}",
        )
    return PlainModule(model, *arguments)


def _called(factory: Callable[..., Any], settings: Mapping[str, Any]) -> Any:
    return factory(**settings) if inspect.signature(factory).parameters else factory()


def _accepts(call: Callable[..., Any], *given: Any) -> bool:
    try:
        inspect.signature(call).bind_partial(*given)
    except TypeError:
        return False
    except ValueError:  # built-ins tell no signature
        return True
    return True


def _needs_several(forward: Callable[..., Any]) -> bool:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(forward).parameters.values()
    return sum(p.kind in kinds and p.default is p.empty for p in parameters) > 1


ModelFactory = Callable[..., Any]

# Algorithms whose value branch has separate layers by default.
_OWN_VALUE_NET = {"PPO"}
_CLASSES: Mapping[str, type[TorchModelV2]] = {
    "dense": FullyConnectedNetwork,
    "image": VisionNetwork,
    "nested": ComplexInputNetwork,
}


def build_model(
    obs_space: Space[Any],
    action_space: Space[Any],
    num_outputs: int | None,
    model_config: Mapping[str, Any],
    *,
    algorithm: str = "",
    custom_models: Mapping[str, ModelFactory] | None = None,
    interface: type | None = None,
    default_model: type | None = None,
    name: str = "default_model",
    **interface_settings: Any,
) -> Any:
    """Build the network for a space and model settings, with fresh weights.

    `obs_space.original_space` is the nested space. Without `num_outputs`, the network chooses its
    width. The algorithm determines `vf_share_layers` if it is not set. `interface` (the additions
    of DQN, SAC, ...) is mixed into the chosen network, or into `default_model`.

    Raises:
        ConfigError: The settings contradict each other, or the model is not registered.
    """
    config = with_defaults(model_config)
    if "vf_share_layers" not in model_config:
        config["vf_share_layers"] = algorithm.upper() not in _OWN_VALUE_NET
    _check(config, action_space)
    positional = (obs_space, action_space, num_outputs, config, name)
    if not config["custom_model"]:
        trunk = _wrapped(default_model or default_class(obs_space), config)
        return _mixed(interface, trunk)(*positional, **interface_settings)
    custom = _custom(config["custom_model"], custom_models or {})
    settings = {**interface_settings, **(config["custom_model_config"] or {})}
    if not (isinstance(custom, type) and issubclass(custom, TorchModelV2)):
        return model_of(custom, positional, settings)
    wraps = config["use_lstm"] or config["use_attention"]
    # Ray hands the custom settings to the model itself, and drops them if the model is wrapped.
    settings = interface_settings if wraps else settings
    chosen: type = custom
    mixed = _wrapped(_mixed(interface, chosen), config)
    return _built(mixed, positional, settings, interface_settings)


def default_class(obs_space: Space[Any]) -> type[TorchModelV2]:
    """Choose the network class for what the policy sees; see `network_kind`."""
    return _CLASSES[network_kind(obs_space)]


def _check(config: Mapping[str, Any], action_space: Space[Any]) -> None:
    if config["use_lstm"] and config["use_attention"]:
        raise ConfigError("a model has use_lstm or use_attention, not both.")
    sees_actions = (config["use_lstm"] and config["lstm_use_prev_action"]) or (
        config["use_attention"] and config["attention_use_n_prev_actions"]
    )
    if (
        sees_actions
        and isinstance(action_space, (Dict, Tuple))
        and not config["_disable_action_flattening"]
    ):
        raise ConfigError(
            "a model that sees earlier actions needs them unflattened when they are nested",
            expected="_disable_action_flattening=True",
            found=f"False with {action_space}",
        )


def _wrapped(trunk: type, config: Mapping[str, Any]) -> type:
    if config["use_lstm"]:
        return _mixed(LSTMWrapper, trunk)
    return _mixed(AttentionWrapper, trunk) if config["use_attention"] else trunk


@lru_cache(maxsize=256)
def _mixed(front: type | None, trunk: type) -> type:
    if front is None or issubclass(trunk, front):
        return trunk
    return type(f"{trunk.__name__}_as_{front.__name__}", (front, trunk), {})


def _custom(model: Any, supplied: Mapping[str, ModelFactory]) -> ModelFactory:
    label = model if isinstance(model, str) else getattr(model, "__name__", repr(model))
    supplied = {**CUSTOM_MODELS, **supplied}
    for key in (label, label.rsplit(".", 1)[-1]):
        if key in supplied:
            return supplied[key]
    if isinstance(model, type) and issubclass(model, TorchModelV2):
        return model
    raise ConfigError(
        f"the model {label!r} is the author's own class, which a checkpoint does not hold.",
        hint=did_you_mean(label, supplied, otherwise=f'pass custom_models={{"{label}": cls}}.'),
        model=label,
        supplied=sorted(supplied),
    )


def _built(
    model_class: type,
    positional: tuple[Any, ...],
    settings: Mapping[str, Any],
    needed: Mapping[str, Any],
) -> Any:
    """The model with all its settings, or where it does not take them with the needed ones."""
    try:
        return model_class(*positional, **settings)
    except TypeError as error:
        # Older models read their settings from model_config["custom_model_config"] themselves,
        # and so do those behind an interface, which takes its own settings alone.
        if "unexpected keyword argument" not in str(error) or settings == needed:
            raise
        return model_class(*positional, **needed)
