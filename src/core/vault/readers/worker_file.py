"""Formats 0 and 0.1: one `checkpoint-<n>` file, a pickled rollout worker inside a pickle.

Ray 1 writes no settings into it. Tune keeps them as `params.pkl` and `params.json` in the trial's
folder, which is the one above; whoever takes a checkpoint away lays them beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...errors import CheckpointError, CorruptCheckpointError
from ..decode.standins import class_path, integer, mapping_of
from ..decoding import Decoding
from ..file_names import PICKLED_SETTINGS, PLAIN_SETTINGS, TUNE_NOTE
from ..files.reading import read_json
from ..layout import Node
from ..names import algorithm_name
from ..records.records import Checkpoint, PolicyRecord
from ..shape_hints import told_algorithm
from .old_policy import flat_policies, plain_config, policy_record, policy_state

_EARLY: Final = "1.4 or older"
"""What wrote a policy without a word on its exploration, where no file names the release."""
_DATED: Final = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9.:-]+)*_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\w*")
"""How Tune names a trial or an experiment: algorithm, environment, numbers, date."""

# Settings that one family of algorithms has; the first that is there decides.
_TELLING: Final = (
    ("DQN", ("dueling", "double_q", "num_atoms", "noisy")),
    ("SAC", ("target_entropy", "initial_alpha", "Q_model", "q_model_config")),
    ("TD3", ("policy_delay", "smooth_target_policy", "actor_hiddens", "critic_hiddens")),
    ("PPO", ("sgd_minibatch_size", "num_sgd_iter", "kl_coeff", "kl_target", "clip_param")),
    ("IMPALA", ("vtrace", "vtrace_clip_rho_threshold", "num_multi_gpu_tower_stacks")),
    ("MARWIL", ("beta", "bc_logstd_coeff")),
)
_FAMILY: Final = {"TD3": "DDPG", "CQL": "SAC", "APEX": "DQN"} | dict.fromkeys(
    ("PG", "A2C", "A3C", "IMPALA", "APPO", "MARWIL", "BC"), "PPO"
)


def read_worker_file(node: Node, decoding: Decoding) -> Checkpoint:
    """The records of a `checkpoint-<n>` file."""
    if node.state_file is None:  # a worker node is made of that file
        raise CorruptCheckpointError(f"{node.path} has no file to read")
    place = decoding.place(node.state_file)
    outer = mapping_of(decoding.require(node.state_file, "worker"))
    inner = outer.get("worker")
    if isinstance(inner, (bytes, memoryview)):
        inner = decoding.decode_bytes(inner, f"{place} (worker)", "pickle")
    worker = mapping_of(inner)
    saved = mapping_of(worker.get("state")) or mapping_of(outer.get("state"))
    states = {name: policy_state(state) for name, state in saved.items()}
    folder = node.path.parent if os.path.isfile(node.path) else node.path
    config = plain_config(worker.get("policy_config") or {}) or _trial_settings(folder, decoding)
    tune = _tune_metadata(node, folder, decoding)
    ray_version = str(tune.get("ray_version") or "")
    policies = flat_policies(outer, decoding, place, base_config=config, ray_version=ray_version)
    if not states and not policies:
        raise CorruptCheckpointError(
            f"{place} is a pickle of something else",
            expected="a rollout worker with the state of its policies",
            found=", ".join(map(repr, list(worker or outer)[:6])) or "no keys at all",
        )
    saved_specs = mapping_of(worker.get("policy_specs"))
    specs = {**mapping_of(mapping_of(config.get("multiagent")).get("policies")), **saved_specs}
    filters = {str(key): saved for key, saved in mapping_of(worker.get("filters")).items()}
    algorithm = algorithm_name(class_path(worker.get("policy_config")))
    policies |= {
        policy_id: policy_record(
            policy_id,
            state,
            decoding,
            place,
            spec=specs.get(policy_id),
            base_config=config,
            algorithm=algorithm,
            worker_filter=filters.get(policy_id),
            ray_version=ray_version or ("" if "_exploration_state" in state else _EARLY),
        )
        for policy_id, state in states.items()
        if state
    }
    policies = _with_algorithms(policies, folder, decoding)
    first = next(iter(policies.values()), None)
    executed = mapping_of(outer.get("train_exec_impl"))
    counters = mapping_of(executed.get("counters")) or mapping_of(outer.get("counters"))
    return Checkpoint(
        path=str(folder),
        kind="algorithm",
        stack="old",
        # Version 0.1 keeps nothing beside the worker, and its policies' specs in it.
        version="0.1" if saved_specs and set(outer) == {"worker"} else "0",
        encoding="pickle",
        ray_version=ray_version,
        algorithm=first.algorithm if first else "",
        environment=class_path(config.get("env")),
        policies=policies,
        config=config,
        counters=counters,
        training_iteration=_iteration(tune, node),
        extra={key: value for key, value in outer.items() if key != "worker"},
    )


def _with_algorithms(
    policies: Mapping[str, PolicyRecord], folder: Path, decoding: Decoding
) -> dict[str, PolicyRecord]:
    """The policies with an algorithm each, where the files name none and something else tells."""
    completed = dict(policies)
    for name, record in policies.items():
        if record.algorithm or record.custom_model or not record.weights:
            continue
        algorithm, source = _trial_algorithm(folder, record.config, record.weights)
        if algorithm:
            completed[name] = replace(record, algorithm=algorithm)
            decoding.problem(
                record.where,
                f"policy {name!r} names no algorithm; it acts as one of {algorithm}, by {source}",
                "pass algorithm=... if it was another.",
            )
    return completed


def _tune_metadata(node: Node, folder: Path, decoding: Decoding) -> Mapping[str, Any]:
    name = f"{node.path.name}{TUNE_NOTE}"
    for candidate in (folder / name, folder / TUNE_NOTE):
        if os.path.isfile(candidate):
            return mapping_of(decoding.attempt(candidate, "tune metadata", "Tune's note"))
    return {}


def _iteration(tune: Mapping[str, Any], node: Node) -> int | None:
    counted = integer(tune.get("iteration"))
    if counted is not None:
        return counted
    number = node.path.name.rpartition("-")[2]
    return integer(int(number)) if number.isascii() and number.isdigit() else None


def _trial_algorithm(
    folder: Path, config: Mapping[str, Any], weights: Iterable[str]
) -> tuple[str, str]:
    """The algorithm of a checkpoint whose files name none, and where that was read.

    Where the names of weights are of another family, they decide.
    """
    by_weights = told_algorithm(weights)
    for name in (folder.name, folder.parent.name, folder.parent.parent.name):
        by_folder = _named_first(name) if _DATED.fullmatch(name) else ""
        if by_folder and by_weights in ("", "PG", _FAMILY.get(by_folder, by_folder)):
            return by_folder, f"the folder's name {name!r}"
    for algorithm, keys in _TELLING:
        key = next((key for key in keys if key in config), "")
        if key and by_weights in ("", "PG", _FAMILY.get(algorithm, algorithm)):
            return algorithm, f"the setting {key!r}"
    return by_weights, "the names of its weights"


def _named_first(name: str) -> str:
    """The algorithm that a trial's name begins with: "APEX_DDPG_Pendulum-v0_..."."""
    words = name.removeprefix("contrib_").split("_")[:3]
    for count in range(len(words), 0, -1):
        algorithm = algorithm_name("".join(words[:count]))
        if algorithm:
            return algorithm
    return ""


def _trial_settings(folder: Path, decoding: Decoding) -> dict[str, Any]:
    """The settings in or above a checkpoint's folder; empty where there are none."""
    for place in (folder, folder.parent):
        for name in (PICKLED_SETTINGS, PLAIN_SETTINGS):
            path = place / name
            settings = plain_config(_content(path, decoding)) if os.path.isfile(path) else {}
            if "env" in settings:  # without one, it is the file of some other program
                return settings
    return {}


def _content(path: Path, decoding: Decoding) -> Any:
    if path.name == PICKLED_SETTINGS:
        return decoding.attempt(path, "settings", "the trial's settings")
    try:
        return read_json(path, decoding.limits)
    except CheckpointError as error:
        decoding.damage(path, error, "the trial's settings")
        return {}
