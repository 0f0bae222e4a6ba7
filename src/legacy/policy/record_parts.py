"""Read the parts of a policy's record; a missing part is reported, never invented."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from gymnasium.spaces import MultiDiscrete, Space

from ...core.algorithms import family_of
from ...core.errors import ConfigError, RlconnectError, SpaceError, UnknownNameError
from ...core.formulas.schedules import class_name
from ...core.importing.torch_needed import torch_needed
from ...core.trust.names import words
from ...core.vault import PolicyRecord, WeightTable
from ...core.vault.decode.standins import GlobalRef, class_path
from ...core.vault.readers.old_policy import FLAT_WEIGHTS
from ...core.vault.shape_hints import space_hint, told_hiddens, told_sizes
from ..distributions.action_leaves import leaf_spaces
from ..distributions.registered import CUSTOM_MODELS
from ..heads.family import algorithm_named, family, network_in
from ..models.defaults import MODEL_DEFAULTS
from ..observations.preprocessors import get_preprocessor_for_space

# Config keys whose values are the model settings of a network: "model", SAC's two...
_MODEL_SETTINGS: Final = ("model", "model_config", "Q_model")
_EXPLORATIONS: Final = ("exploration_config", "sub_exploration")
_TENSORFLOW: Final = ("tf", "tf2")
_OWN_VALUE_NET: Final = re.compile(r"_value_branch_separate\.|/(?:fc|conv)_value_")
_VALUE_NET: Final = re.compile(r"_value_branch\.|/value_out/")
# Networks that an exploration keeps among the policy's weights, for training alone.
_TRAINING_ONLY: Final = ("_curiosity_",)


def spaces_of(record: PolicyRecord) -> tuple[Space[Any], Space[Any]]:
    """Return both spaces, from the record or else from its config."""
    observation_space, action_space = record.observation_space, record.action_space
    of_config: list[Any] = [
        record.config.get(name) for name in ("observation_space", "action_space")
    ]
    if observation_space is None and isinstance(of_config[0], Space):
        observation_space = _preprocessed(of_config[0], record.config)
    if action_space is None and isinstance(of_config[1], Space):
        action_space = of_config[1]
    if observation_space is None or action_space is None:
        hint = space_hint(record)
        settings = "" if record.config else f", {_config(record)}"
        raise ConfigError(
            f"policy {record.id!r} has lost its spaces, so its network cannot be rebuilt"
            f"{hint and f'; {hint}'}",
            found=_shapes(record),
            hint="pass those of the environment: rlconnect.load(path, observation_space=..., "
            f"action_space=...{settings}) gives what every other call takes.",
            lost="spaces",
        )
    if re.match(r"(1|2\.0)\.", record.ray_version):
        _check_one_hots(record, observation_space)
    return observation_space, action_space


def with_given(
    record: PolicyRecord, observation_space: Any, action_space: Any, algorithm: Any
) -> PolicyRecord:
    """Return the record with the spaces and the algorithm that the caller passed.

    A space may be a dict keyed by policy id; None keeps the recorded one.
    """
    changes: dict[str, Any] = {}
    if algorithm is not None:
        changes["algorithm"] = algorithm_named(algorithm)
    for name, setting in (("observation_space", observation_space), ("action_space", action_space)):
        space = setting.get(record.id) if type(setting) is dict else setting
        if space is None:
            continue
        if not isinstance(space, Space):
            raise SpaceError(
                f"{name} of policy {record.id!r}",
                expected="a space of gymnasium",
                found=type(space).__name__,
            )
        changes[name] = space
    record = replace(record, **changes)
    for name in ("observation_space", "action_space"):
        if name in changes:
            _check_space(record, name, changes[name])
    sees = changes.get("observation_space")
    if sees is not None and not hasattr(sees, "original_space"):
        record = replace(record, observation_space=_preprocessed(sees, record.config))
    return record


def _check_space(record: PolicyRecord, name: str, space: Space[Any]) -> None:
    """Refuse a space that the first layer or the head of the network is not made for."""
    sizes = told_sizes(record.weights)
    if name == "observation_space":
        expected, weight = sizes.inputs, sizes.first
        shape = _preprocessed(space, record.config).shape
        sizes_of_space = [int(np.prod(shape))] if shape and len(shape) == 1 else []
    else:
        expected, weight = sizes.outputs, sizes.head
        sizes_of_space = _head_sizes(record, space)
    if expected is not None and sizes_of_space and expected not in sizes_of_space:
        kind = "takes" if name == "observation_space" else "gives"
        raise SpaceError(
            f"the {name} given for policy {record.id!r} does not fit its weights",
            expected=f"one for a network that {kind} {expected} numbers ({weight!r})",
            found=f"{space}, which needs {sizes_of_space[0]}",
            hint=space_hint(record),
        )


def _head_sizes(record: PolicyRecord, space: Space[Any]) -> list[int]:
    """Return the possible output sizes of a head for an action space; empty if unknown."""
    algorithm = record.algorithm or "PPO"
    if record.custom_model or record.model_config.get("custom_action_dist"):
        return []
    try:
        algorithm = algorithm_named(algorithm)
        size = family(algorithm).distribution(space, algorithm, record.config).size
    except RlconnectError:
        return []
    atoms = record.config.get("num_atoms")
    if family_of(algorithm) == "dqn" and type(atoms) is int and atoms > 1:
        return [size * atoms]
    has_own_deviations = any(name.endswith("log_std") for name in record.weights)
    return [size // 2] if has_own_deviations else [size]


def _check_one_hots(record: PolicyRecord, space: Space[Any]) -> None:
    """Refuse matrices of choices: up to Ray 2.0 those of one row shared their places."""
    for leaf in leaf_spaces(getattr(space, "original_space", space)):
        if isinstance(leaf, MultiDiscrete) and leaf.nvec.ndim > 1:
            raise ConfigError(
                f"policy {record.id!r} learnt from matrices of choices as Ray {record.ray_version} "
                "encoded them, several choices to one place",
                expected="observations without a MultiDiscrete of two axes",
                found=str(leaf),
                hint="its weights are readable with rlconnect.open_checkpoint(path).",
            )


def _preprocessed(space: Space[Any], config: Mapping[str, Any]) -> Space[Any]:
    """Return the space of preprocessed observations."""
    if config.get("_disable_preprocessor_api"):
        return space
    return get_preprocessor_for_space(space, config.get("model")).observation_space


def no_settings(record: PolicyRecord) -> ConfigError:
    """The error for a file without settings: weights do not tell how a network computes."""
    spaces_of(record)  # missing spaces are reported first
    return ConfigError(
        f"policy {record.id!r} has lost its config, so its network cannot be rebuilt",
        found=_shapes(record),
        hint="put the trial's params.pkl or params.json next to the checkpoint, or pass its "
        f"settings: Policy.from_checkpoint(path, {_config(record)}), config={{}} for RLlib's "
        "defaults; "
        "fcnet_activation if it was not tanh.",
    )


def _config(record: PolicyRecord) -> str:
    """The settings of the network as an argument, as far as weights show them."""
    hiddens = told_hiddens(record.weights)
    model = f'{{"fcnet_hiddens": {hiddens}}}' if hiddens else "{...}"
    return f'config={{"model": {model}}}'


def _shapes(record: PolicyRecord) -> str:
    shapes = ", ".join(f"{n} {record.weights.describe(n)[0]}" for n in list(record.weights)[:12])
    return f"weights {shapes}" if shapes else "no weights either"


def check_model(
    record: PolicyRecord,
    supplied: Mapping[str, Any],
    missing: Sequence[str] = (),
    path: str = "PATH",
) -> None:
    """Raise an error if the network of a policy is a custom class that was not passed.

    The error also lists `missing` connectors.
    """
    name = record.custom_model
    if network_in(record.config) is not None:
        return
    classes = {*supplied, *CUSTOM_MODELS}
    if not name or name in classes or name.rpartition(".")[2] in classes:
        return
    setting = record.model_config.get("custom_model")
    if isinstance(setting, type):
        return
    from ...core.vault.next_steps import describe_hint

    shapes = "\n".join(
        f"    {n}  {record.weights.describe(n)[0]}  {record.weights.describe(n)[1]}"
        for n in record.weights
    )
    raise ConfigError(
        f"policy {record.id!r} computes with the custom model {name!r}, whose code is not in the "
        f"checkpoint; its weights are:\n{shapes}",
        hint=f"{describe_hint(path)} Or supply its class: Policy.from_checkpoint(path, "
        f"custom_models={{{name!r}: YourModel}}), a TorchModelV2 or any torch module"
        + (f", and the classes of its connectors: {words(missing)}." if missing else "."),
        model=name,
    )


def config_of(record: PolicyRecord) -> Mapping[str, Any]:
    """The config with `model` as what the network was made from.

    An RLModule in an old policy of Ray 2.20 or 2.35 goes by `_model_config_dict` alone, and no
    RLModule of an old policy looks at `custom_action_dist`.
    """
    config = {key: _plain_setting(key, value) for key, value in record.config.items()}
    if re.match(r"0\.|1\.[0-4]\b", record.ray_version):  # clipped, and not stretched
        stretches = family_of(record.algorithm) == "sac"  # before all algorithms did
        config = {"normalize_actions": stretches, "clip_actions": True} | config
    config["model"] = _model_settings(record, config)
    if re.match(r"2\.[0-3]\.", record.ray_version):  # SAC's networks did not see `model` then
        for key in ("policy_model_config", "q_model_config"):
            if isinstance(config.get(key), Mapping):
                config[key] = {**MODEL_DEFAULTS, **config[key]}
    if record.holds_module_weights:
        of_module = record.config.get("_model_config_dict")
        model = of_module if isinstance(of_module, Mapping) else config.get("model") or {}
        config["model"] = {**model, "custom_action_dist": None}
    if FLAT_WEIGHTS in record.weights:  # ES and ARS do not change the network's actions
        config.update(normalize_actions=False, clip_actions=False)
    return config


def _model_settings(record: PolicyRecord, config: Mapping[str, Any]) -> dict[str, Any]:
    """The model's settings under the names, and at the places, of later releases."""
    model = dict(config["model"]) if isinstance(config.get("model"), Mapping) else {}
    if "custom_options" in model:  # up to Ray 0.8
        model.setdefault("custom_model_config", model["custom_options"])
    if record.custom_model and not model.get("custom_model"):  # an RLModule of its author's
        model |= {"custom_model": record.custom_model, "custom_action_dist": None}
    if "vf_share_layers" in model and not isinstance(config.get("vf_share_layers"), bool):
        return model
    # Until Ray 0.8 the setting was outside `model`, and some networks ignored it.
    if any(_OWN_VALUE_NET.search(name) for name in record.weights):
        model["vf_share_layers"] = False
    elif any(_VALUE_NET.search(name) for name in record.weights):
        model["vf_share_layers"] = True
    elif isinstance(config.get("vf_share_layers"), bool):
        model["vf_share_layers"] = config["vf_share_layers"]
    return model


