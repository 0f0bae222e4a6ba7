"""Old policies walked through both stacks side by side, leaf by leaf.

    python -m tests.bridge.wrap.walking FOLDER ...

walks every recorded case below the folders and prints a scoreboard.
"""

import copy
import sys
from pathlib import Path

import numpy as np
from rlconnect.bridge import policy_to_v2
from rlconnect.core import nest
from rlconnect.legacy import local_policy_inference
from rlconnect.v2 import SingleAgentEpisode

from tests.legacy.replay import Recording, folders, leaves
from tests.legacy.test_recordings import MODELS


class Walker:
    """One environment of a triple, stepped by hand as a user would."""

    def __init__(self, triple, *, explore=False):
        self.env_to_module, self.module, self.module_to_env = triple
        self.explore = explore
        self.shared = {}
        self.count = 0

    def step(self, obs, reward=0.0, *, starts, terminated=False, **_):
        """The action for the environment, and everything else the module put out."""
        if starts:
            self.count += 1
            self.episode = SingleAgentEpisode(id_=f"e{self.count}")
            self.episode.add_env_reset(observation=copy.deepcopy(obs))
        else:
            self.episode.add_env_step(
                copy.deepcopy(obs),
                self.action,
                reward,
                terminated=terminated,
                extra_model_outputs=self.outputs,
            )
        given = {
            "rl_module": self.module,
            "episodes": [self.episode],
            "explore": self.explore,
            "shared_data": self.shared,
        }
        batch = self.env_to_module(batch={}, **given)
        forward = self.module.forward_exploration if self.explore else self.module.forward_inference
        columns = self.module_to_env(batch=forward(batch), **given)
        for_env = _first(columns.pop("actions_for_env"))
        self.action = _first(columns.pop("actions"))
        self.outputs = {name: column[0] for name, column in columns.items()}
        return for_env, self.outputs


def _first(column):
    return nest.map_structure(lambda leaf: leaf[0], column)


def difference(recording, policy_id, *, explore, triple_of=policy_to_v2):
    """Where the wrapped policy parts from the old one, in words; empty where it never does."""
    policy = recording.load(policy_id, custom_models=MODELS)
    walker = Walker(triple_of(policy, custom={"custom_models": MODELS}), explore=explore)
    steps = 0
    for step, env_id, starts, obs, keywords in recording.steps(policy_id):
        if starts:
            policy.agent_connectors.reset(env_id)
        (wanted,) = local_policy_inference(
            policy, env_id, "0", copy.deepcopy(obs), explore=explore, **keywords
        )
        for_env, outputs = walker.step(obs, starts=starts, **keywords)
        carried = outputs.get("state_out", {})
        states = [carried[f"state_{place}"] for place in range(len(carried))]
        states = [  # of a memory, the newest row
            found if found.shape == np.shape(own) else found[-1]
            for found, own in zip(states, wanted[1], strict=True)
        ]
        found = (for_env, states, {name: outputs[name] for name in wanted[2]})
        why = _gap(wanted, found)
        if why:
            return f"{recording.name} {policy_id} step {step}: {why}"
        steps += 1
    return "" if steps else "nothing was recorded"


def _gap(wanted, found):
    ours, theirs = dict(leaves(wanted)), dict(leaves(found))
    if ours.keys() != theirs.keys():
        return f"{sorted(theirs)} in place of {sorted(ours)}"
    for path, own in ours.items():
        both = np.asarray(own), np.asarray(theirs[path])
        is_float = both[0].dtype.kind == "f"
        if not np.array_equal(*both, equal_nan=is_float):
            return f"{path}: {both[1]} in place of {both[0]}"
    return ""


def scoreboard(roots):
    """How many recorded policies act the same in both stacks: (equal, all, what parts)."""
    parted, count = [], 0
    for folder in [folder for root in roots for folder in folders(Path(root))]:
        recording = Recording(folder)
        for policy_id in recording.policy_ids:
            for explore in (False, True):
                count += 1
                why = difference(recording, policy_id, explore=explore)
                if why:
                    parted.append(why)
    return count - len(parted), count, parted


if __name__ == "__main__":
    equal, count, parted = scoreboard(sys.argv[1:])
    print(*parted, f"{equal} of {count} wrapped policies are equal bit for bit", sep="\n")
    sys.exit(equal < count)
