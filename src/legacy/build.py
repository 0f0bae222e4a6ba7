"""From the vault's records to live policies."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Space

from ..core.errors import ConfigError, MissingPartError, UnknownNameError
from ..core.vault import Checkpoint, ConnectorRecord, PolicyRecord, WeightTable, open_checkpoint
from ..core.vault.decode.standins import GlobalRef
from ..core.vault.old_policy import FLAT_WEIGHTS, merged_config, policy_record
from .defaults import create_connectors_for_policy, restore_connectors_for_policy
from .models.registered import CUSTOM_MODELS
from .preprocessors import get_preprocessor_for_space, register_custom_preprocessor
from .schedules import class_name

if TYPE_CHECKING:
    from .policy import Policy

# Config keys whose values are the model settings of a network: "model", SAC's two...
_MODEL_SETTINGS = ("model", "model_config", "Q_model")
# Networks that an exploration keeps among the policy's weights, for training alone.
_TRAINING_ONLY = ("_curiosity_",)


def load_policies(
    cls: type[Policy],
    path: str | os.PathLike[str],
    policy_ids: Iterable[str] | None,
    **options: Any,
) -> Any:
    """A policy from a policy folder; a dict of policies from any other."""
    checkpoint = open_checkpoint(path)
    if not checkpoint.policies:
        raise _no_policies(checkpoint)
    if isinstance(policy_ids, str):
        policy_ids = [policy_ids]
    wanted = list(checkpoint.policies) if policy_ids is None else list(policy_ids)
    for name in wanted:
        if name not in checkpoint.policies:
            raise UnknownNameError(
                f"no policy {name!r} in {checkpoint.path}",
                expected=", ".join(map(repr, checkpoint.policies)),
                hint=f"rlconnect inspect {checkpoint.path} shows what it holds.",
            )
    settings = options.pop("config", None)
    built: dict[str, Policy] = {}
    for name in wanted:
        record = checkpoint.policies[name]
        if settings is not None:
            record = replace(record, config=merged_config(record.config, settings))
        elif checkpoint.stack == "old" and not record.config:
            raise _no_settings(record)
        built[name] = build_policy(cls, record, **options)
    if checkpoint.kind == "policy" and len(built) == 1 and policy_ids is None:
        return next(iter(built.values()))
    return built


def _no_policies(checkpoint: Checkpoint) -> MissingPartError:
    if checkpoint.modules:
        return MissingPartError(
            f"{checkpoint.path} holds new-stack modules, not policies",
            hint="load them with rlconnect.v2.RLModule.from_checkpoint(path).",
        )
    first = checkpoint.problems[0] if checkpoint.problems else None
    return MissingPartError(
        f"{checkpoint.path} holds no policy that can be read",
        found=f"{first.where}: {first.what}" if first else "no policy at all",
        hint=f"rlconnect inspect {checkpoint.path} tells what is left.",
    )


def build_policy(cls: type[Policy], record: PolicyRecord, **options: Any) -> Policy:
    """A live policy from its record.

    Args:
        cls: The class to make.
        record: What the vault read.
        **options: As for `Policy.from_checkpoint`.

    Raises:
        ConfigError: Spaces or config are lost, or the network is a class that was not supplied.
    """
    custom_preprocessors = options.pop("custom_preprocessors", None)
    spaces = _spaces(record)
    _check_model(record, options.get("custom_models"))
    if not record.weights:
        raise MissingPartError(
            f"policy {record.id!r} holds no weights",
            found=f"a {record.policy_class}" if record.policy_class else "",
            hint="where it never had some (it acted at random, or by rules), name the others: "
            "Policy.from_checkpoint(path, policy_ids=[...]); else its state file is damaged.",
        )
    algorithm = _algorithm(record)
    policy = cls(
        *spaces,
        _config(record),
        algorithm=algorithm,
        weights=torch_weights(record, algorithm),
        exploration_state=record.exploration_state or None,
        name=record.id,
        **options,
    )
    policy.record = record
    policy.global_timestep = record.global_timestep or 0
    policy.num_grad_updates = int(record.extra.get("num_grad_updates") or 0)
    for name, preprocessor in (custom_preprocessors or {}).items():
        register_custom_preprocessor(name, preprocessor)
    _connect(policy, record)
    return policy


def _no_settings(record: PolicyRecord) -> ConfigError:
    """The error for a file without settings: weights do not tell how a network computes."""
    _spaces(record)  # a worse loss is told first
    return ConfigError(
        f"policy {record.id!r} has lost its config, so its network cannot be rebuilt",
        found=_shapes(record),
        hint="lay the trial's params.pkl or params.json beside the checkpoint, or give what it was "
        'trained with: Policy.from_checkpoint(path, config={"model": {...}}), config={} for '
        "RLlib's defaults.",
    )


def _shapes(record: PolicyRecord) -> str:
    shapes = ", ".join(f"{n} {record.weights.describe(n)[0]}" for n in list(record.weights)[:12])
    return f"weights {shapes}" if shapes else "no weights either"


def _spaces(record: PolicyRecord) -> tuple[Space[Any], Space[Any]]:
    observation_space, action_space = record.observation_space, record.action_space
    given = [record.config.get(name) for name in ("observation_space", "action_space")]
    if observation_space is None and isinstance(given[0], Space):
        observation_space = _preprocessed(given[0], record.config)
    if action_space is None and isinstance(given[1], Space):
        action_space = given[1]
    if observation_space is None or action_space is None:
        raise ConfigError(
            f"policy {record.id!r} has lost its spaces, so its network cannot be rebuilt",
            found=_shapes(record),
            hint="give the environment's, and what it was trained with: Policy.from_checkpoint("
            'path, config={"observation_space": ..., "action_space": ..., "model": {...}}).',
        )
    return observation_space, action_space


def _preprocessed(space: Space[Any], config: Mapping[str, Any]) -> Space[Any]:
    """What a policy sees of an environment's observations."""
    if config.get("_disable_preprocessor_api"):
        return space
    return get_preprocessor_for_space(space, config.get("model")).observation_space