def _plain_setting(key: str, value: Any) -> Any:
    """A setting with activations and explorations that are classes as their names."""
    if isinstance(value, Mapping) and key.endswith((*_MODEL_SETTINGS, *_EXPLORATIONS)):
        return {inner: _plain_setting(inner, inner_value) for inner, inner_value in value.items()}
    if key == "type" and not isinstance(value, str):  # of an exploration
        path = class_path(value)
        return (path if "." in path else f"__main__.{path}") if path else value
    is_class = isinstance(value, (GlobalRef, Mapping)) and key.endswith("_activation")
    return class_name(class_path(value)) if is_class else value


def algorithm_of(record: PolicyRecord) -> str:
    """The algorithm whose network and way of acting the policy has."""
    if not record.algorithm:
        raise ConfigError(
            f"policy {record.id!r} does not say which algorithm wrote it",
            found=record.policy_class or "no policy class",
            hint='name it: Policy.from_checkpoint(path, algorithm="PPO").',
        )
    try:
        return algorithm_named(record.algorithm)
    except UnknownNameError as error:
        raise UnknownNameError(
            f"policy {record.id!r} is one of {record.algorithm} ({record.policy_class}), which "
            "rlconnect cannot act with",
            found=_shapes(record),
            hint="its weights are arrays by name: rlconnect.open_checkpoint(path).policies["
            f"{record.id!r}].weights; {error.hint}",
            name=record.algorithm,
        ) from None


