"""From the vault's records to live policies."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...core.data.checked import count, mapping
from ...core.data.damage import at
from ...core.errors import MissingPartError, PipelineError
from ...core.limits.asking import check_count, check_space
from ...core.text.shell import command
from ...core.trust import Trust
from ...core.trust.names import words
from ...core.vault import Checkpoint, ConnectorRecord, PolicyRecord, open_checkpoint
from ...core.vault.chosen import chosen
from ...core.vault.readers.old_policy import merged_config, policy_record
from ...core.vault.records.records import warn_of_unsafe
from ..connectors.connector import ActionConnector, AgentConnector
from ..connectors.registry import UnknownConnectorError, unknown_connectors
from ..heads.family import described_networks, with_network
from ..observations.preprocessors import Preprocessor, register_custom_preprocessor
from .default_connectors import create_connectors_for_policy, restore_connectors_for_policy
from .record_parts import (
    algorithm_of,
    check_model,
    config_of,
    no_settings,
    spaces_of,
    torch_weights,
    with_given,
)

if TYPE_CHECKING:
    from .policy import Policy

_SAID: Final = ("observation_space", "action_space", "algorithm")
"""Options that replace what is missing in a checkpoint."""


def load_policies(
    cls: type[Policy],
    source: str | os.PathLike[str] | Checkpoint,
    policy_ids: Iterable[str] | None,
    **options: Any,
) -> Any:
    """A policy from a policy folder; a dict of policies from any other."""
    checkpoint = source if isinstance(source, Checkpoint) else open_checkpoint(source)
    warn_of_unsafe(checkpoint.unsafe)
    if not checkpoint.policies:
        raise _no_policies(checkpoint)
    if isinstance(policy_ids, str):
        policy_ids = [policy_ids]
    hint = f"see what it holds: {command('inspect', checkpoint.path)}"
    records = chosen(checkpoint.policies, policy_ids, checkpoint.path, hint=hint)
    settings = options.pop("config", None)
    networks = described_networks(checkpoint.policies, options.pop("model", None))
    replaced = {key: options.pop(key, None) for key in _SAID}
    options["others"] = [name for name, record in checkpoint.policies.items() if record.weights]
    built: dict[str, Policy] = {}
    for name, record in records.items():
        if settings is not None:
            record = replace(record, config=merged_config(record.config, settings))
        record = with_given(record, **replaced)
        is_bare = settings is None and checkpoint.stack == "old" and not record.config
        if is_bare and name not in networks:
            raise no_settings(record)
        if name in networks:
            record = replace(record, config=with_network(record.config, networks[name]))
        with at(f"policy {name!r}"):
            built[name] = build_policy(cls, record, given=settings, path=checkpoint.path, **options)
    if checkpoint.kind == "policy" and len(built) == 1 and policy_ids is None:
        return next(iter(built.values()))
    return built


def _no_policies(checkpoint: Checkpoint) -> MissingPartError:
    if checkpoint.modules:
        return MissingPartError(
            f"{checkpoint.path} holds new-stack modules, not policies",
            hint="load them with rlconnect.v2.RLModule.from_checkpoint(path).",
        )
    worst = [problem for problem in checkpoint.problems if problem.kind != "note"]
    first = next(iter((*worst, *checkpoint.problems)), None)
    return MissingPartError(
        f"{checkpoint.path} holds no policy that can be read",
        found=f"{first.where}: {first.what}" if first else "no policy at all",
        hint=(first.hint if worst and first else "")
        or f"see what is left: {command('inspect', checkpoint.path)}",
    )


def build_policy(cls: type[Policy], record: PolicyRecord, **options: Any) -> Policy:
    """A live policy from its record.

    Options are those of `Policy.from_checkpoint`, and `given`, the caller's part of the config.
    """
    check_asked(record, options.pop("given", None))
    path, others = options.pop("path", "PATH"), options.pop("others", [])
    trust = Trust.of(options.pop("trust", None))
    by_name = trust.by_name()
    custom_preprocessors = {
        **{
            name: thing
            for name, thing in by_name.items()
            if isinstance(thing, type) and issubclass(thing, Preprocessor)
        },
        **(options.pop("custom_preprocessors", None) or {}),
    }
    for kind in ("custom_models", "custom_distributions"):
        options[kind] = {**by_name, **(options.get(kind) or {})}
    connectors = [serialized(record.agent_connectors), serialized(record.action_connectors)]
    spaces = spaces_of(record)
    check_model(record, options["custom_models"], unknown_connectors(connectors, trust), path)
    if not record.weights:
        raise MissingPartError(
            f"policy {record.id!r} holds no weights",
            found=f"a {record.policy_class}" if record.policy_class else "",
            hint=f"its state file is damaged{_others(others)}",
        )
    algorithm = algorithm_of(record)
    policy = cls(
        *spaces,
        config_of(record),
        algorithm=algorithm,
        weights=torch_weights(record, algorithm),
        exploration_state=record.exploration_state or None,
        name=record.id,
        **options,
    )
    policy.record = record
    policy.trust = trust
    with at("global_timestep"):
        policy.global_timestep = count(record.global_timestep or 0)
    with at("num_grad_updates"):
        policy.num_grad_updates = count(record.extra.get("num_grad_updates") or 0)
    for name, preprocessor in custom_preprocessors.items():
        register_custom_preprocessor(name, preprocessor)
    _connect(policy, record)
    return policy


def _others(names: list[str]) -> str:
    """Return the call that loads the policies with weights, if there are any."""
    if not names:
        return "."
    call = f"Policy.from_checkpoint(path, policy_ids={names})"
    return f", or it never had weights (a rule-based policy): load the others with {call}."


def _connect(policy: Policy, record: PolicyRecord) -> None:
    """Restore the saved connectors of a policy, or create the defaults of its config."""
    if record.agent_connectors is None and record.action_connectors is None:
        create_connectors_for_policy(policy, policy.config)
        _follow_release(policy)
    else:
        restore_pipelines(
            policy, serialized(record.agent_connectors), serialized(record.action_connectors)
        )
    _restore_worker_filter(policy, record)


def _follow_release(policy: Policy) -> None:
    """Report the last action like the Ray version that wrote the policy, if no view uses it.

    Local inference of Ray 2.3 to 2.5 loses all history between steps. A policy that uses states or
    previous actions would compute wrong actions, so its history is kept. For all others, only the
    `actions` column differs, and it matches the recordings of those versions.
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
    missing = unknown_connectors([agent, action], policy.trust)
    if len(missing) > 1:  # A single one is reported with a suggestion when it is looked up.
        raise UnknownConnectorError(
            f"policy {policy.name!r} cannot be connected: no connectors named "
            f"{', '.join(map(repr, missing))}",
            hint="call register_connector() or register_lambda_agent_connector() for each, or "
            f"pass them: {words(missing)}.",
            kind="connector",
            suggestion=None,
            missing=missing,
        )
    with at("agent"):
        restored = None if agent is None else restore_connectors_for_policy(policy, agent)
    with at("action"):
        acting = None if action is None else restore_connectors_for_policy(policy, action)
    for pipeline, kind in ((restored, AgentConnector), (acting, ActionConnector)):
        if pipeline is not None and not isinstance(pipeline, kind):
            raise PipelineError(
                "the connectors of a policy", expected=kind.__name__, found=type(pipeline).__name__
            )
    policy.agent_connectors, policy.action_connectors = restored, acting  # type: ignore[assignment]
    _follow_release(policy)


