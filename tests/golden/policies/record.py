"""Ask real Ray how likely it finds actions, and how its timesteps move.

    PYTHON_WITH_RAY record.py

For each recorded checkpoint beside this folder that this Ray can load: seeded actions for the first
rows of the recorded batch, and `compute_log_likelihoods` of them. `answers.json` names the Ray
release, the cases that would not load, and timesteps and exploration states before and after calls.
"""

import json
import os
import sys

import numpy as np
import ray
import torch
from ray.rllib.algorithms.algorithm_config import TorchCompileWhatToCompile
from ray.rllib.core.learner import learner
from ray.rllib.policy.policy import Policy
from ray.rllib.policy.sample_batch import SampleBatch

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDINGS = os.path.join(HERE, "..", "recordings", "legacy")
ROWS = 12
learner.TorchCompileWhatToCompile = TorchCompileWhatToCompile  # where files of 2.7 look for it


def nested(flat):
    if set(flat) == {""}:
        return flat[""]
    groups = {}
    for path, value in flat.items():
        head, _, rest = path.partition(".")
        groups.setdefault(head, {})[rest] = value
    parts = {head: nested(group) for head, group in groups.items()}
    if all(head.startswith("#") for head in parts):
        return tuple(parts["#%d" % index] for index in range(len(parts)))
    return parts


def leaves(value, path=""):
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], path + "." + str(key) if path else str(key))
    elif isinstance(value, (tuple, list)):
        for index, part in enumerate(value):
            yield from leaves(part, path + ".#%d" % index if path else "#%d" % index)
    else:
        yield path, np.asarray(value)


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return np.asarray(value).tolist()


def main():
    arrays, facts, failed = {}, {}, {}
    for release in sorted(os.listdir(RECORDINGS)):
        for case in sorted(os.listdir(os.path.join(RECORDINGS, release))):
            folder = os.path.join(RECORDINGS, release, case)
            name = release + "/" + case
            try:
                policies = Policy.from_checkpoint(os.path.join(folder, "algo_checkpoint"))
                policy_id, policy = sorted(policies.items())[0]
                with np.load(os.path.join(folder, "io.npz")) as held:
                    flat = {
                        key.split("|", 2)[2]: held[key][:ROWS]
                        for key in held.files
                        if key.startswith(policy_id + "|batch_in|")
                    }
                batch = nested(flat)
                states = [batch[k] for k in sorted(batch) if k.startswith("state_in_")]
                given = {
                    "state_batches": states or None,
                    "prev_action_batch": batch.get("prev_actions"),
                    "prev_reward_batch": batch.get("prev_rewards"),
                }
                torch.manual_seed(0)
                before = policy.global_timestep
                made, _, _ = policy.compute_actions_from_input_dict(SampleBatch(batch), explore=True)
                after = policy.global_timestep
                for path, value in leaves(made):
                    arrays[name + "|actions|" + path] = value
                for is_normalized in (True, False):
                    found = policy.compute_log_likelihoods(
                        actions=made,
                        obs_batch=batch["obs"],
                        actions_normalized=is_normalized,
                        **given,
                    )
                    kind = "normalized" if is_normalized else "stretched"
                    arrays[name + "|" + kind + "|"] = found.detach().cpu().numpy()
                facts[name] = {
                    "policy": policy_id,
                    "global_timestep": [int(before), int(after)],
                    "exploration_state": plain(policy.get_exploration_state() or {}),
                }
            except Exception as error:  # what Ray cannot do is a fact too
                failed[name] = type(error).__name__
    np.savez_compressed(os.path.join(HERE, "log_likelihoods.npz"), **arrays)
    told = {"ray": ray.__version__, "torch": torch.__version__, "cases": facts, "failed": failed}
    with open(os.path.join(HERE, "answers.json"), "w") as file:
        json.dump(told, file, indent=1, sort_keys=True)
    print(len(facts), "recorded;", len(failed), "would not:", *failed.items(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
