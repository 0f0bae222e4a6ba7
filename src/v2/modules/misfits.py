"""What to say where the settings of a module and the weights beside them disagree."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ...core.errors import WeightsError
from .model_config import with_defaults
from .torch_rl_module import WeightShapeError

Shapes = Mapping[str, tuple[int, ...]]

_DECIDING: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("lstm", ("use_lstm",)),
    ("log_std", ("free_log_std",)),
    ("qf_twin", ("twin_q",)),
    ("fusion_layers", ("fusionnet_hiddens",)),
    ("cnn", ("conv_filters", "observation_space")),
    ("vf.net", ("dueling", "head_fcnet_hiddens")),
    ("coder", ("fcnet_hiddens", "fcnet_use_layernorm")),
    ("tokenizer", ("fcnet_hiddens", "fcnet_use_layernorm")),
    ("", ("head_fcnet_hiddens",)),
)
"""Parts of names of weights, and the settings that decide whether there are any."""


def shape_misfit(
    own: Shapes, held: Shapes, module: Any, settings: Mapping[str, Any]
) -> WeightsError | None:
    """The error for the first weight that has another shape than the settings ask for.

    Args:
        own: Names and shapes that the settings ask for.
        held: Those of the weights that are there.
        module: The module's name, for the message.
        settings: The module's settings, its spaces among them.
    """
    for name, asked in own.items():
        found = held.get(name)
        if found is not None and tuple(found) != tuple(asked):
            blamed = _naming(_that_ask_for(asked, found, settings), settings)
            says = f"as {blamed} says" if blamed else "as its settings and spaces say"
            return WeightShapeError(
                f"the settings of {module} and its weights disagree: {name!r} has another shape "
                "(size mismatch)",
                expected=f"{tuple(asked)}, {says}",
                found=f"weights of shape {tuple(found)}",
                hint="give the model_config it was trained with, in place of the file's.",
                weight=name,
            )
    return None


def deciding(names: Iterable[str], settings: Mapping[str, Any]) -> str:
    """The settings that decide whether there are weights of these names, with their values."""
    held = [next(keys for part, keys in _DECIDING if part in name) for name in names]
    found = [key for _, keys in _DECIDING if keys in held for key in keys]
    return _naming(dict.fromkeys(found), settings)


def warn_of_encoders(record: Any, settings: Mapping[str, Any]) -> None:
    """Tell where a file says of its encoders what its weights do not."""
    said, done = record.model_config.get("vf_share_layers"), settings.get("vf_share_layers")
    if said is not None and done is not None and bool(said) != bool(done):
        warnings.warn(
            f"the settings of module {record.id!r} say vf_share_layers={bool(said)}, but its "
            f"weights are of {'one encoder' if done else 'two encoders'}: the weights decide.",
            UserWarning,
            stacklevel=2,
        )


def asked_shapes(build: Callable[[], Any]) -> Shapes:
    """Names and shapes of a module's weights, without any of them being made."""
    import torch

    with torch.device("meta"):
        module = build()
    return {name: tuple(part.shape) for name, part in module.state_dict().items()}


def _that_ask_for(
    asked: tuple[int, ...], found: tuple[int, ...], settings: Mapping[str, Any]
) -> list[str]:
    sizes = set(asked) - set(found)
    # The gates of an LSTM lie in one weight, as means and deviations of actions do.
    wanted = {size // parts for size in sizes for parts in (1, 2, 3, 4) if size % parts == 0}
    return [name for name, value in _flat(settings).items() if wanted & _whole_numbers(value)]


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    config = with_defaults(settings.get("model_config"))
    spaces = {key: settings.get(key) for key in ("observation_space", "action_space")}
    return {**config, **{key: space for key, space in spaces.items() if space is not None}}


def _naming(names: Iterable[str], settings: Mapping[str, Any]) -> str:
    flat = _flat(settings)
    return ", ".join(f"{name}={flat[name]!r}"[:80] for name in names if name in flat)


def _whole_numbers(value: Any) -> set[int]:
    if isinstance(value, bool):
        return set()
    if isinstance(value, int):
        return {value}
    if isinstance(value, (list, tuple)):
        return {number for each in value for number in _whole_numbers(each)}
    shape = getattr(value, "shape", None)
    size = getattr(value, "n", None)
    return {int(each) for each in (*(shape or ()), *(() if size is None else (size,)))}
