"""Check the settings of an old policy against its weights, before a network is built.

A numpy network reads only some of the weights, and only torch uses some of the settings. If the
settings and the weights contradict each other, one of them belongs to another policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from ...core.errors import WeightsError
from ..models.defaults import MODEL_DEFAULTS

_SHOWN: Final = 160
_DENSE: Final = (
    "_hidden_layers.",
    "_logits",
    "_value_branch",
    "lstm.",
    "gtrxl.",
    "_append_free_log_std.",
    "advantage_module.",
    "value_module.",
)
"""Prefixes of the weights of dense layers that process the observation."""


class Claim(NamedTuple):
    """A setting and what it implies, compared with the weights.

    Attributes:
        setting: The setting with its value.
        says: What the setting implies for the weights.
        weights: What the weights are.
        fitting: The part of a config that fits the weights, as far as they determine it.
    """

    setting: str
    says: str
    weights: str
    fitting: Mapping[str, Any] = MappingProxyType({})


def refuse_disagreement(claims: Iterable[Claim]) -> None:
    """Refuse settings that contradict the weights.

    Raises:
        WeightsError: They do, and one of them decides how the policy acts; both are named.
    """
    for claim in claims:
        raise WeightsError(
            f"the settings of the policy and its weights disagree about {claim.setting[:_SHOWN]}",
            expected=claim.says[:_SHOWN],
            found=claim.weights[:_SHOWN],
            hint=f"its weights fit Policy.from_checkpoint(path, config={dict(claim.fitting)})."
            if claim.fitting
            else "pass the config of the training run as config= of Policy.from_checkpoint.",
            setting=claim.setting,
        )


def dense_claims(
    model: Any, weights: Mapping[str, Any], where: str, is_q: bool = False
) -> Iterator[Claim]:
    """Claims about a network of dense layers, perhaps with an LSTM or attention behind them."""
    model = model if isinstance(model, Mapping) else {}
    settings = {**MODEL_DEFAULTS, **model}
    hidden = _found_widths(weights, "_hidden_layers.{}")
    if settings["custom_model"] or not weights or not all(map(_is_dense, weights)):
        return
    first, post = list(settings["fcnet_hiddens"] or ()), list(settings["post_fcnet_hiddens"] or ())
    units = [*first, *post]
    ends_hidden = bool(settings["no_final_linear"])
    if not units and (ends_hidden or is_q):
        units = hidden[-1:]  # without a final linear layer, the last layer gives the outputs
    is_other = hidden[:-1] != units[:-1] or len(hidden) != len(units)
    if is_other or (not ends_hidden and hidden != units):
        names = "fcnet_hiddens" + (f" and post_fcnet_hiddens={post}" if post else "")
        yield Claim(
            f"{where}: {names.replace('fcnet_hiddens', f'fcnet_hiddens={first}', 1)}",
            f"layers of {units} units",
            f"weights of layers of {hidden} units",
            {} if post else {where: {"fcnet_hiddens": hidden}},
        )
    if ends_hidden and not is_q and any(name.startswith("_logits.") for name in weights):
        yield Claim(
            f"{where}: no_final_linear=True", "no layer of outputs", presence("_logits.", weights)
        )
    cells = _rows(weights.get("lstm.weight_ih_l0"))
    if bool(settings["use_lstm"]) != (cells is not None):
        yield Claim(
            f"{where}: use_lstm={settings['use_lstm']}",
            "an LSTM" if settings["use_lstm"] else "no LSTM",
            presence("lstm.", weights),
            {where: {"use_lstm": cells is not None}},
        )
    elif cells is not None and cells != 4 * int(settings["lstm_cell_size"]):
        yield Claim(
            f"{where}: lstm_cell_size={settings['lstm_cell_size']}",
            f"lstm.weight_ih_l0 with {4 * int(settings['lstm_cell_size'])} rows",
            f"{cells} rows",
            {where: {"lstm_cell_size": cells // 4}},
        )
    for key, prefix in (("use_attention", "gtrxl."), ("free_log_std", "_append_free_log_std.")):
        has = any(name.startswith(prefix) for name in weights)
        if bool(settings[key]) != has:
            yield Claim(
                f"{where}: {key}={settings[key]}",
                f"{'' if settings[key] else 'no '}weights of it",
                presence(prefix, weights),
                {where: {key: has}},
            )
    separate = any(name.startswith("_value_branch_separate.") for name in weights)
    if model.get("vf_share_layers") is True and separate:
        yield Claim(
            f"{where}: vf_share_layers=True",
            "one trunk",
            "weights of a value branch's own",
            {where: {"vf_share_layers": False}},
        )


def twin_claims(
    config: Mapping[str, Any], weights: Mapping[str, Any], first: str, twin: str
) -> Iterator[Claim]:
    """Claims about the number of Q networks, whose weights have these prefixes."""
    has_first, has_twin = (any(n.startswith(p) for n in weights) for p in (first, twin))
    setting = config.get("twin_q")
    if setting is not None and has_first and bool(setting) != has_twin:
        yield Claim(
            f"twin_q={setting}",
            "two Q networks" if setting else "one Q network",
            presence(twin, weights),
            {"twin_q": has_twin},
        )


def width_claims(
    config: Mapping[str, Any], weights: Mapping[str, Any], key: str, pattern: str
) -> Iterator[Claim]:
    """Claims about the layers that a setting lists, whose names follow a pattern."""
    widths = _found_widths(weights, pattern)
    if key in config and list(config[key] or ()) != widths:
        yield Claim(
            f"{key}={config[key]}",
            f"layers of {list(config[key] or ())} units",
            f"weights of layers of {widths} units",
            {key: widths},
        )


def _is_dense(name: str) -> bool:
    return name.startswith(_DENSE)


def _found_widths(weights: Mapping[str, Any], pattern: str) -> list[int]:
    widths: list[int] = []
    while (width := found_width(weights, pattern.format(len(widths)))) is not None:
        widths.append(width)
    return widths


def found_width(weights: Mapping[str, Any], name: str) -> int | None:
    """Units of a dense or noisy layer; None where there is none of that name."""
    noise = weights.get(f"{name}.sigma_b")
    return _rows(weights.get(f"{name}._model.0.weight") if noise is None else noise)


def _rows(value: Any) -> int | None:
    return int(np.shape(value)[0]) if np.ndim(value) else None


def presence(prefix: str, weights: Mapping[str, Any]) -> str:
    """Describe the weights with a prefix as text."""
    name = next((name for name in weights if name.startswith(prefix)), None)
    if name is None:
        return f"no weights {prefix}*"
    return f"weights {name} of shape {np.shape(weights[name])}"
