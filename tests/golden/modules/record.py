"""Records what real RLlib answers for cases.json; run it with an interpreter that has Ray 2.60.

Writes recorded.json (class, weight names and shapes, names and layout of outputs, or the error) and
recorded.npz (all output arrays of all cases one after another in `flat`).
"""

import importlib
import json
import logging
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from formula import inputs, space, weights  # noqa: E402

CLASSES = {
    kind: f"ray.rllib.algorithms.{kind}.torch.default_{kind}_torch_rl_module"
    for kind in ("ppo", "appo", "bc", "dqn", "sac")
}
LARGEST = 1000  # numbers of one output that are kept
RANDOM = {"logp_resampled", "logp_next_resampled", "q_curr"}


def module_of(case):
    name = f"Default{case['kind'].upper()}TorchRLModule"
    cls = getattr(importlib.import_module(CLASSES[case["kind"]]), name)
    return cls(
        observation_space=space(case["obs"], gym.spaces),
        action_space=space(case["act"], gym.spaces),
        inference_only=case["inference_only"],
        model_config=case["config"],
    )


def to_tensors(nest):
    if isinstance(nest, dict):
        return {key: to_tensors(part) for key, part in nest.items()}
    return torch.as_tensor(nest)


def leaves(nest, path=""):
    if isinstance(nest, dict):
        for key, part in nest.items():
            yield from leaves(part, f"{path}/{key}")
    else:
        yield path, np.asarray(nest.detach())


def answers(module, columns):
    """Every call's outputs by path; what fails is its exception's name."""
    calls = {
        "inference": lambda: module.forward_inference(dict(columns)),
        "exploration": lambda: module.forward_exploration(dict(columns), t=0),
        "train": lambda: module.forward_train(dict(columns)),
    }
    if hasattr(module, "compute_values"):
        calls["values"] = lambda: {"out": module.compute_values(dict(columns))}
    if hasattr(module, "_qf_forward_helper"):
        calls["q_values"] = lambda: module.compute_q_values(dict(columns))
    elif hasattr(module, "compute_q_values"):
        calls["q_values"] = lambda: {"out": module.compute_q_values(dict(columns))}
    if hasattr(module, "forward_target"):
        calls["target"] = lambda: (
            out if isinstance(out := module.forward_target(dict(columns)), dict) else {"out": out}
        )
    found, failed = {}, {}
    for name, call in calls.items():
        torch.manual_seed(0)
        try:
            found.update((name + path, value) for path, value in leaves(call()))
        except Exception as error:  # what fails there is part of the record
            failed[name] = type(error).__name__
    return found, failed


def main():
    recorded, flat = {}, []
    for name, case in json.load(open("cases.json")).items():
        try:
            module = module_of(case)
        except Exception as error:
            recorded[name] = {"error": [type(error).__name__, str(error)[:200]]}
            continue
        if hasattr(module, "make_target_networks") and not case["inference_only"]:
            module.make_target_networks()
        state = module.get_state()
        facts = {"weights": {key: list(value.shape) for key, value in state.items()}}
        facts["const"] = {key: float(v[0]) for key, v in state.items() if "const" in key}
        facts["inference"] = sorted(module.get_state(inference_only=True))
        module.set_state(weights(state))
        initial = {}
        try:
            initial = module.get_initial_state()
        except Exception as error:
            facts["initial_error"] = type(error).__name__
        facts["initial"] = [[path, list(v.shape)] for path, v in leaves(initial)]
        for use in ("inference", "exploration", "train"):
            cls = getattr(module, f"get_{use}_action_dist_cls")()
            facts[f"{use}_dist"] = getattr(cls, "__name__", str(cls))
        act = module.action_space
        columns = inputs(
            module.observation_space.shape,
            act.shape or (),
            int(getattr(act, "n", 0)) if isinstance(act, gym.spaces.Discrete) else 0,
            initial,
            module.is_stateful(),
        )
        found, failed = answers(module, to_tensors(columns))
        facts["failed"] = failed
        facts["outputs"] = []
        for path, value in found.items():
            kept = path.rpartition("/")[2] not in RANDOM and value.size <= LARGEST
            facts["outputs"].append([path, list(value.shape), str(value.dtype), kept])
            if kept:
                flat.append(value.astype(np.float32).ravel())
        recorded[name] = facts
    with open("recorded.json", "w") as file:
        json.dump(recorded, file, separators=(",", ":"))
        file.write("\n")
    np.savez_compressed("recorded.npz", flat=np.concatenate(flat))
    for name, facts in recorded.items():
        if "error" in facts:
            print(name, facts["error"])
        elif facts["failed"] or "initial_error" in facts:
            print(name, facts["failed"], facts.get("initial_error"))


if __name__ == "__main__":
    main()
