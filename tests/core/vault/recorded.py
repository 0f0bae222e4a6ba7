"""Recorded checkpoints, and how what `open_checkpoint` says differs from what was recorded.

`io.json` (see `tests/golden/recordings/README.md`) was written by the Ray that wrote the
checkpoint; `truth.json` by people who opened a stranger's checkpoint with real Ray.
"""

import functools
import json
import os
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import rlconnect

ROOT = Path(__file__).parents[3]
RECORDINGS = ROOT / "tests/golden/recordings"
REFERENCE = ROOT.parent / "shared/reference"
HEAD_BYTES = 24  # how many leading bytes of a byte string were recorded
# Facts of the running policy that its file does not hold.
AT_RUN_TIME = {
    ("2.0.1", "DQN"): {"model": {"no_final_linear"}},  # set while the model is built
    ("2.7.2", "PG"): {"config": {"is_atari"}},  # asked of the environment
}


def recordings(folder):
    """Every `io.json` below a folder, with each checkpoint beside it."""
    return [
        (facts, facts.parent / name)
        for facts in sorted(folder.glob("legacy/*/*/io.json"))
        for name in ("algo_checkpoint", "policy_checkpoint", "msgpack_algo", "msgpack_policy")
        if (facts.parent / name).is_dir()
    ]


def truths(folder):
    """Every `truth.json` below a folder, with the checkpoint it is about."""
    return [
        (truth, truth.parents[1] / "checkpoint")
        for truth in sorted(folder.glob("*/*/truth/truth.json"))
    ]


def name_of(value):
    """A parameter's name in a test id: the folders that tell it apart."""
    is_folder = isinstance(value, Path) and value.is_dir()
    return "-".join(value.parts[-3:]) if is_folder else ""


open_once = functools.cache(rlconnect.open_checkpoint)


def facts_in(path):
    """The content of a JSON file of facts."""
    return json.loads(path.read_text(encoding="utf-8"))


def plain(value):
    """A decoded value as the recorder wrote it: lists for tuples, the head of byte strings."""
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        if "__ndarray__" in value:
            return plain(np.array(value["v"], value["__ndarray__"]).reshape(value["shape"]))
        if "__repr__" in value:
            return value["class"]
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.tolist()]
    if isinstance(value, bytes):
        return {"__bytes__": len(value), "head": value[:HEAD_BYTES].hex()}
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (str, int, float, type(None))) else value.path


def pairs(piece):
    """Connectors as nested pairs of name and parameters."""
    if piece.is_pipeline:
        return [piece.name, [pairs(child) for child in piece.children]]
    return [piece.name, plain(piece.params)]


def space_text(space):
    """A space in the words of the recorder; None where there is none."""
    return None if space is None else repr(space)


def recorded_space(text):
    """A recorded space as today's gymnasium writes it: older ones left out quotes and spaces."""
    return None if text in (None, "None") else re.sub(r"(\w+):(?=[A-Z])", r"'\1': ", text)


def differences(checkpoint, recorded):
    """Where a checkpoint's records and the recorded facts disagree, one line each."""
    found = [
        f"{what}: {said!r} is not {fact!r}"
        for what, said, fact in (
            ("algorithm", checkpoint.algorithm, recorded["algo"]),
            ("policies", sorted(checkpoint.policies), sorted(recorded["policies"])),
            ("Ray", checkpoint.ray_version, recorded["ray"]),
            ("problems", checkpoint.problems, ()),
            ("skipped", checkpoint.skipped, ()),
        )
        if said != fact
    ]
    unknown = AT_RUN_TIME.get((recorded["ray"], recorded["algo"]), {})
    for name, facts in recorded["policies"].items():
        if name in checkpoint.policies:
            said = policy_facts(checkpoint.policies[name], facts)
            found += [
                f"{name}: {what}: {said[what]!r} is not {fact!r}"
                for what, fact in expected_facts(facts).items()
                if without(said[what], unknown.get(what)) != without(fact, unknown.get(what))
            ]
    return found


