"""Ask a real Ray what it makes of checkpoints that `to_ray` wrote.

Run by an interpreter that has Ray 2.40 or newer: `python ask_ray.py FOLDER OUT [MODULE ...]`, with
modules to import first, whose connectors are an author's own. FOLDER holds one folder per case,
each with `asked.pkl`: a list by step of lists by episode of observations. OUT is an npz of
`<case>|<stage>`; what failed is there as text under `<case>|error`.
"""

import importlib
import pickle
import sys
import traceback
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from ray.rllib.connectors.env_to_module import EnvToModulePipeline  # noqa: E402
from ray.rllib.connectors.module_to_env import ModuleToEnvPipeline  # noqa: E402
from ray.rllib.core.rl_module.rl_module import RLModule  # noqa: E402
from ray.rllib.env.single_agent_episode import SingleAgentEpisode  # noqa: E402


def taken(nest, place):
    """One item of a batched nest of arrays."""
    if isinstance(nest, dict):
        return {key: taken(part, place) for key, part in nest.items()}
    if isinstance(nest, tuple):
        return tuple(taken(part, place) for part in nest)
    return nest[place]


def flat(nest):
    """A nest of one action as numbers in the order of its keys."""
    if isinstance(nest, dict):
        return [number for key in sorted(nest) for number in flat(nest[key])]
    if isinstance(nest, (tuple, list)):
        return [number for part in nest for number in flat(part)]
    return np.ravel(nest).tolist()


def answers(folder):
    """What Ray answers to the observations of one case, by stage."""
    module = RLModule.from_checkpoint(folder / "rl_module")
    to_module = EnvToModulePipeline.from_checkpoint(folder / "env_to_module_connector")
    to_env = ModuleToEnvPipeline.from_checkpoint(folder / "module_to_env_connector")
    return answers_of(folder, module, to_module, to_env)


def answers_of(folder, module, to_module, to_env):
    """The same of parts that live already."""
    steps = pickle.loads((folder / "asked.pkl").read_bytes())
    spaces = {
        "observation_space": to_module.input_observation_space,
        "action_space": to_module.input_action_space,
    }
    count = len(steps[0])
    episodes = [SingleAgentEpisode(**spaces) for _ in range(count)]
    found = {}
    last, shared = None, {}
    for seen in steps:
        for place, episode in enumerate(episodes):
            if last is None:
                episode.add_env_reset(seen[place])
                continue
            outputs = {k: taken(v, place) for k, v in last.items() if not k.startswith("actions")}
            episode.observation_space = to_module.input_observation_space
            action = taken(last["actions"], place)
            episode.add_env_step(seen[place], action, 0.0, extra_model_outputs=outputs)
        told = {"rl_module": module, "episodes": episodes, "explore": False, "shared_data": shared}
        batch = to_module(batch={}, **told)
        with torch.no_grad():
            outputs = module.forward_inference(batch)
            stages = {}
            if "action_dist_inputs" in outputs:
                stages["outputs"] = outputs["action_dist_inputs"]
            elif hasattr(module, "compute_q_values"):
                stages["outputs"] = module.compute_q_values(batch)["qf_preds"]
            if "vf_preds" in outputs:
                stages["value"] = outputs["vf_preds"]
            elif getattr(module, "vf", None) is not None and hasattr(module, "compute_values"):
                stages["value"] = module.compute_values(batch)
        stages = {name: value.numpy().reshape(count, -1) for name, value in stages.items()}
        last = to_env(batch=dict(outputs), **told)
        acted = last.get("actions_for_env", last["actions"])
        stages["action"] = np.asarray([flat(taken(acted, place)) for place in range(count)], float)
        for name, value in stages.items():
            found.setdefault(name, []).append(value)
    return {name: np.stack(values) for name, values in found.items()}


def all_answers(root):
    """Those of every case, or why there are none."""
    for case in sorted(path for path in root.iterdir() if (path / "asked.pkl").exists()):
        try:
            for stage, value in answers(case).items():
                yield f"{case.name}|{stage}", value
        except Exception:
            yield f"{case.name}|error", np.asarray(traceback.format_exc()[-1500:])


if __name__ == "__main__":
    for name in sys.argv[3:]:
        importlib.import_module(name)
    np.savez_compressed(sys.argv[2], **dict(all_answers(Path(sys.argv[1]).resolve())))
