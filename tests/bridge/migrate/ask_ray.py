"""Ask a real Ray what it makes of checkpoints that `to_ray` wrote.

Run by an interpreter that has Ray 2.40 or newer and nothing of ours:
`python ask_ray.py FOLDER OUT`. FOLDER holds one folder per case, each with `asked.npz`:
observations by step and episode as `obs`, or as `obs.<key>` for a dict. OUT is an npz of
`<case>|<stage>`.
"""

import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from ray.rllib.connectors.env_to_module import EnvToModulePipeline  # noqa: E402
from ray.rllib.connectors.module_to_env import ModuleToEnvPipeline  # noqa: E402
from ray.rllib.core.rl_module.rl_module import RLModule  # noqa: E402
from ray.rllib.env.single_agent_episode import SingleAgentEpisode  # noqa: E402


def observed(held, step, episode):
    """One observation out of what was asked."""
    if "obs" in held:
        return held["obs"][step, episode]
    return {key[4:]: held[key][step, episode] for key in held}


def answers(folder):
    """What Ray answers to the observations of one case, by stage."""
    with np.load(folder / "asked.npz") as file:
        held = dict(file)
    steps, count = next(iter(held.values())).shape[:2]
    module = RLModule.from_checkpoint(folder / "rl_module")
    to_module = EnvToModulePipeline.from_checkpoint(folder / "env_to_module_connector")
    to_env = ModuleToEnvPipeline.from_checkpoint(folder / "module_to_env_connector")
    spaces = {
        "observation_space": to_module.input_observation_space,
        "action_space": to_module.input_action_space,
    }
    episodes = [SingleAgentEpisode(**spaces) for _ in range(count)]
    found = {}
    last = None
    for step in range(steps):
        for place, episode in enumerate(episodes):
            seen = observed(held, step, place)
            if last is None:
                episode.add_env_reset(seen)
                continue
            outputs = {k: v[place] for k, v in last.items() if not k.startswith("actions")}
            episode.observation_space = to_module.input_observation_space
            action = last["actions"][place]
            episode.add_env_step(seen, action, 0.0, extra_model_outputs=outputs)
        told = {"rl_module": module, "episodes": episodes, "explore": False, "shared_data": {}}
        batch = to_module(batch={}, **told)
        with torch.no_grad():
            outputs = module.forward_inference(batch)
            if "action_dist_inputs" in outputs:
                stages = {"outputs": outputs["action_dist_inputs"]}
            else:
                stages = {"outputs": module.compute_q_values(batch)["qf_preds"]}
            if getattr(module, "vf", None) is not None and hasattr(module, "compute_values"):
                stages["value"] = module.compute_values(batch)
        last = to_env(batch=dict(outputs), **told)
        stages = {name: value.numpy().reshape(count, -1) for name, value in stages.items()}
        acted = last.get("actions_for_env", last["actions"])
        stages["action"] = np.asarray(acted, np.float64).reshape(count, -1)
        for name, value in stages.items():
            found.setdefault(name, []).append(value)
    return {name: np.stack(values) for name, values in found.items()}


if __name__ == "__main__":
    root, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    cases = sorted(path for path in root.iterdir() if (path / "asked.npz").exists())
    np.savez_compressed(
        out,
        **{f"{case.name}|{k}": v for case in cases for k, v in answers(case).items()},
    )