def _check_model(record: PolicyRecord, supplied: Mapping[str, Any] | None) -> None:
    name = record.custom_model
    if not name or name in (supplied or {}) or name in CUSTOM_MODELS:
        return
    held = record.model_config.get("custom_model")
    if isinstance(held, type):
        return
    shapes = "\n".join(
        f"    {n}  {record.weights.describe(n)[0]}  {record.weights.describe(n)[1]}"
        for n in record.weights
    )
    raise ConfigError(
        f"policy {record.id!r} computes with the custom model {name!r}, whose code is not in the "
        f"checkpoint; its weights are:\n{shapes}",
        hint=f"supply it: Policy.from_checkpoint(path, custom_models={{{name!r}: YourModel}}), a "
        "TorchModelV2 or any torch module.",
        model=name,
    )


def _config(record: PolicyRecord) -> Mapping[str, Any]:
    """The config with `model` as what the network was made from.

    An RLModule in an old policy of Ray 2.20 or 2.35 goes by `_model_config_dict` alone, and no
    RLModule of an old policy looks at `custom_action_dist`.
    """
    config = {key: _plain_setting(key, value) for key, value in record.config.items()}
    if record.holds_module_weights:
        own = record.config.get("_model_config_dict")
        model = own if isinstance(own, Mapping) else config.get("model") or {}
        config["model"] = {**model, "custom_action_dist": None}
    if FLAT_WEIGHTS in record.weights:  # ES and ARS let the network's actions as they are
        config.update(normalize_actions=False, clip_actions=False)
    return config


def _plain_setting(key: str, value: Any) -> Any:
    """A setting with torch's activation classes as their names, in model settings as well."""
    if isinstance(value, Mapping) and key.endswith(_MODEL_SETTINGS):
        return {inner: _plain_setting(inner, held) for inner, held in value.items()}
    is_class = isinstance(value, GlobalRef) and key.endswith("_activation")
    return class_name(value.path) if is_class else value


def _algorithm(record: PolicyRecord) -> str:
    if record.algorithm:
        return record.algorithm
    raise ConfigError(
        f"policy {record.id!r} does not say which algorithm wrote it",
        found=record.policy_class or "no policy class",
        hint="build it by hand: Policy(spaces, config, algorithm=..., weights=...).",
    )


def torch_weights(record: PolicyRecord, algorithm: str) -> dict[str, np.ndarray[Any, Any]]:
    """The record's weights under the names of torch networks."""
    weights: WeightTable = record.weights
    if FLAT_WEIGHTS in weights:
        from .heads.evolution import unflattened
        from .heads.registry import build_head

        fresh = build_head(algorithm, *_spaces(record), record.config).model
        return unflattened(fresh, weights[FLAT_WEIGHTS])
    if record.framework in ("tf", "tf2") and (not weights.named or any("/" in n for n in weights)):
        from .tf.weights import tf_to_torch_names

        held = dict(weights) if weights.named else list(weights.values())
        observation_space, action_space = _spaces(record)
        return tf_to_torch_names(
            held,
            algorithm=algorithm,
            observation_space=observation_space,
            action_space=action_space,
            config=record.config,
        )
    return {name: part for name, part in weights.items() if not name.startswith(_TRAINING_ONLY)}


