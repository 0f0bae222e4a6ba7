"""The cases, and their weights, batches and noise by rule, so that none of them need be stored."""

import numpy as np

ROWS = 8
UPDATES = 20
KEPT = (0, 1, 4, 19)
"""The updates whose gradients and weights are kept."""

RATES = {"actor_lr": 0.01, "critic_lr": 0.02, "alpha_lr": 0.03}
VALUE_RATES = {"actor_lr": 0.01, "critic_lr": 0.02, "value_lr": 0.03}
LATE = {"bc_iters": 10, "num_actions": 3, "min_q_weight": 2.0}
CASES = {
    "sac": {},
    "sac_single": {"training": {"twin_q": False}},
    "sac_discrete": {"act": "discrete"},
    "sac_settings": {
        "training": {
            "grad_clip": 0.05,
            "grad_clip_by": "global_norm",
            "target_entropy": -0.7,
            "initial_alpha": 0.2,
            "tau": 0.1,
            "target_network_update_freq": 25,
            "gamma": 0.9,
            "actor_lr": [[0, 0.02], [200, 0.001]],
        }
    },
    "sac_two_modules": {"several": True},
    "sac_discrete_two_modules": {"act": "discrete", "several": True},
    "dqn_two_modules": {"algorithm": "DQN", "act": "discrete", "several": True},
    "dqn_atoms_two_modules": {
        "algorithm": "DQN",
        "act": "discrete",
        "several": True,
        "training": {"num_atoms": 5, "v_min": -3.0, "v_max": 3.0, "dueling": False},
    },
    "cql": {"algorithm": "CQL", "training": {**LATE, "bc_iters": 1000}},
    "cql_late": {"algorithm": "CQL", "training": {**LATE, "bc_iters": 0}},
    "cql_entropy": {
        "algorithm": "CQL",
        "training": {
            **LATE,
            "bc_iters": 0,
            "temperature": 0.5,
            "deterministic_backup": False,
            "twin_q": False,
        },
    },
    "iql": {"algorithm": "IQL"},
    "iql_single": {
        "algorithm": "IQL",
        "training": {"twin_q": False, "expectile": 0.7, "beta": 3.0, "tau": 0.05},
    },
}


OF_THE_SECOND = {
    "SAC": {"actor_lr": 0.05, "initial_alpha": 0.5, "tau": 0.5},
    "DQN": {"lr": 0.05, "gamma": 0.5, "tau": 0.5},
}
"""What the second of two modules has of its own."""


def model_of(case):
    """The model's settings: small networks."""
    if case.get("algorithm") == "DQN":
        return {"fcnet_hiddens": [4, 3], "head_fcnet_hiddens": [3]}
    return {"fcnet_hiddens": [4, 3], "head_fcnet_hiddens": [3], "fusionnet_hiddens": [4]}


def training_of(case):
    """What `training()` is given."""
    if case.get("algorithm") == "DQN":
        return {"lr": 0.01, "target_network_update_freq": 50, **case.get("training", {})}
    rates = VALUE_RATES if case.get("algorithm") == "IQL" else RATES
    return {**rates, **case.get("training", {})}


def weight(name, shape):
    """The first value of one weight: its name and shape decide; copies begin as what they copy."""
    name = name.replace("target_", "")
    seed = sum((i + 1) * ord(letter) for i, letter in enumerate(name)) % 2**31
    return (np.random.RandomState(seed).standard_normal(shape) * 0.4).astype(np.float32)


def batch(case, seed):
    """The columns of one module's batch, three features wide."""
    random = np.random.RandomState(seed)
    is_discrete = case.get("act") == "discrete"
    return {
        "obs": random.standard_normal((ROWS, 3)).astype(np.float32),
        "new_obs": random.standard_normal((ROWS, 3)).astype(np.float32),
        "actions": (
            random.randint(0, 3, ROWS)
            if is_discrete
            else random.uniform(-0.99, 0.99, (ROWS, 2)).astype(np.float32)
        ),
        "rewards": (3 * random.standard_normal(ROWS)).astype(np.float32),
        "terminateds": random.uniform(size=ROWS) < 0.3,
        "truncateds": np.zeros(ROWS, bool),
        "weights": random.uniform(0.2, 1.0, ROWS).astype(np.float32),
        "n_step": random.randint(1, 4, ROWS).astype(np.float32),
    }


class Noise:
    """What the policy draws: takes the place of torch's generator."""

    def __init__(self, torch):
        self.torch = torch
        self.random = np.random.RandomState(77)

    def normal(self, shape):
        """Standard normal numbers."""
        return self.torch.from_numpy(self.random.standard_normal(tuple(shape)).astype(np.float32))

    def uniform(self, *shape, **_):
        """Numbers from 0 to 1."""
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return self.torch.from_numpy(self.random.uniform(size=tuple(shape)).astype(np.float32))

    def rsample(self, dist, sample_shape=()):
        """A draw of a normal distribution that gradients pass through."""
        shape = dist._extended_shape(self.torch.Size(sample_shape or ()))
        return dist.loc + self.normal(shape) * dist.scale

    def sample(self, dist, sample_shape=()):
        """A draw of a normal distribution."""
        with self.torch.no_grad():
            return self.rsample(dist, sample_shape)

    def put(self, patch):
        """Let everything draw from here; `patch(object, name, value)` sets an attribute."""
        normal = self.torch.distributions.Normal
        patch(normal, "rsample", lambda dist, sample_shape=(): self.rsample(dist, sample_shape))
        patch(normal, "sample", lambda dist, sample_shape=(): self.sample(dist, sample_shape))
        patch(self.torch, "rand", self.uniform)


def recorded():
    """Rows as RLlib records them: two episodes, one cut off; actions as modules give them."""
    random = np.random.RandomState(5)
    steps = [5, 4]
    columns = {"obs": [], "new_obs": [], "eps_id": [], "terminateds": [], "truncateds": []}
    for index, length in enumerate(steps):
        seen = random.standard_normal((length + 1, 3)).astype(np.float32)
        columns["obs"].append(seen[:-1])
        columns["new_obs"].append(seen[1:])
        columns["eps_id"].append(np.array([f"e{index}"] * length))
        last = np.arange(length) == length - 1
        columns["terminateds"].append(last & (index == 0))
        columns["truncateds"].append(last & (index == 1))
    rows = {name: np.concatenate(parts) for name, parts in columns.items()}
    rows["actions"] = random.uniform(-0.99, 0.99, (sum(steps), 2)).astype(np.float32)
    rows["rewards"] = random.standard_normal(sum(steps))
    return rows
