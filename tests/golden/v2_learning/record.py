"""Records what real Ray's learners make of small batches; run by hand with Ray 2.60 at hand.

Each case of `CASES` becomes one `.npz` beside this file: the episodes, the weights before, every
loss, the first gradients, the weights after the first step and after the last, and the results.
`python record.py`
"""

import json
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402
import ray  # noqa: E402
import torch  # noqa: E402
from ray.rllib.algorithms.bc import BCConfig  # noqa: E402
from ray.rllib.algorithms.marwil import MARWILConfig  # noqa: E402
from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode  # noqa: E402
from ray.rllib.env.single_agent_episode import SingleAgentEpisode  # noqa: E402

CONFIGS = {"PPO": PPOConfig, "BC": BCConfig, "MARWIL": MARWILConfig}
HERE = Path(__file__).parent
OBS = gym.spaces.Box(-10.0, 10.0, (3,), np.float32)
ACTS = {"discrete": gym.spaces.Discrete(2), "box": gym.spaces.Box(-1.0, 1.0, (2,), np.float32)}

MLP = {"fcnet_hiddens": [4], "vf_share_layers": False}
LSTM = {**MLP, "use_lstm": True, "lstm_cell_size": 3, "max_seq_len": 4}
TWICE = {"num_epochs": 2, "minibatch_size": 4}
CASES = {
    "ppo": {"model": MLP, "training": {"lr": 0.01, "entropy_coeff": [[0, 0.1], [100, 0.0]]}},
    "ppo_lstm": {"model": LSTM, "training": {"lr": 0.01}, "update": {**TWICE, "minibatch_size": 8}},
    "ppo_box": {"act": "box", "model": MLP, "training": {"lr": [[0, 0.02], [100, 0.0]]}},
    "ppo_global_norm": {
        "model": MLP,
        "training": {"lr": 0.01, "grad_clip": 0.1, "grad_clip_by": "global_norm"},
    },
    "ppo_norm": {
        "model": MLP,
        "training": {"lr": 0.01, "grad_clip": 0.1, "grad_clip_by": "norm"},
    },
    "ppo_value": {
        "model": MLP,
        "training": {"lr": 0.01, "grad_clip": 0.05, "grad_clip_by": "value"},
    },
    "ppo_plain": {"model": MLP, "training": {"use_kl_loss": False, "use_critic": False}},
    "ppo_close": {"model": MLP, "training": {"kl_target": 0.2, "vf_clip_param": 0.5}},
    "ppo_two_modules": {"several": True, "model": MLP, "training": {"lr": 0.01}},
    "marwil": {"algorithm": "MARWIL", "model": MLP, "training": {"lr": 0.01}},
    "marwil_sharp": {
        "algorithm": "MARWIL",
        "model": LSTM,
        "training": {
            "lr": 0.01,
            "beta": 0.8,
            "vf_coeff": 0.25,
            "moving_average_sqd_adv_norm_start": 0.01,
            "moving_average_sqd_adv_norm_update_rate": 0.5,
        },
        "update": {**TWICE, "minibatch_size": 8},
    },
    "marwil_cloning": {"algorithm": "MARWIL", "model": MLP, "training": {"beta": 0.0}},
    "bc": {"algorithm": "BC", "act": "box", "model": {"fcnet_hiddens": [4]}, "training": {}},
}


def columns(steps, act, rng):
    """One agent's columns."""
    actions = (
        rng.integers(2, size=steps)
        if act == "discrete"
        else rng.uniform(-1, 1, size=(steps, 2)).astype(np.float32)
    )
    width = 2 if act == "discrete" else 4
    return {
        "obs": rng.normal(size=(steps + 1, 3)).astype(np.float32),
        "actions": actions,
        "rewards": rng.normal(size=steps),
        "logits": rng.normal(size=(steps, width)).astype(np.float32),
        "logp": (rng.normal(size=steps) * 0.5 - 1).astype(np.float32),
    }


def single_episode(name, col, done, act):
    """An episode of one agent."""
    made = SingleAgentEpisode(id_=name, observation_space=OBS, action_space=ACTS[act])
    made.add_env_reset(observation=col["obs"][0])
    steps = len(col["rewards"])
    for t in range(steps):
        made.add_env_step(
            observation=col["obs"][t + 1],
            action=col["actions"][t],
            reward=float(col["rewards"][t]),
            terminated=done and t == steps - 1,
            extra_model_outputs={
                "action_dist_inputs": col["logits"][t],
                "action_logp": col["logp"][t],
            },
        )
    return made.to_numpy()