def without(mapping, keys):
    """A mapping without some keys."""
    return {k: v for k, v in mapping.items() if k not in keys} if keys else mapping


def expected_facts(facts):
    """What a recording says about one policy."""
    model_class = facts["model_class"]
    return {
        "class": facts["policy_class"].rpartition(".")[2],
        "framework": facts["config"]["framework"],
        "observation": recorded_space(facts["observation_space"]),
        "original": recorded_space(facts["original_space"]),
        "action": recorded_space(facts["action_space"]),
        "weights": facts["weights"],
        "model": plain(facts["model_config"]),
        "own model": not model_class.startswith("ray.rllib."),
        "agent": plain(facts["agent_connectors_state"]),
        "actions": plain(facts["action_connectors_state"]),
        "filters": recorded_filters(facts["agent_connectors_state"]),
        "config": plain(facts["config"]),
    }


def policy_facts(record, facts):
    """The same things, said by a record."""
    table = record.weights
    return {
        "class": record.policy_class.rpartition(".")[2],
        "framework": record.framework,
        "observation": space_text(record.observation_space),
        "original": space_text(getattr(record.observation_space, "original_space", None)),
        "action": space_text(record.action_space),
        "weights": {
            name: {"shape": list(table.describe(name)[0]), "dtype": table.describe(name)[1]}
            for name in table
        },
        "model": plain(dict(record.model_config)),
        "own model": bool(record.custom_model),
        "agent": pairs(record.agent_connectors),
        "actions": pairs(record.action_connectors),
        "filters": [
            (found.kind, found.count)
            for found in record.filters
            if found.state is not None and not found.is_from_worker
        ],
        "config": {key: plain(record.config.get(key, "absent")) for key in facts["config"]},
    }


def recorded_filters(state):
    """Kind and counts of the filters among recorded connectors."""
    return [
        (
            "ConcurrentMeanStdFilter" if "Concurrent" in name else "MeanStdFilter",
            tuple(stat["num_pushes"] for stat in params["running_stats"]),
        )
        for name, params in state[1]
        if isinstance(params, dict) and "running_stats" in params
    ]


def truth_differences(checkpoint, truth):
    """Where a checkpoint's records and what people found in it disagree, one line each."""
    if "weights" in truth:  # upstream's own, one policy each
        compared = upstream_facts(checkpoint, truth)
    else:
        compared = found_facts(checkpoint, truth)
    return [f"{what}: {said!r} is not {fact!r}" for what, said, fact in compared if said != fact]


def upstream_facts(checkpoint, truth):
    """What is said and what is true of a checkpoint RLlib kept for its own tests."""
    policy = checkpoint.policies["default_policy"]
    original = truth["observation_space"].get("original_space")
    arrays = {name: list(array.shape) for name, array in policy.weights.items()}
    return [
        ("algorithm", checkpoint.algorithm.lower(), truth["algo"]),
        ("framework", policy.framework, truth["framework"]),
        ("class", policy.policy_class.rpartition(".")[2], truth["policy_class"].rpartition(".")[2]),
        ("timestep", policy.global_timestep, truth["global_timestep"]),
        ("weights", arrays, {str(name): shape for name, shape in truth["weights"]}),
        ("observation", space_facts(policy.observation_space), told(truth["observation_space"])),
        (
            "original",
            space_facts(getattr(policy.observation_space, "original_space", None)),
            told(original),
        ),
        ("action", space_facts(policy.action_space), told(truth["action_space"])),
        ("model", {key: policy.model_config[key] for key in truth["model"]}, truth["model"]),
        ("config", {key: policy.config.get(key) for key in truth["config"]}, truth["config"]),
    ]


def told(space):
    """A space of a truth without the one it was made from; only a box keeps its shape."""
    if space and space["type"] == "Discrete":
        return {key: value for key, value in space.items() if key != "shape"}
    return space and {key: value for key, value in space.items() if key != "original_space"}


