"""The settings and the algorithm of the trial that a checkpoint comes from.

Ray 1 writes no settings into its checkpoints. Tune keeps them as `params.pkl` and `params.json` in
the trial's folder, which is the one above; whoever takes a checkpoint away lays them beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from ...errors import CheckpointError
from ..decoding import Decoding
from ..file_names import PICKLED_SETTINGS, PLAIN_SETTINGS
from ..files.reading import read_json
from ..names import algorithm_name
from ..shape_hints import told_algorithm
from .old_policy import plain_config

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
_FAMILY: Final = {
    "TD3": "DDPG",
    "CQL": "SAC",
    "APEX": "DQN",
    "PG": "PPO",
    "A2C": "PPO",
} | dict.fromkeys(("A3C", "IMPALA", "APPO", "MARWIL", "BC"), "PPO")


def trial_algorithm(
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


def trial_settings(folder: Path, decoding: Decoding) -> dict[str, Any]:
    """The settings in or above a checkpoint's folder; empty where there are none."""
    for place in (folder, folder.parent):
        for name in (PICKLED_SETTINGS, PLAIN_SETTINGS):
            path = place / name
            settings = plain_config(_content(path, decoding)) if path.is_file() else {}
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
