"""Records what real Ray's learners of SAC, CQL, IQL and DQN make of twenty batches each.

Run by hand with Ray 2.60 at hand: `python record.py`. Each case of `formula.CASES` becomes one
`.npz` beside this file: results and TD errors of each update; gradients and weights after those of
`KEPT`, flat, in the order of `names`. `batches.npz` has train batches of recorded rows.
"""

import json
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import formula  # noqa: E402
import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402
import ray  # noqa: E402
import torch  # noqa: E402
from ray.rllib.algorithms.cql import CQLConfig  # noqa: E402
from ray.rllib.algorithms.dqn import DQNConfig  # noqa: E402
from ray.rllib.algorithms.iql.iql import IQLConfig  # noqa: E402
from ray.rllib.algorithms.sac import SACConfig  # noqa: E402
from ray.rllib.offline.offline_prelearner import OfflinePreLearner  # noqa: E402
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch  # noqa: E402

CONFIGS = {"SAC": SACConfig, "DQN": DQNConfig, "CQL": CQLConfig, "IQL": IQLConfig}
HERE = Path(__file__).parent
OBS = gym.spaces.Box(-10.0, 10.0, (3,), np.float32)
ACTS = {"discrete": gym.spaces.Discrete(3), "box": gym.spaces.Box(-1.0, 1.0, (2,), np.float32)}


def config_of(case):
    """Ray's settings of a case, the spaces, and the ids of its modules."""
    act = ACTS[case.get("act", "box")]
    config = CONFIGS[case.get("algorithm", "SAC")]()
    name = case.get("algorithm", "SAC")
    if name in ("CQL", "IQL"):
        config.lr = None
    config.environment(observation_space=OBS, action_space=act)
    config.rl_module(model_config=formula.model_of(case))
    config.training(**formula.training_of(case))
    ids = ["default_policy"]
    both = (OBS, act)
    if case.get("several"):
        ids = ["p_a", "p_b"]
        config.multi_agent(
            policies=set(ids),
            policy_mapping_fn=lambda agent_id, episode, **kwargs: f"p_{agent_id}",
            algorithm_config_overrides_per_module={
                "p_b": CONFIGS[name].overrides(**formula.OF_THE_SECOND[name])
            },
        )
        both = tuple(gym.spaces.Dict({"a": each, "b": each}) for each in (OBS, act))
    spaces = {
        **{each: (OBS, act) for each in ids},
        "__env__": both,
        "__env_single__": both,
    }
    return config, spaces, ids


def flat(learner, ids, of):
    """All weights of some modules, or their gradients, as one vector."""
    parts = []
    for module_id in ids:
        for _, param in sorted(learner.module[module_id].named_parameters()):
            value = of(param)
            parts.append(np.zeros(param.numel()) if value is None else value.detach().numpy().ravel())
    return np.concatenate(parts).astype(np.float32)


def record(name, case):
    """Run a case and write it down."""
    config, spaces, ids = config_of(case)
    learner = config.build_learner(spaces=spaces)
    for module_id in ids:
        module = learner.module[module_id]
        with torch.no_grad():
            for key, param in module.named_parameters():
                param.copy_(torch.from_numpy(formula.weight(key, tuple(param.shape))))
    held = {"weights": [], "gradients": [], "td_errors": [], "log_alpha": []}
    results = []
    apply_gradients = learner.apply_gradients

    def applying(gradients):
        if step in formula.KEPT:
            held["gradients"].append(flat(learner, ids, gradients.get))
        apply_gradients(gradients)

    learner.apply_gradients = applying
    for step in range(formula.UPDATES):
        batches = {
            module_id: SampleBatch(
                {
                    key: torch.from_numpy(np.asarray(value))
                    for key, value in formula.batch(case, 100 * place + step).items()
                }
            )
            for place, module_id in enumerate(ids)
        }
        told = learner.update(
            batch=MultiAgentBatch(batches, env_steps=formula.ROWS),
            timesteps={"num_env_steps_sampled_lifetime": 10 * step},
        )
        results.append(
            {
                module_id: {
                    key: float(stat.peek())
                    for key, stat in told[module_id].items()
                    if key != "td_error" and np.ndim(stat.peek()) == 0
                }
                for module_id in ids
            }
        )
        if "td_error" in told[ids[0]]:
            held["td_errors"].append(
                np.stack([np.asarray(told[each]["td_error"].peek()[0]) for each in ids])
            )
        if step in formula.KEPT:
            held["weights"].append(flat(learner, ids, lambda param: param))
        if hasattr(learner, "curr_log_alpha"):
            held["log_alpha"].append([float(learner.curr_log_alpha[each]) for each in ids])
    facts = {"ray": ray.__version__, "case": case, "ids": ids, "results": results}
    arrays = {key: np.array(value, np.float32) for key, value in held.items() if value}
    names = sorted(key for key, _ in learner.module[ids[0]].named_parameters())
    facts["names"] = names
    np.savez_compressed(HERE / f"{name}.npz", facts=np.array(json.dumps(facts)), **arrays)
    print(name, {key: value.shape for key, value in arrays.items()}, sorted(results[0][ids[0]]))


def record_batches():
    """What Ray's `OfflinePreLearner` makes of recorded rows for CQL and IQL."""
    made = {}
    for name in ("cql", "iql"):
        config, spaces = config_of(formula.CASES[name])[:2]
        learner = config.build_learner(spaces=spaces)
        prelearner = OfflinePreLearner(
            config=config, spaces=(OBS, ACTS["box"]), module_spec=learner._module_spec
        )
        rows = {
            key: list(value) if value.ndim > 1 else value
            for key, value in formula.recorded().items()
        }
        for key, value in prelearner(rows).items():
            made[f"{name}/{key}"] = np.asarray(value)
    np.savez_compressed(HERE / "batches.npz", **made)
    print({key: (value.shape, value.dtype) for key, value in made.items()})


if __name__ == "__main__":
    if not sys.argv[1:]:
        record_batches()
    for name in sys.argv[1:] or formula.CASES:
        case = formula.CASES[name]
        noise = formula.Noise(torch)
        noise.put(setattr)
        record(name, case)
