"""What every release of Ray called the files of a checkpoint, and what we call ours.

Readers, writers and messages take names from here alone. A release that renames a file is one row:
its new name goes in front. The first name is what we write; all of them are read.

    version   written by        files
    0, 0.1    Ray 0.8 to 2.0    `checkpoint-<n>`: one pickle {"worker": pickle bytes, ...};
                                beside it `.tune_metadata`, `.is_checkpoint`
    1.0       Ray 2.1 to 2.4    `algorithm_state.pkl`, `rllib_checkpoint.json` {type,
                                checkpoint_version, ray_version, ray_commit},
                                `policies/<id>/{policy_state.pkl, rllib_checkpoint.json}`
    1.1       Ray 2.5 and later the same, old stack; the JSON adds `format` (cloudpickle or
                                msgpack, then `.msgpck`), `state_file` and `policy_ids`
    1.2       Ray 2.5 to 2.9    the same and `learner/` with `module_state/<id>/
                                module_state_dir/module_state.pt`, `rl_module_metadata.json`
    2.0, 2.1  Ray 2.10 on,      one folder per component: `metadata.json` (the algorithm's is
              new stack         `rllib_checkpoint.json`) {class_and_ctor_args_file, state_file,
                                checkpoint_version, ...}, `class_and_ctor_args.pkl`,
                                `<state_file>.{pkl,msgpack,msgpck,pt}`; sub-folders are
                                sub-components (`learner_group/learner/rl_module/<id>`)
    ours      rlconnect         `rlconnect.json`, `arrays.safetensors`: see `own_format.py`
"""

from __future__ import annotations

import re
from typing import Final, Literal

Role = Literal["own", "worker", "policy", "algorithm", "module", "component", "folder"]

KNOWN_VERSIONS: Final = ("0", "0.1", "1.0", "1.1", "1.2", "2.0", "2.1")

# A component's own state, by what the component is.
_STATES: Final[dict[Role, tuple[str, ...]]] = {
    "policy": ("policy_state",),
    "algorithm": ("algorithm_state",),
    "module": ("module_state",),
    "component": ("state",),
}
POLICY_STATE, ALGORITHM_STATE, MODULE_STATE, COMPONENT_STATE = (s[0] for s in _STATES.values())
STATES: Final[dict[str, Role]] = {name: role for role, names in _STATES.items() for name in names}
"""The role that each name of a state file gives away."""
STATE_FILES: Final = f"{POLICY_STATE}, {ALGORITHM_STATE} or {MODULE_STATE}"
"""What lies in a folder that is a checkpoint, for messages."""
ENCODINGS: Final = {
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".msgpack": "msgpack",
    ".msgpck": "msgpack",
    ".pt": "torch",
    ".pth": "torch",
    ".rlconnect": "rlconnect",  # a folder in our own format in place of a file
}
"""How a state file of each ending is written."""
INNER_STATE: Final = "module_state_dir"
"""Version 1.2 keeps a module's state in this folder of its own."""

# The JSON file of a component, and its keys.
COMPONENT_JSON: Final = "metadata.json"
ALGORITHM_JSON: Final = "rllib_checkpoint.json"
MODULE_JSON: Final = "rl_module_metadata.json"
JSON_FILES: Final = (ALGORITHM_JSON, COMPONENT_JSON, MODULE_JSON)
STATE_KEY: Final = "state_file"
CLASS_KEY: Final = "class_and_ctor_args_file"
VERSION_KEY: Final = "checkpoint_version"

# The class of a component, and what it was built from.
CLASS_FILE: Final = "class_and_ctor_args.pkl"
CALL_KEY: Final = "ctor_args_and_kwargs"

# Folders of parts.
POLICIES: Final = "policies"
LEARNER: Final = "learner"
LEARNER_GROUP: Final = "learner_group"
ENV_RUNNER: Final = "env_runner"
EVAL_ENV_RUNNER: Final = "eval_env_runner"
MODULE: Final = "rl_module"
ENV_TO_MODULE: Final = "env_to_module_connector"
MODULE_TO_ENV: Final = "module_to_env_connector"
LEARNER_CONNECTOR: Final = "learner_connector"
PARTS_THAT_ACT: Final = frozenset({ENV_TO_MODULE, MODULE, MODULE_TO_ENV})
PART_FOLDERS: Final = frozenset(
    {POLICIES, LEARNER, LEARNER_GROUP, ENV_RUNNER, EVAL_ENV_RUNNER, MODULE, MODULE_STATE}
)
LEARNT_MODULE: Final = f"{LEARNER_GROUP}/{LEARNER}/{MODULE}"
MODULE_PLACES: Final = (MODULE, f"{ENV_RUNNER}/{MODULE}", LEARNT_MODULE)
"""Where a module lies in what acts: beside its pipelines, or below an algorithm."""
RUNNER_PLACES: Final = (f"{ENV_RUNNER}/", f"{EVAL_ENV_RUNNER}/", "")
"""Where pipelines lie, likewise."""

# Ray 2.0 and older, and Tune.
WORKER_FILE: Final = re.compile(r"checkpoint-\d+")
TUNE_NOTE: Final = ".tune_metadata"
TRIAL_CHECKPOINT: Final = re.compile(r"checkpoint_(?:tmp)?[0-9a-f]+")
PICKLED_SETTINGS: Final = "params.pkl"
PLAIN_SETTINGS: Final = "params.json"
"""The settings of a trial, in which classes and functions are only text."""
RESULTS: Final = "result.json"
RUN_SPACES: Final = "spaces.json"
"""The spaces of the environment that a run of ours has begun in; no trial of Tune's has it."""
RESULT_TABLE: Final = "progress.csv"

# Ours.
OWN_MANIFEST: Final = "rlconnect.json"
DOCUMENT_ENDING: Final = ".rlconnect"
CLASS_DOCUMENT: Final = CLASS_FILE.replace(".pkl", DOCUMENT_ENDING)
SAVE_MANIFEST: Final = "rlconnect_save.json"
ACTOR_FILE: Final = "actor.json"
"""Names the players of an actor of several, whose folders lie beside it."""
MIGRATION_FILE: Final = "migration.json"
"""Tells how a migrated policy came about, beside its parts."""
CERTIFICATE_FILE: Final = "certificate.json"
"""What the source of a migrated policy made of a few observations."""
SOURCE: Final = "source.rlconnect"
"""The policy that was migrated, in our own format, beside what became of it."""
