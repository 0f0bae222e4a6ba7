"""Any torch module as an old-stack network: for users whose model class is no `TorchModelV2`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ...core.errors import ConfigError
from ...core.runtime.sharing import PerThread
from .base import LegacyModel, ModelOutput, TorchModelV2


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
        object.__setattr__(self, "_module", module)  # not registered: names stay as they are
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
    """What a user's factory makes, as a network of the old stack.

    It is called like a model class, or without arguments if it takes none.

    Raises:
        ConfigError: It made no torch module.
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
