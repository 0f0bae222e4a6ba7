"""Base classes of old-stack networks, including the base class for custom networks.

`TorchModelV2` is the mixin of Ray's documentation: `class Net(TorchModelV2, nn.Module)`, with both
initializers called explicitly, in either order. Built-in networks derive from `LegacyModel`, which
combines both. `catalog.py` selects the network for given settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from gymnasium.spaces import Space
from torch import Tensor, nn

from ...core.errors import PieceError
from ...core.runtime.sharing import PerThread
from .flat_layout import flat_layout, is_nested, restore

ModelOutput = tuple[Tensor, list[Tensor]]


class ModelV2:
    """The old stack's model interface, whatever the framework; torch is the only one here.

    Args:
        obs_space: What the policy sees; its `original_space`, if any, is what observations are
            restored to before `forward`.
        action_space: Where actions come from.
        num_outputs: Width of the first return value of `forward`; `None` leaves it to the network.
        model_config: The model settings, see `defaults.MODEL_DEFAULTS`.
        name: A name for messages.

    `view_requirements` maps a column to the keyword arguments of the `ViewRequirement` that fills
    it, as plain data; a subclass may also put `ViewRequirement` objects there.
    """

    _last_output = PerThread[Tensor]()

    def __init__(
        self,
        obs_space: Space[Any],
        action_space: Space[Any],
        num_outputs: int | None,
        model_config: Mapping[str, Any],
        name: str = "default_model",
        framework: str = "torch",
    ) -> None:
        self.obs_space: Any = obs_space
        self.action_space: Any = action_space
        self.num_outputs: Any = num_outputs
        self.model_config: Any = model_config
        self.name = name or "default_model"
        self.framework = framework
        self.time_major = bool(model_config.get("_time_major"))
        self.view_requirements: dict[str, Any] = {"obs": {"shift": 0, "space": obs_space}}
        original = getattr(obs_space, "original_space", obs_space)
        nested = is_nested(original) and not model_config.get("_disable_preprocessor_api")
        self._layout = (
            flat_layout(
                original,
                dim=model_config.get("dim") or 84,
                grayscale=bool(model_config.get("grayscale")),
            )
            if nested
            else None
        )

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Compute outputs `(B, num_outputs)` and the next state.

        Args:
            input_dict: Columns as tensors; `obs` is nested, `obs_flat` as the policy got it.
            state: One tensor `(B, ...)` per entry of `get_initial_state`.
            seq_lens: Steps per sequence `(B,)` when the rows are `B` padded sequences.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement forward().")

    def value_function(self) -> Tensor:
        """Return the value estimates `(B,)` of the last `forward`."""
        raise NotImplementedError(f"{type(self).__name__} must implement value_function().")

    def get_initial_state(self) -> list[Any]:
        """Return the state of one episode's start, without batch dimension; empty if stateless."""
        return []

    @property
    def is_recurrent(self) -> bool:
        """Whether `forward` hands a state from step to step."""
        return len(self.get_initial_state()) > 0

    def is_time_major(self) -> bool:
        """Whether padded sequences come as `(T, B, ...)`."""
        return self.time_major

    def last_output(self) -> Tensor | None:
        """Return the outputs of the last call."""
        return self._last_output

    def metrics(self) -> dict[str, Any]:
        """Return numbers to report; a custom network may override it."""
        return {}

    def custom_loss(self, policy_loss: Any, loss_inputs: Mapping[str, Any]) -> Any:
        """Change the training loss; a custom network may override it."""
        return policy_loss

    def context(self) -> Any:
        """Return the context `forward` runs in."""
        return nullcontext()

    def variables(self, as_dict: bool = False) -> Any:
        """Return all weights and buffers, as a list or by name."""
        named: dict[str, Tensor] = self.state_dict()  # type: ignore[attr-defined]  # nn.Module's
        return named if as_dict else list(named.values())

    def trainable_variables(self, as_dict: bool = False) -> Any:
        """Return the parameters that training moves, as a list or by name."""
        pairs: Any = self.named_parameters()  # type: ignore[attr-defined]  # nn.Module's
        named = {name: value for name, value in pairs if value.requires_grad}
        return named if as_dict else list(named.values())

    def __call__(
        self, input_dict: dict[str, Any], state: list[Any] | None = None, seq_lens: Any = None
    ) -> tuple[Any, list[Any]]:
        """Restore nested observations, run `forward`, check what it gives back.

        Args:
            input_dict: Columns as tensors, `obs` flat or nested; left unchanged.
            state: State per entry of `get_initial_state`, `(B, ...)` each.
            seq_lens: Steps per sequence; `None` when rows are single steps.
        """
        columns = _copied(input_dict)
        obs = columns["obs"]
        if self._layout is not None:
            columns["obs"] = restore(obs, self._layout)
        flat = obs
        if not self.model_config.get("_disable_preprocessor_api") and getattr(obs, "ndim", 0) > 2:
            flat = obs.reshape(obs.shape[0], -1)
        columns["obs_flat"] = flat
        result = self.forward(columns, state or [], seq_lens)
        if not isinstance(result, (list, tuple)) or len(result) != 2:
            raise PieceError(
                f"forward() of model {type(self).__name__!r} gave back the wrong thing",
                expected="(outputs, list of states)",
                found=type(result).__name__,
            )
        outputs, state_out = result
        if not isinstance(state_out, list):
            raise PieceError(
                f"forward() of model {type(self).__name__!r} gave back the wrong state",
                expected="a list, possibly empty",
                found=type(state_out).__name__,
            )
        self._last_output = outputs
        return outputs, state_out or (state or [])


class TorchModelV2(ModelV2):
    """The model interface in torch, to be combined with `torch.nn.Module`."""


def _copied(columns: Any) -> Any:
    return dict(columns) if type(columns) is dict else columns.copy(shallow=True)


class LegacyModel(TorchModelV2, nn.Module):
    """An old-stack network: `TorchModelV2` and `torch.nn.Module` at once, built like `ModelV2`.

    Args:
        **settings: What else the class is built from.
    """

    # Names (prefixes) that may be missing from saved weights: `forward` never reads them.
    unused_weights: tuple[str, ...] = ()

    def __init__(
        self,
        obs_space: Space[Any],
        action_space: Space[Any],
        num_outputs: int | None,
        model_config: Mapping[str, Any],
        name: str = "",
        **settings: Any,
    ) -> None:
        nn.Module.__init__(self)
        # Mixed in front of a user's own network, this is that network's constructor.
        super().__init__(obs_space, action_space, num_outputs, model_config, name)
        self._add_own_layers(**settings)

    def _add_own_layers(self) -> None:
        """Make the layers of the class, which takes its settings by name."""