def torch_weights(record: PolicyRecord, algorithm: str) -> dict[str, np.ndarray[Any, Any]]:
    """The record's weights under the names of torch networks."""
    weights: WeightTable = record.weights
    if network_in(record.config) is not None:  # It uses the original names.
        return {name: part for name, part in weights.items() if not name.startswith(_TRAINING_ONLY)}
    is_tf = record.framework in _TENSORFLOW
    if FLAT_WEIGHTS in weights:
        if is_tf or record.config.get("framework") in _TENSORFLOW:
            raise ConfigError(
                f"the weights of policy {record.id!r} are one vector in TensorFlow's order",
                hint="it is readable with rlconnect.open_checkpoint(path).",
            )
        with torch_needed(f"the network of this {algorithm} policy"):
            from ...core.limits.weight_room import WeightRoom
            from ..heads.evolution import unflattened
            from ..heads.registry import build_head

        flat = weights[FLAT_WEIGHTS]
        with WeightRoom(4 * np.size(flat), 1, f"policy {record.id!r}"):
            fresh = build_head(algorithm, *spaces_of(record), config_of(record)).model
        return unflattened(fresh, flat)
    if is_tf and (not weights.named or any("/" in name for name in weights)):
        from ..heads.tf_weights import tf_to_torch_names

        arrays = dict(weights) if weights.named else list(weights.values())
        observation_space, action_space = spaces_of(record)
        return tf_to_torch_names(
            arrays,
            algorithm=algorithm,
            observation_space=observation_space,
            action_space=action_space,
            config=config_of(record),
        )
    return {name: part for name, part in weights.items() if not name.startswith(_TRAINING_ONLY)}