def several_episode(name, cols, done):
    """An episode of agents a and b who act together."""
    made = MultiAgentEpisode(
        id_=name, agent_to_module_mapping_fn=lambda agent_id, episode, **kwargs: f"p_{agent_id}"
    )
    made.add_env_reset(observations={a: col["obs"][0] for a, col in cols.items()})
    steps = len(cols["a"]["rewards"])
    for t in range(steps):
        made.add_env_step(
            observations={a: col["obs"][t + 1] for a, col in cols.items()},
            actions={a: int(col["actions"][t]) for a, col in cols.items()},
            rewards={a: float(col["rewards"][t]) for a, col in cols.items()},
            terminateds={"__all__": done and t == steps - 1},
            extra_model_outputs={
                a: {"action_dist_inputs": col["logits"][t], "action_logp": col["logp"][t]}
                for a, col in cols.items()
            },
        )
    return made.to_numpy()


def config_of(case):
    """Ray's settings for a case."""
    act = ACTS[case.get("act", "discrete")]
    config = CONFIGS[case.get("algorithm", "PPO")]()
    config.environment(observation_space=OBS, action_space=act)
    config.rl_module(model_config=case["model"])
    config.training(**case["training"])
    config.reporting(log_gradients=True)
    if case.get("several"):
        config.multi_agent(
            policies={"p_a", "p_b"},
            policy_mapping_fn=lambda agent_id, episode, **kwargs: f"p_{agent_id}",
            algorithm_config_overrides_per_module={
                "p_b": PPOConfig.overrides(lr=0.05, clip_param=0.1)
            },
        )
        both = (
            gym.spaces.Dict({"a": OBS, "b": OBS}),
            gym.spaces.Dict({"a": act, "b": act}),
        )
        one = {"p_a": (OBS, act), "p_b": (OBS, act)}
    else:
        both, one = (OBS, act), {"default_policy": (OBS, act)}
    config.debugging(seed=1)
    return config, {**one, "__env__": both, "__env_single__": both}


def weights(learner):
    """All weights, flat."""
    return {
        f"{module_id}/{name}": value
        for module_id, state in learner.get_state()["rl_module"].items()
        for name, value in state.items()
        if "const" not in name
    }


def record(name, case):
    """Run a case and write it down."""
    config, spaces = config_of(case)
    base = config.get_default_learner_class()
    seen = {"losses": []}

    class Recording(base):
        def compute_losses(self, *, fwd_out, batch):
            losses = super().compute_losses(fwd_out=fwd_out, batch=batch)
            seen["losses"].append({key: float(loss) for key, loss in losses.items()})
            return losses

        def postprocess_gradients(self, gradients_dict):
            if "gradients" not in seen:
                seen["gradients"] = {
                    f"{module_id}/{key}": gradients_dict[param].detach().numpy().copy()
                    for module_id, module in self.module.items()
                    for key, param in module.named_parameters()
                    if gradients_dict.get(param) is not None
                }
            return super().postprocess_gradients(gradients_dict)

        def apply_gradients(self, gradients_dict):
            super().apply_gradients(gradients_dict)
            if "first" not in seen:
                seen["first"] = weights(self)

    learner = config.training(learner_class=Recording).build_learner(spaces=spaces)
    rng = np.random.default_rng(7)
    before = weights(learner)
    act = case.get("act", "discrete")
    stored, episodes = {}, []
    for index, (steps, done) in enumerate([(5, True), (4, False), (6, True)]):
        if case.get("several"):
            cols = {agent: columns(steps, act, rng) for agent in "ab"}
            episodes.append(several_episode(f"e{index}", cols, done))
            stored.update(
                {f"{index}/{a}/{k}": v for a, col in cols.items() for k, v in col.items()}
            )
        else:
            col = columns(steps, act, rng)
            episodes.append(single_episode(f"e{index}", col, done, act))
            stored.update({f"{index}/{k}": v for k, v in col.items()})
    update = case.get("update", TWICE)
    results = learner.update(
        episodes=episodes,
        timesteps={"num_env_steps_sampled_lifetime": 50},
        shuffle_batch_per_epoch=False,
        **update,
    )
    told = {
        module_id: {key: float(stat.peek()) for key, stat in held.items() if hasattr(stat, "peek")}
        for module_id, held in results.items()
    }
    facts = {
        "ray": ray.__version__,
        "case": case,
        "update": update,
        "dones": [True, False, True],
        "losses": seen["losses"],
        "results": told,
    }
    np.savez_compressed(
        HERE / f"{name}.npz",
        facts=np.array(json.dumps(facts)),
        **{f"episode/{key}": value for key, value in stored.items()},
        **{f"before/{key}": value for key, value in before.items()},
        **{f"gradient/{key}": value for key, value in seen["gradients"].items()},
        **{f"first/{key}": value for key, value in seen["first"].items()},
        **{f"after/{key}": value for key, value in weights(learner).items()},
    )
    print(name, len(seen["losses"]), told)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for chosen in sys.argv[1:] or CASES:
        record(chosen, CASES[chosen])