def _connect(policy: Policy, record: PolicyRecord) -> None:
    """Give the policy the connectors it was saved with, or its config's defaults."""
    if record.agent_connectors is None and record.action_connectors is None:
        create_connectors_for_policy(policy, policy.config)
        _follow_release(policy)
    else:
        restore_pipelines(
            policy, serialized(record.agent_connectors), serialized(record.action_connectors)
        )
    _restore_worker_filter(policy, record)


def _follow_release(policy: Policy) -> None:
    """Report the last action as the release that wrote the policy does, where nobody reads it.

    Local inference of Ray 2.3 to 2.5 forgets everything between steps. A policy that looks at its
    states or earlier actions would act wrongly so, and is carried on; for others only the
    `actions` column differs, and there the recordings of those releases decide.
    """
    ray_version = policy.record.ray_version if policy.record else ""
    if policy.agent_connectors is None or not re.match(r"2\.[345]\.", ray_version):
        return
    needed = [v for v in policy.view_requirements.items() if v[1].used_for_compute_actions]
    if all((view.data_col or name) == "obs" for name, view in needed):
        for connector in policy.agent_connectors["StateBufferConnector"]:
            connector.carries_actions = False


def restore_pipelines(policy: Policy, agent: Any, action: Any) -> None:
    """Rebuild both pipelines from their serialised pairs; for None the policy has none."""
    restored: Any = [
        None if pair is None else restore_connectors_for_policy(policy, pair)
        for pair in (agent, action)
    ]
    policy.agent_connectors, policy.action_connectors = restored
    _follow_release(policy)


def serialized(piece: ConnectorRecord | None) -> Any:
    """A connector record as the pair RLlib serialises it to."""
    if piece is None:
        return None
    if piece.is_pipeline:
        return (piece.name, [serialized(child) for child in piece.children])
    return (piece.name, piece.params)


def _restore_worker_filter(policy: Policy, record: PolicyRecord) -> None:
    """Put statistics that a rollout worker kept into the pipeline's filter.

    Ray keeps the filter beside a policy that has no connectors; Ray 2.0's own inference forgets
    it there. One that never saw an observation stands in a pipeline only where one stood.
    """
    found = next((f for f in record.filters if f.is_from_worker), None)
    if found is None or policy.agent_connectors is None:
        return
    from .agent.mean_std_filter import (
        MeanStdObservationFilterAgentConnector,
        mean_std_connector,
    )

    connector = mean_std_connector(policy, found)
    pipeline = policy.agent_connectors
    present = pipeline[MeanStdObservationFilterAgentConnector]
    if present:
        pipeline.connectors[pipeline.connectors.index(present[0])] = connector
    elif not max(found.count, default=0):
        return
    elif pipeline["StateBufferConnector"]:
        pipeline.insert_before("StateBufferConnector", connector)
    else:
        pipeline.append(connector)


def policy_from_state(cls: type[Policy], state: Mapping[str, Any], **options: Any) -> Policy:
    """A policy from what `get_state()` gave: RLlib's keys, plain data."""
    from pathlib import Path

    from ..core.vault.decoding import Decoding
    from ..core.vault.limits import DEFAULT_LIMITS

    decoding = Decoding(Path("."), DEFAULT_LIMITS)
    name = str(options.pop("name", "default_policy"))
    record = policy_record(name, dict(state), decoding, "state")
    if "algorithm" in state and not record.algorithm:
        record = replace(record, algorithm=str(state["algorithm"]))
    return build_policy(cls, record, **options)


def restore_state(policy: Policy, state: Mapping[str, Any]) -> None:
    """Bring a live policy to a state that one like it gave."""
    policy.set_weights(state["weights"])
    policy.global_timestep = int(state.get("global_timestep") or 0)
    policy.num_grad_updates = int(state.get("num_grad_updates") or 0)
    if state.get("_exploration_state"):
        policy.exploration.set_state(state["_exploration_state"])
    if state.get("connector_configs"):
        pairs = state["connector_configs"]
        restore_pipelines(policy, pairs.get("agent"), pairs.get("action"))