def serialized(piece: ConnectorRecord | None) -> Any:
    """A connector record as the pair RLlib serialises it to."""
    if piece is None:
        return None
    if piece.is_pipeline:
        return (piece.name, [serialized(child) for child in piece.children])
    return (piece.name, piece.params)


def _restore_worker_filter(policy: Policy, record: PolicyRecord) -> None:
    """Copy the statistics of a rollout worker's filter into the pipeline's filter.

    Ray stores the filter separately if a policy has no connectors; Ray 2.0's own inference ignores
    it. A filter without observations is only added if the pipeline had one.
    """
    statistics = next((f for f in record.filters if f.is_from_worker), None)
    if statistics is None or policy.agent_connectors is None:
        return
    from ..connectors.agent.mean_std_filter import (
        MeanStdObservationFilterAgentConnector,
        mean_std_connector,
    )

    connector = mean_std_connector(policy, statistics)
    pipeline = policy.agent_connectors
    present = pipeline[MeanStdObservationFilterAgentConnector]
    if present:
        pipeline.connectors[pipeline.connectors.index(present[0])] = connector
    elif not max(statistics.count, default=0):
        return
    elif pipeline["StateBufferConnector"]:
        pipeline.insert_before("StateBufferConnector", connector)
    else:
        pipeline.append(connector)


@at()
def policy_from_state(cls: type[Policy], state: Mapping[str, Any], **options: Any) -> Policy:
    """A policy from what `get_state()` gave: RLlib's keys, plain data."""
    from pathlib import Path

    from ...core.vault.decode.load_limits import limits_in_force
    from ...core.vault.decoding import Decoding

    mapping(state)
    decoding = Decoding(Path("."), limits_in_force())
    name = str(options.pop("name", "default_policy"))
    record = policy_record(name, dict(state), decoding, "state")
    if "algorithm" in state and not record.algorithm:
        record = replace(record, algorithm=str(state["algorithm"]))
    return build_policy(cls, record, **options)


@at()
def restore_state(policy: Policy, state: Mapping[str, Any]) -> None:
    """Bring a live policy to a state that one like it gave."""
    with at("weights"):
        policy.set_weights(state["weights"])
    for name in ("global_timestep", "num_grad_updates"):
        with at(name):
            setattr(policy, name, count(0 if state.get(name) is None else state[name]))
    with at("_exploration_state"):
        explored = mapping(state.get("_exploration_state") or {})
        if explored:
            policy.exploration.set_state(explored)
    restore_connectors(policy, state)


@at("connector_configs")
def restore_connectors(policy: Policy, state: Mapping[str, Any]) -> None:
    """Restore the pipelines that a policy's state contains, if any."""
    pairs = state.get("connector_configs")
    if pairs is not None and mapping(pairs):
        restore_pipelines(policy, pairs.get("agent"), pairs.get("action"))


_COUNTS: Final[Mapping[str, str]] = {
    "max_seq_len": "steps",
    "attention_memory_inference": "steps",
    "attention_memory_training": "steps",
    "attention_use_n_prev_actions": "steps",
    "attention_use_n_prev_rewards": "steps",
    "attention_num_transformer_units": "layers",
    "num_atoms": "atoms",
}
"""Settings of policies and networks that are counts, and the limit of each."""

_NETWORKS: Final = (
    "model",
    "policy_model",
    "policy_model_config",
    "Q_model",
    "q_model_config",
    "_model_config_dict",
)


def check_asked(record: PolicyRecord, asked_settings: Mapping[str, Any] | None = None) -> None:
    """Check the settings in a policy's record against their limits.

    Settings that the caller passed are not checked.
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
