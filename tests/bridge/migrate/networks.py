"""Old policies of every architecture, and their networks asked beside native modules."""

import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from rlconnect.legacy import Policy

VECTOR, IMAGE = Box(-3, 3, (5,), np.float32), Box(-1, 1, (10, 10, 3), np.float32)
ARM = Box(-1, 1, (2,), np.float32)
DENSE = {"fcnet_hiddens": [8, 6], "fcnet_activation": "tanh"}
CONV = {"conv_filters": [[4, [4, 4], 2], [8, [5, 5], 1]], "conv_activation": "relu"}
LSTM = {"use_lstm": True, "lstm_cell_size": 7}
PARTS = Dict({"go": Discrete(2), "aim": ARM})

POLICIES = {
    "own value net": ("PPO", VECTOR, Discrete(3), {}, DENSE),
    "shared layers": ("PPO", VECTOR, Discrete(3), {}, {**DENSE, "vf_share_layers": True}),
    "no hidden layers": ("PPO", VECTOR, Discrete(3), {}, {"fcnet_hiddens": []}),
    "post layers": ("PPO", VECTOR, ARM, {}, {**DENSE, "post_fcnet_hiddens": [4]}),
    "swish": ("PPO", VECTOR, ARM, {}, {**DENSE, "fcnet_activation": "swish"}),
    "linear": ("PPO", VECTOR, ARM, {}, {**DENSE, "fcnet_activation": "linear"}),
    "free deviations": ("PPO", VECTOR, ARM, {}, {**DENSE, "free_log_std": True}),
    "no output layer": (
        "PPO",
        VECTOR,
        Discrete(3),
        {},
        {**DENSE, "no_final_linear": True, "vf_share_layers": True},
    ),
    "many choices": ("PPO", VECTOR, MultiDiscrete([2, 3]), {}, DENSE),
    "tuple of actions": ("PPO", VECTOR, Tuple([Discrete(2), ARM]), {}, DENSE),
    "dict of actions": ("PPO", VECTOR, PARTS, {}, DENSE),
    "image": ("PPO", IMAGE, Discrete(3), {}, CONV),
    "image, shared": ("PPO", IMAGE, Discrete(3), {}, {**CONV, "vf_share_layers": True}),
    "image, post layer": ("PPO", IMAGE, ARM, {}, {**CONV, "post_fcnet_hiddens": [6]}),
    "lstm": ("PPO", VECTOR, Discrete(3), {}, {**DENSE, **LSTM}),
    "image lstm": ("PPO", IMAGE, ARM, {}, {**CONV, **LSTM}),
    "appo": ("APPO", VECTOR, ARM, {}, DENSE),
    "impala": ("IMPALA", VECTOR, Discrete(3), {}, DENSE),
    "a2c": ("A2C", VECTOR, Discrete(3), {}, DENSE),
    "pg": ("PG", VECTOR, Discrete(3), {}, DENSE),
    "marwil": ("MARWIL", VECTOR, ARM, {}, DENSE),
    "bc": ("BC", VECTOR, ARM, {}, DENSE),
    "dueling": ("DQN", VECTOR, Discrete(3), {"hiddens": [6, 4]}, DENSE),
    "not dueling": ("DQN", VECTOR, Discrete(3), {"hiddens": [6], "dueling": False}, DENSE),
    "no branches": ("DQN", VECTOR, Discrete(3), {"hiddens": [], "dueling": False}, DENSE),
    "atoms": ("DQN", VECTOR, Discrete(3), {"hiddens": [6], "num_atoms": 5}, DENSE),
    "atoms, two layers": ("DQN", VECTOR, Discrete(3), {"hiddens": [6, 4], "num_atoms": 5}, DENSE),
    "atoms, not dueling": (
        "DQN",
        VECTOR,
        Discrete(3),
        {"hiddens": [6], "num_atoms": 5, "dueling": False},
        DENSE,
    ),
    "simple q": ("SimpleQ", VECTOR, Discrete(3), {}, DENSE),
    "sac": ("SAC", VECTOR, ARM, {}, {}),
    "sac, discrete": ("SAC", VECTOR, Discrete(3), {}, {}),
    "sac, small q": (
        "SAC",
        VECTOR,
        ARM,
        {"policy_model_config": {"fcnet_hiddens": [5]}, "q_model_config": {"fcnet_hiddens": [4]}},
        {},
    ),
}

REFUSED = {
    "attention": ("PPO", VECTOR, Discrete(3), {}, {"use_attention": True, "attention_dim": 4}),
    "earlier actions": (
        "PPO",
        VECTOR,
        Discrete(3),
        {},
        {**DENSE, **LSTM, "lstm_use_prev_action": True},
    ),
    "noisy": ("DQN", VECTOR, Discrete(3), {"noisy": True, "hiddens": [6]}, DENSE),
    "ddpg": ("DDPG", VECTOR, ARM, {}, {}),
    "sac without squashing": ("SAC", VECTOR, ARM, {"normalize_actions": False}, {}),
    "soft q": ("DQN", VECTOR, Discrete(3), {"exploration_config": {"type": "SoftQ"}}, DENSE),
    "nested": (
        "PPO",
        Dict({"a": VECTOR, "b": IMAGE}),
        Discrete(3),
        {},
        {**CONV, "_disable_preprocessor_api": True},
    ),
}


def all_native(plan):
    """The plan with all that is native in its place, where proofs are not what is asked."""
    for step in plan.steps:
        step.is_applied = step.is_native
    return plan


def policy_of(described):
    """A policy with weights of a seed; biases and deviations are not 0."""
    algorithm, space, actions, config, model = described
    if algorithm in ("DQN", "SimpleQ") and "exploration_config" not in config:
        config = {**config, "exploration_config": {"type": "EpsilonGreedy"}}
    policy = Policy(space, actions, {"seed": 3, **config, "model": model}, algorithm=algorithm)
    rng = np.random.default_rng(4)
    policy.set_weights(
        {
            name: (part + rng.normal(0, 0.1, part.shape)).astype(part.dtype)
            for name, part in policy.get_weights().items()
        }
    )
    return policy


def asked(policy, module, rows=6):
    """Outputs, values and states of both, for the same random rows and states."""
    rng = np.random.default_rng(5)
    space = policy.observation_space
    obs = rng.normal(size=(rows, *space.shape)).astype(np.float32)
    network = policy.networks.torch()
    states = [
        rng.normal(size=(rows, *np.shape(part))).astype(np.float32)
        for part in network.initial_state
    ]
    columns = {"obs": obs, "obs_flat": obs.reshape(rows, -1)}
    old = network.run(columns, states, None)
    batch = {"obs": torch.tensor(obs)}
    if states:
        h, c = (torch.tensor(part)[:, None] for part in states)
        batch = {"obs": batch["obs"][:, None], "state_in": {"h": h, "c": c}}
    with torch.no_grad():
        new = module.forward_inference(batch)
        outputs = new.get("action_dist_inputs")
        if outputs is None:
            outputs = module.compute_q_values(batch)["qf_preds"]
        pairs = {"outputs": (old.dist_inputs, outputs)}
        if "vf_preds" in old.extra and hasattr(module, "compute_values"):
            pairs["values"] = (old.extra["vf_preds"], module.compute_values(batch))
        if states:
            pairs["h"] = (old.state_out[0], new["state_out"]["h"])
            pairs["c"] = (old.state_out[1], new["state_out"]["c"])
    return {name: (a, b.numpy().reshape(a.shape)) for name, (a, b) in pairs.items()}