def space_facts(space):
    """A Box or Discrete as a truth tells it."""
    if space is None:
        return None
    if hasattr(space, "n"):
        return {"type": "Discrete", "n": int(space.n), "start": int(space.start)}
    low, high = space.low.tolist(), space.high.tolist()
    return {"type": "Box", "shape": list(space.shape), "low": low, "high": high}


def found_facts(checkpoint, truth):
    """What is said and what is true of a checkpoint found in a public repository."""
    compared = []
    if truth["expect"] == "no-config":
        (policy,) = checkpoint.policies.values()
        lost = (policy.observation_space, policy.action_space, dict(policy.model_config))
        compared.append(("config", lost, (None, None, {})))
        compared.append(("problems", len(checkpoint.problems), 1))
        compared.append(("weights", bool(policy.weights), True))
    for name, facts in truth["policies"].items():
        record = checkpoint.acting[name]
        own_class = getattr(record, "policy_class", "") or record.module_class
        compared += [
            (f"{name}: class", own_class.rpartition(".")[2], facts["cls"]),
            (f"{name}: observation", repr(record.observation_space), facts["obs_space"]),
            (f"{name}: action", repr(record.action_space), facts["act_space"]),
            (f"{name}: weights", bool(record.weights), True),
        ]
    return compared


PENDULUM = "legacy/2.7.2/ppo_pendulum_norm_meanstd/algo_checkpoint"
MULTI_AGENT = "legacy/2.7.2/ppo_multiagent/algo_checkpoint"
WORKER = "legacy/2.0.1/sac_cont/algo_checkpoint"
NEW_ALGORITHM = "new/2.60.0-algo_pkl"
NEW_MODULE = "new/2.60.0-ppo_module"


def copy_of(name, folder):
    """A copy of a recorded checkpoint in `folder`, to be damaged."""
    return Path(shutil.copytree(RECORDINGS / name, folder / "checkpoint"))


def remove(checkpoint, *names):
    """Take files and folders out of a checkpoint."""
    for name in names:
        path = checkpoint / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def cut(path, share=0.5):
    """Keep only the first part of a file."""
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def rewrite(path, **changes):
    """Change entries of a JSON file."""
    path.write_text(json.dumps({**facts_in(path), **changes}), encoding="utf-8")


def policy_state(**changes):
    """A small policy state of version 1.0, as plain data."""
    discrete = {"space": {"space": "discrete", "n": 4, "start": 0}}
    spec = {
        "policy_class": "PPOTorchPolicy",
        "observation_space": discrete,
        "action_space": discrete,
        "config": {"framework": "torch", "model": {"fcnet_hiddens": [2]}},
    }
    weights = {"_logits._model.0.weight": np.ones((4, 4), np.float32)}
    return {"weights": weights, "policy_spec": spec, "global_timestep": 7, **changes}


def write_policy(folder, state=None):
    """A policy folder that holds one state file and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy_state.pkl").write_bytes(pickle.dumps(state or policy_state()))
    return folder


def cached(folder, root):
    """The folder as Hugging Face would have downloaded it: links to files named by a hash."""
    blobs, snapshot = root / "models--x--y" / "blobs", root / "models--x--y" / "snapshots" / "8f1e"
    blobs.mkdir(parents=True)
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name)
            link = snapshot / file.relative_to(folder)
            link.parent.mkdir(parents=True, exist_ok=True)
            blob = blobs / f"{len(os.listdir(blobs)):040x}"
            blob.write_bytes(file.read_bytes())
            link.symlink_to(os.path.relpath(blob, link.parent))
    return snapshot


def weights_of(path):
    """All weights of a checkpoint by policy and name."""
    acting = rlconnect.open_checkpoint(path).acting
    return {
        (p, name): record.weights[name] for p, record in acting.items() for name in record.weights
    }
