"""Settings of an old policy held against the weights beside them, before a network is built.

A policy acts with whatever of its weights a numpy network reads, and some settings only torch
looks at. Where both are there and do not agree, one of them is not this policy's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from ...core.errors import WeightsError
from ..heads.algorithms import FAMILIES
from ..heads.network_setting import network_in
from ..heads.sac_config import net_config
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
"""What names of weights begin with where dense layers see the observation."""

_SAC: Final = (
    (("policy_model_config", "policy_model"), "action_model."),
    (("q_model_config", "Q_model"), "q_net."),
)


class Claim(NamedTuple):
    """What settings say, and what the weights do.

    Attributes:
        setting: The setting with its value.
        says: What it says of the weights.
        weights: What they are.
    """

    setting: str
    says: str
    weights: str


def check_agreement(
    algorithm: str, config: Mapping[str, Any], weights: Mapping[str, Any], action_space: Any
) -> None:
    """Refuse settings that contradict the weights.

    Args:
        algorithm: The algorithm's name.
        config: The trainer config.
        weights: Arrays by the names of torch's networks.
        action_space: Where actions come from.

    Raises:
        WeightsError: They do, and one of them decides how the policy acts; both are named.
    """
    for claim in _claims(algorithm, config, weights, action_space):
        raise WeightsError(
            f"the settings of the policy and its weights disagree about {claim.setting[:_SHOWN]}",
            expected=claim.says[:_SHOWN],
            found=claim.weights[:_SHOWN],
            hint="give the config it was trained with: Policy.from_checkpoint(path, config={...}).",
            setting=claim.setting,
        )


def _claims(
    algorithm: str, config: Mapping[str, Any], weights: Mapping[str, Any], action_space: Any
) -> Iterator[Claim]:
    family = FAMILIES.get(algorithm, "")
    if network_in(config) is not None:
        return  # Each of its layers is held to its weights.
    if any(name.startswith("encoder.") for name in weights):
        return  # An RLModule in an old policy: its weights say how it is built.
    if family == "sac":
        for keys, prefix in _SAC:
            yield from _dense(net_config(config, *keys), _below(weights, prefix), keys[0])
        yield from _twins(config, weights, "q_net.", "twin_q_net.")
    elif family == "ddpg":
        for key, pattern in (
            ("actor_hiddens", "policy_model.action_{}"),
            ("critic_hiddens", "q_model.q_hidden_{}"),
        ):
            if any(name.startswith(pattern.partition("{")[0][:-1]) for name in weights):
                yield from _widths(config, key, _found_widths(weights, pattern))
        yield from _twins(config, weights, "q_model.", "twin_q_model.")
    else:
        model = config.get("model")
        settings = model if isinstance(model, Mapping) else {}
        yield from _dense(settings, weights, "model", is_q=family == "dqn")
        if family == "dqn":
            yield from _q_branches(config, weights, int(getattr(action_space, "n", 0)))


def _dense(
    model: Mapping[str, Any], weights: Mapping[str, Any], where: str, is_q: bool = False
) -> Iterator[Claim]:
    """Claims about a network of dense layers, perhaps with an LSTM or attention behind them."""
    said = {**MODEL_DEFAULTS, **model}
    hidden = _found_widths(weights, "_hidden_layers.{}")
    if said["custom_model"] or not weights or not all(map(_is_dense, weights)):
        return
    first, post = list(said["fcnet_hiddens"] or ()), list(said["post_fcnet_hiddens"] or ())
    asked = [*first, *post]
    ends_hidden = bool(said["no_final_linear"])
    is_other = hidden[:-1] != asked[:-1] or len(hidden) != len(asked)
    if is_other or (not ends_hidden and hidden != asked):
        names = "fcnet_hiddens" + (f" and post_fcnet_hiddens={post}" if post else "")
        yield Claim(
            f"{where}: {names.replace('fcnet_hiddens', f'fcnet_hiddens={first}', 1)}",
            f"layers of {asked} units",
            f"weights of layers of {hidden} units",
        )
    if ends_hidden and not is_q and any(name.startswith("_logits.") for name in weights):
        yield Claim(
            f"{where}: no_final_linear=True", "no layer of outputs", _presence("_logits.", weights)
        )
    cells = _rows(weights.get("lstm.weight_ih_l0"))
    if bool(said["use_lstm"]) != (cells is not None):
        yield Claim(
            f"{where}: use_lstm={said['use_lstm']}",
            "an LSTM" if said["use_lstm"] else "no LSTM",
            _presence("lstm.", weights),
        )
    elif cells is not None and cells != 4 * int(said["lstm_cell_size"]):
        yield Claim(
            f"{where}: lstm_cell_size={said['lstm_cell_size']}",
            f"lstm.weight_ih_l0 with {4 * int(said['lstm_cell_size'])} rows",
            f"{cells} rows",
        )
    for key, prefix in (("use_attention", "gtrxl."), ("free_log_std", "_append_free_log_std.")):
        has = any(name.startswith(prefix) for name in weights)
        if bool(said[key]) != has:
            yield Claim(
                f"{where}: {key}={said[key]}",
                f"{'' if said[key] else 'no '}weights of it",
                _presence(prefix, weights),
            )
    separate = any(name.startswith("_value_branch_separate.") for name in weights)
    if model.get("vf_share_layers") is True and separate:
        yield Claim(
            f"{where}: vf_share_layers=True", "one trunk", "weights of a value branch's own"
        )


def _q_branches(
    config: Mapping[str, Any], weights: Mapping[str, Any], num_actions: int
) -> Iterator[Claim]:
    hiddens = config.get("hiddens", [256])
    dueling, atoms = bool(config.get("dueling", True)), config.get("num_atoms", 1)
    noisy = bool(config.get("noisy", False))
    has_value = any(name.startswith("value_module.") for name in weights)
    if (has_value and not dueling) or (dueling and not has_value and (hiddens or noisy)):
        yield Claim(
            f"dueling={dueling}",
            "a value branch" if dueling else "no value branch",
            _presence("value_module.", weights),
        )
    has_noise = any(name.endswith(".sigma_w") for name in weights)
    has_branch = any(name.startswith("advantage_module.") for name in weights)
    if has_branch and noisy != has_noise:
        yield Claim(
            f"noisy={noisy}",
            "noisy layers" if noisy else "no noisy layers",
            _presence("advantage_module.", weights),
        )
    yield from _widths(config, "hiddens", _found_widths(weights, "advantage_module.dueling_A_{}"))
    outputs = _found_width(weights, "advantage_module.A")
    if outputs is not None and outputs != num_actions * int(atoms):
        yield Claim(
            f"num_atoms={atoms}",
            f"{num_actions} times {atoms} outputs",
            f"weights advantage_module.A of {outputs}",
        )


def _twins(
    config: Mapping[str, Any], weights: Mapping[str, Any], first: str, twin: str
) -> Iterator[Claim]:
    has_first, has_twin = (any(n.startswith(p) for n in weights) for p in (first, twin))
    said = config.get("twin_q")
    if said is not None and has_first and bool(said) != has_twin:
        yield Claim(
            f"twin_q={said}",
            "two Q networks" if said else "one Q network",
            _presence(twin, weights),
        )


def _widths(config: Mapping[str, Any], key: str, found: list[int]) -> Iterator[Claim]:
    if key in config and list(config[key] or ()) != found:
        yield Claim(
            f"{key}={config[key]}",
            f"layers of {list(config[key] or ())} units",
            f"weights of layers of {found} units",
        )


def _is_dense(name: str) -> bool:
    return name.startswith(_DENSE)


def _below(weights: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}


def _found_widths(weights: Mapping[str, Any], pattern: str) -> list[int]:
    found: list[int] = []
    while (width := _found_width(weights, pattern.format(len(found)))) is not None:
        found.append(width)
    return found


def _found_width(weights: Mapping[str, Any], name: str) -> int | None:
    noise = weights.get(f"{name}.sigma_b")
    return _rows(weights.get(f"{name}._model.0.weight") if noise is None else noise)


def _rows(value: Any) -> int | None:
    return int(np.shape(value)[0]) if np.ndim(value) else None


def _presence(prefix: str, weights: Mapping[str, Any]) -> str:
    name = next((name for name in weights if name.startswith(prefix)), None)
    if name is None:
        return f"no weights {prefix}*"
    return f"weights {name} of shape {np.shape(weights[name])}"
