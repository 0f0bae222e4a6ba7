"""Records what real Ray's DQN learner makes of twenty small batches; run by hand with Ray 2.60.

Each case of `CASES` becomes one `.npz` beside this file: the columns of all batches, the weights
before, the first gradients, the loss and the TD errors of each update, the weights after the first
and the last update, and the results of the last. `python record.py`
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
from ray.rllib.algorithms.dqn import DQNConfig  # noqa: E402
from ray.rllib.env.single_agent_episode import SingleAgentEpisode  # noqa: E402
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer  # noqa: E402

HERE = Path(__file__).parent
OBS = gym.spaces.Box(-10.0, 10.0, (3,), np.float32)
ACTS = gym.spaces.Discrete(3)
UPDATES, ROWS = 20, 6

MLP = {"fcnet_hiddens": [4]}
LSTM = {**MLP, "use_lstm": True, "lstm_cell_size": 3, "max_seq_len": 5}
PLAIN = {"double_q": False, "dueling": False}
CASES = {
    "plain": {"training": PLAIN},
    "double": {"training": {**PLAIN, "double_q": True}},
    "dueling": {"training": {**PLAIN, "dueling": True}},
    "both": {"training": {"tau": 0.3}},
    "squares": {"training": {"td_error_loss_fn": "mse", "lr": [[0, 0.01], [150, 0.0]]}},
    "clipped": {"training": {"grad_clip": 0.05}},
    "n_steps": {"training": {"gamma": 0.8}, "most": 4},
    "weights": {"training": {}, "most": 3, "weights": True},
    "atoms": {"training": {**PLAIN, "num_atoms": 5, "v_min": -2.0, "v_max": 2.0}},
    "atoms_dueling": {
        "training": {"num_atoms": 4, "v_min": -1.0, "v_max": 2.0},
        "most": 3,
        "weights": True,
    },
    "lstm": {"model": LSTM, "training": {}},
    "burn_in": {"model": LSTM, "training": {"burn_in_len": 2}},
}


def sequences(rng, is_recurrent, most, has_weights):
    """The columns of one batch: one step a row, or stretches of several lengths."""
    lens = rng.integers(3, 9, size=3) if is_recurrent else np.ones(ROWS, np.int64)
    steps = int(lens.sum())
    made = {
        "lens": lens,
        "obs": rng.normal(size=(steps + len(lens), 3)).astype(np.float32),
        "actions": rng.integers(3, size=steps),
        "rewards": rng.normal(size=steps).round(3),
        "terminateds": rng.random(len(lens)) < 0.3,
        "truncateds": np.zeros(len(lens), bool),
        "n_step": rng.integers(1, most + 1, size=steps),
        "weights": rng.random(steps).round(3) if has_weights else np.ones(steps),
    }
    made["truncateds"] = ~made["terminateds"] & (rng.random(len(lens)) < 0.3)
    if is_recurrent:
        for key in ("h", "c"):
            made[f"state_{key}"] = rng.normal(size=(steps, 1, 3)).astype(np.float32)
    return made


def episodes_of(batch, number):
    """The episodes of one batch."""
    made, row, seen = [], 0, 0
    for place, steps in enumerate(batch["lens"].tolist()):
        own = slice(row, row + steps)
        outputs = {key: batch[key][own] for key in ("n_step", "weights")}
        if "state_h" in batch:
            outputs["state_out"] = {key: batch[f"state_{key}"][own] for key in ("h", "c")}
        made.append(
            SingleAgentEpisode(
                id_=f"{number}_{place}",
                observations=InfiniteLookbackBuffer(batch["obs"][seen : seen + steps + 1]),
                actions=InfiniteLookbackBuffer(batch["actions"][own]),
                rewards=InfiniteLookbackBuffer(batch["rewards"][own]),
                observation_space=OBS,
                action_space=ACTS,
                terminated=bool(batch["terminateds"][place]),
                truncated=bool(batch["truncateds"][place]),
                extra_model_outputs={
                    key: InfiniteLookbackBuffer(own_output) for key, own_output in outputs.items()
                },
                len_lookback_buffer=0,
            )
        )
        row += steps
        seen += steps + 1
    return made


def weights_of(learner):
    """All weights, the copies' included."""
    state = learner.module["default_policy"].state_dict()
    return {name: value.numpy().copy() for name, value in state.items()}


def record(name, case):
    """Write one case."""
    rng = np.random.default_rng(sorted(CASES).index(name))
    training = {"lr": 0.01, "target_network_update_freq": 50, **case["training"]}
    model = case.get("model", MLP)
    config = DQNConfig().environment(observation_space=OBS, action_space=ACTS)
    config.training(**training).rl_module(model_config=model).debugging(seed=1)
    config.reporting(log_gradients=True)
    learner = config.build_learner(spaces={"default_policy": (OBS, ACTS)})
    gradients = {}
    plain = learner.postprocess_gradients

    def noted(gradients_dict):
        if not gradients:
            for key, param in learner.module["default_policy"].named_parameters():
                ref = learner.get_param_ref(param)
                if gradients_dict.get(ref) is not None:
                    gradients[key] = gradients_dict[ref].numpy().copy()
        return plain(gradients_dict)

    learner.postprocess_gradients = noted
    arrays, losses, batches, td_errors = {}, [], [], []
    is_recurrent = "model" in case
    arrays.update({f"before/{key}": value for key, value in weights_of(learner).items()})
    for number in range(UPDATES):
        batch = sequences(rng, is_recurrent, case.get("most", 1), case.get("weights", False))
        batches.append(batch)
        found = learner.update(
            episodes=episodes_of(batch, number),
            timesteps={"num_env_steps_sampled_lifetime": 10 * (number + 1)},
        )
        own = {
            key: value.peek()
            for key, value in found["default_policy"].items()
            if hasattr(value, "peek")
        }
        errors = own.pop("td_error")
        errors = torch.cat([torch.as_tensor(each) for each in errors]).numpy()
        td_errors.append(errors.reshape(-1))
        losses.append(float(own["total_loss"]))
        if not number:
            arrays.update({f"first/{key}": value for key, value in weights_of(learner).items()})
    arrays.update({f"last/{key}": value for key, value in weights_of(learner).items()})
    arrays.update({f"gradient/{key}": value for key, value in gradients.items()})
    arrays["losses"] = np.array(losses)
    for key in batches[0]:  # One behind the other; how many of each is told beside.
        arrays[f"batch/{key}"] = np.concatenate([batch[key] for batch in batches])
        arrays[f"count/{key}"] = np.array([len(batch[key]) for batch in batches])
    arrays["td_errors"] = np.concatenate(td_errors)
    arrays["count/td_errors"] = np.array([len(each) for each in td_errors])
    about = {
        "ray": ray.__version__,
        "torch": torch.__version__,
        "training": training,
        "model": model,
        "results": {key: float(value) for key, value in own.items()},
    }
    arrays["about"] = np.array(json.dumps(about))
    np.savez_compressed(HERE / f"{name}.npz", **arrays)
    print(name, losses[0], losses[-1])


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        record(name, CASES[name])
