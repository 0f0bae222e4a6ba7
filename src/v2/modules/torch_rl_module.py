"""A module that is a `torch.nn.Module`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn
from typing_extensions import override

from ...core.data.checked import real
from ...core.data.damage import at
from ...core.errors import ConfigError, WeightsError
from ...core.runtime.sharing import Turn
from ..distributions.torch_continuous import TorchDiagGaussian
from ..distributions.torch_discrete import TorchCategorical
from ..saving.checkpointable import Components
from .apis import InferenceOnlyAPI
from .rl_module import RLModule

if TYPE_CHECKING:
    from ..distributions.base import Distribution


class WeightShapeError(WeightsError, RuntimeError):
    """A weight has another shape than the layer it is for."""


class TorchRLModule(nn.Module, RLModule):
    """An RLModule whose layers are torch's.

    `forward_inference` and `forward_exploration` run in evaluation mode and without gradients; the
    mode is put back afterwards, by the last of several threads.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> class Linear(TorchRLModule):
        ...     def setup(self):
        ...         self.layer = nn.Linear(self.observation_space.shape[0], self.action_space.n)
        ...     def _forward(self, batch, **kwargs):
        ...         return {"action_dist_inputs": self.layer(batch["obs"])}
        >>> module = Linear(observation_space=Box(-1, 1, (3,)), action_space=Discrete(2))
        >>> module.forward_inference({"obs": torch.zeros(5, 3)})["action_dist_inputs"].shape
        torch.Size([5, 2])
    """

    framework: str | None = "torch"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        nn.Module.__init__(self)
        self._evaluation = Evaluation()
        RLModule.__init__(self, *args, **kwargs)

    def forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Compute what a loss needs: calling the module itself is `forward_train`."""
        return self.forward_train(batch, **kwargs)

    @override
    def forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._act(self._forward_inference, batch, kwargs)

    @override
    def forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._act(self._forward_exploration, batch, kwargs)

    @override
    def forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        if not self.training:
            self.train()
        return RLModule.forward_train(self, batch, **kwargs)

    def _act(
        self, forward: Callable[..., dict[str, Any]], batch: Any, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """Run in evaluation mode without gradients; layers that were training train again after."""
        is_switched = self._evaluation.enter(self)
        try:
            with torch.no_grad():
                return forward(batch, **kwargs)
        finally:
            if is_switched:
                self._evaluation.leave()

    @override
    def steady_pass(self, explore: bool) -> Callable[..., dict[str, Any]]:
        """Return a forward pass for many steps; if all layers are in eval mode, it is unchecked."""
        ours = TorchRLModule.forward_exploration if explore else TorchRLModule.forward_inference
        usual = super().steady_pass(explore)
        if getattr(usual, "__func__", None) is not ours or _layers_in_training(self):
            return usual
        forward, has_gradients = self._repeated_pass(explore), torch.set_grad_enabled

        def passed(batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
            if not torch.is_grad_enabled():
                return forward(batch, **kwargs)
            has_gradients(False)  # `no_grad` makes four objects to do this.
            try:
                return forward(batch, **kwargs)
            finally:
                has_gradients(True)

        return passed

    def _repeated_pass(self, explore: bool) -> Callable[..., dict[str, Any]]:
        """Return the bare forward pass, or a faster form of it while the networks do not change."""
        return self.bare_pass(explore)

    @override
    def get_inference_action_dist_cls(self) -> type[Distribution]:
        dist_cls: type[Distribution] | None = self.action_dist_cls
        if dist_cls is not None:
            return dist_cls
        if isinstance(self.action_space, spaces.Discrete):
            return TorchCategorical
        if isinstance(self.action_space, spaces.Box):
            return TorchDiagGaussian
        raise ConfigError(
            f"{type(self).__name__} has no default distribution for {self.action_space!r}",
            hint="set self.action_dist_cls in setup(), or override the get_*_action_dist_cls() "
            "methods.",
        )

    get_exploration_action_dist_cls = get_train_action_dist_cls = get_inference_action_dist_cls

    @override
    def get_state(
        self,
        components: Components = None,
        *,
        not_components: Components = None,
        inference_only: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the weights as arrays by name, with `inference_only` those that acting needs."""
        state = {name: _as_array(value) for name, value in self.state_dict().items()}
        if inference_only and not self.inference_only and isinstance(self, InferenceOnlyAPI):
            spare = tuple(f"{name}." for name in self.get_non_inference_attributes())
            state = {name: value for name, value in state.items() if not name.startswith(spare)}
        return state

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take weights over; names that are not there keep theirs, unknown ones are ignored.

        Raises:
            WeightShapeError: A weight has another shape than the layer it is for.
            WeightsError: The module is inference-only and weights are missing.
        """
        parameters = self.state_dict()
        if self.inference_only:
            missing = [name for name in parameters if name not in state]
            if missing:
                raise WeightsError(
                    f"the state is missing {len(missing)} of {len(parameters)} weights of an "
                    f"inference_only {type(self).__name__}: {', '.join(missing)}",
                    missing=missing,
                )
        self.load_state_dict(self._as_tensors(state, parameters), strict=False)

    def _as_tensors(
        self, state: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        tensors = {}
        for name, value in state.items():
            if name not in parameters:
                continue
            if not isinstance(parameters[name], torch.Tensor):
                tensors[name] = value
                continue
            with at(name):
                tensor = value if isinstance(value, torch.Tensor) else tensor_over(value)
            if tensor.shape != parameters[name].shape:
                raise WeightShapeError(
                    f"weight {name!r} of {type(self).__name__} has another shape (size mismatch)",
                    expected=str(tuple(parameters[name].shape)),
                    found=str(tuple(tensor.shape)),
                )
            tensors[name] = tensor
        return tensors


def _as_array(value: Any) -> Any:
    """Return a copy of a weight as an array, so that later training does not change it."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    value = value.float() if value.dtype == torch.bfloat16 else value
    return value.cpu().numpy().copy()


class Evaluation:
    """Layers in evaluation mode as long as some thread acts; the last one puts the mode back.

    Example:
        >>> layer, evaluation = nn.Dropout(), Evaluation()
        >>> evaluation.enter(layer), evaluation.enter(layer), layer.training
        (True, True, False)
        >>> evaluation.leave()
        >>> layer.training
        False
        >>> evaluation.leave()
        >>> layer.training
        True
    """

    __slots__ = ("_inside", "_switched", "_turn")

    def __init__(self) -> None:
        self._turn = Turn()
        self._inside = 0
        self._switched: list[nn.Module] = []

    def __reduce__(self) -> Any:
        """Copy a module as unused."""
        return type(self), ()

    def enter(self, module: nn.Module) -> bool:
        """Put layers into evaluation mode; True if a `leave` has to follow."""
        with self._turn:
            if not self._inside:
                training = _layers_in_training(module)
                if not training:
                    return False
                self._switched = training
                if all(_is_plain(type(layer)) for layer in training):
                    for layer in training:  # like eval(), without a module's slow setattr
                        vars(layer)["training"] = False
                else:
                    module.eval()
            self._inside += 1
            return True

    def leave(self) -> None:
        """Switch layers back to training mode, unless another thread runs the module."""
        with self._turn:
            self._inside -= 1
            if not self._inside:
                for layer in self._switched:
                    vars(layer)["training"] = True
                self._switched = []


def _layers_in_training(module: nn.Module) -> list[nn.Module]:
    """All layers in training mode; `modules()` takes ten times as long to walk them."""
    layers: list[nn.Module] = [module]
    for layer in layers:  # grows on the way
        for below in layer._modules.values():
            if below is not None:
                layers.append(below)  # A generator for each takes longer.
    return [layer for layer in layers if layer.training]


def _is_plain(kind: type[nn.Module]) -> bool:
    """True if changing its mode is changing a flag."""
    return kind.train is nn.Module.train and kind.eval is nn.Module.eval


_Module = TypeVar("_Module")


def tensor_over(array: Any) -> Tensor:
    """A tensor that shares an array's memory where it may write there, else has a copy.

    Example:
        >>> array = np.zeros(2, np.float32)
        >>> tensor_over(array)[0] = 1.0
        >>> array.tolist()
        [1.0, 0.0]
    """
    numbers = real(array)
    is_plain = numbers.flags.behaved and numbers.flags.c_contiguous
    return torch.from_numpy(numbers) if is_plain else torch.tensor(numbers)


def built_bare(build: Callable[[], _Module]) -> _Module:
    """Call `build` and return a module whose weights have shapes but no memory (device "meta").

    Building it normally would allocate memory and draw random numbers that are then overwritten.
    """
    with torch.device("meta"):
        return build()


def adopt(module: nn.Module, weights: Mapping[str, Any]) -> bool:
    """Use arrays as the weights of a module built bare; return False if that is not possible.

    The arrays must not be written to by others. It is not possible if a weight has two names, if
    one is missing, or if the module has other tensors.
    """
    parts: dict[str, Any] = module.state_dict(keep_vars=True)
    saved = {id(part) for part in parts.values()}
    kept = {
        id(value)
        for each in module.modules()
        for place in (vars(each), each._parameters, each._buffers)
        for value in place.values()
        if isinstance(value, Tensor)
    }
    if len(saved) < len(parts) or kept - saved or parts.keys() - weights.keys():
        return False
    owners: set[int] = set()
    tensors = {}
    for name, part in parts.items():
        array = weights[name]
        owner = id(_owner(array))
        tensor = torch.tensor(real(array)) if owner in owners else tensor_over(array)
        owners.add(owner)
        tensors[name] = tensor.to(part.dtype)
    module.load_state_dict(tensors, assign=True)
    return True


def _owner(array: Any) -> Any:
    """Return the owner of an array's memory."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array
