"""Settings of older releases as those of today; the names of the weights decide where in doubt."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...core.nets.setting import NETWORK

_HEADS: Final = ("pi", "_pi_head", "af", "qf")
_CLIP: Final = "log_std_clip_param_const"
_LINEAR: Final = re.compile(r"net\.mlp\.(\d{1,9})\.weight")


def modern_settings(
    settings: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Any]:
    """Settings that build the networks the weights belong to.

    Example:
        >>> shapes = {"pi.net.mlp.0.weight": (7, 4), "pi.net.mlp.2.weight": (2, 7)}
        >>> modern_settings({"post_fcnet_hiddens": [7]}, shapes)["head_fcnet_hiddens"]
        [7]
    """
    modern = dict(settings)
    if not shapes or NETWORK in modern:
        return modern
    if modern.get("encoder_latent_dim"):  # Ray 2.5 to 2.9: one more layer
        modern["fcnet_hiddens"] = [*modern.get("fcnet_hiddens", ()), modern["encoder_latent_dim"]]
    if "head_fcnet_hiddens" not in modern:
        hiddens = _head_hiddens(shapes)
        if hiddens:
            modern["head_fcnet_hiddens"] = hiddens
            modern.setdefault("head_fcnet_activation", modern.get("post_fcnet_activation", "relu"))
    if any(name.startswith("encoder.encoder.") for name in shapes):
        modern["vf_share_layers"] = True
    elif any(name.startswith("encoder.actor_encoder.") for name in shapes):
        modern["vf_share_layers"] = False
    if not any(name.endswith(_CLIP) for name in shapes):  # before Ray 2.10 there was no bound
        modern["log_std_clip_param"] = math.inf
    if "twin_q" not in modern and any(name.startswith("qf") for name in shapes):
        modern["twin_q"] = any(name.startswith("qf_twin") for name in shapes)
    if any(name.startswith("qf_encoder.net.mlp.") for name in shapes):
        modern.setdefault("qf_encoder_joins_inputs", True)
    return modern


def renamed_weights(names: Iterable[str], today: Iterable[str]) -> dict[str, str]:
    """Saved name to today's name, for copies that once had no underscore or had one.

    Example:
        >>> renamed_weights(["target_af.weight"], ["_target_af.weight"])
        {'target_af.weight': '_target_af.weight'}
    """
    all_names = set(today)
    renamed = {}
    for name in names:
        other = name[1:] if name.startswith("_") else f"_{name}"
        if name not in all_names and other in all_names:
            renamed[name] = other
    return renamed


def _head_hiddens(shapes: Mapping[str, tuple[int, ...]]) -> list[int]:
    """Sizes of a head's layers before its output."""
    for head in _HEADS:
        widths = {}
        for name, shape in shapes.items():
            match = _LINEAR.fullmatch(name.removeprefix(f"{head}."))
            if name.startswith(f"{head}.") and match and len(shape) == 2:
                widths[int(match[1])] = shape[0]
        if widths:
            return [widths[number] for number in sorted(widths)][:-1]
    return []
