"""What an old policy's file asks for beside its weights, held to what a file may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...core.limits.asking import check_count, check_space
from ...core.vault import PolicyRecord

_COUNTS: Final[Mapping[str, str]] = {
    "max_seq_len": "steps",
    "attention_memory_inference": "steps",
    "attention_memory_training": "steps",
    "attention_use_n_prev_actions": "steps",
    "attention_use_n_prev_rewards": "steps",
    "attention_num_transformer_units": "layers",
    "num_atoms": "atoms",
}
"""Settings of policies and their networks that say how many, and the bound on each."""

_NETWORKS: Final = (
    "model",
    "policy_model",
    "policy_model_config",
    "Q_model",
    "q_model_config",
    "_model_config_dict",
)


def check_asked(record: PolicyRecord, asked_settings: Mapping[str, Any] | None = None) -> None:
    """Hold what a policy's record asks for to its bounds.

    The caller's own settings among its config are held to nothing.
    """
    mine = asked_settings or {}
    for name in ("observation_space", "action_space"):
        if name not in mine:
            space = getattr(record, name)
            for each in (space, getattr(space, "original_space", None), record.config.get(name)):
                check_space(each, name, _call(name))
    _check(record.config, mine)
    for network in _NETWORKS:
        settings, network_settings = record.config.get(network), mine.get(network)
        if isinstance(settings, Mapping):
            _check(
                settings, network_settings if isinstance(network_settings, Mapping) else {}, network
            )


def _check(settings: Mapping[str, Any], mine: Mapping[str, Any], network: str = "") -> None:
    for name, value in settings.items():
        if name in mine:
            continue
        bound, call = _COUNTS.get(name), _call(name, network)
        if bound is not None:
            check_count(name, value, bound, call)
        elif isinstance(value, (list, tuple)) and str(name).endswith(("hiddens", "filters")):
            check_count(f"the length of {name}", len(value), "layers", call)
        elif name == "dim" and isinstance(value, int):
            check_count("dim, in pixels of three colours,", 3 * value**2, "numbers", call)


def _call(name: str, network: str = "") -> str:
    setting = f"{{{name!r}: ...}}"
    return (
        f"Policy.from_checkpoint(path, config={{{network!r}: {setting}}})"
        if network
        else (f"Policy.from_checkpoint(path, config={setting})")
    )
