"""The cases of `benchmarks/train_batches.py`: sampled episodes into train batches."""

import copy
from importlib import import_module

import gymnasium as gym
import numpy as np
import torch
from torch import nn

EPISODE = 200
ROW = 20
SPACES = {
    "box4": gym.spaces.Box(-5.0, 5.0, (4,), np.float32),
    "images": gym.spaces.Box(0, 255, (84, 84, 4), np.uint8),
    "dict": gym.spaces.Dict(
        {name: gym.spaces.Box(-1, 1, (size,), np.float32) for name, size in (("a", 8), ("b", 7))}
    ),
    "lstm": gym.spaces.Box(-5.0, 5.0, (4,), np.float32),
}
NAMES = (
    *(f"box4.values.t{steps}" for steps in (4000, 32000, 256000)),
    *(f"box4.free.t{steps}" for steps in (4000, 32000, 256000)),
    "images.values.t2000",
    *(f"{kind}.values.t{steps}" for kind in ("dict", "lstm") for steps in (4000, 32000)),
)
RAY = {
    "SingleAgentEpisode": "ray.rllib.env.single_agent_episode",
    "TorchRLModule": "ray.rllib.core.rl_module.torch.torch_rl_module",
    "ValueFunctionAPI": "ray.rllib.core.rl_module.apis.value_function_api",
    "MultiRLModule": "ray.rllib.core.rl_module.multi_rl_module",
    "RLModuleSpec": "ray.rllib.core.rl_module.rl_module",
    **dict.fromkeys(
        (
            "AddObservationsFromEpisodesToBatch",
            "AddTimeDimToBatchAndZeroPad",
            "AddStatesFromEpisodesToBatch",
            "BatchIndividualItems",
            "NumpyToTensor",
        ),
        "ray.rllib.connectors.env_to_module",
    ),
    **dict.fromkeys(
        (
            "AddOneTsToEpisodesAndTruncate",
            "AddColumnsFromEpisodesToTrainBatch",
            "GeneralAdvantageEstimation",
            "LearnerConnectorPipeline",
        ),
        "ray.rllib.connectors.learner",
    ),
}


def public(backend, name):
    """A public name of RLlib's, from Ray or from rlconnect."""
    return getattr(import_module("rlconnect.v2" if backend == "rlconnect" else RAY[name]), name)


def make(name, backend, folder):
    """What to time for one case and backend; None where there is no such thing."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    kind, values, steps = name.split(".")
    count = int(steps[1:]) // EPISODE
    if backend == "numpy":
        return None
    if backend == "torch":
        return bare(kind, values == "values", count)
    return pipeline_of(backend, kind, values == "values", count)


def columns_of(kind, steps=EPISODE):
    """Numbers of one episode."""
    rng = np.random.default_rng(0)
    space = SPACES[kind]

    def seen(own):
        if own.dtype == np.uint8:
            return rng.integers(0, 256, (steps + 1, *own.shape), dtype=np.uint8)
        return rng.random((steps + 1, *own.shape), dtype=np.float32)

    is_dict = isinstance(space, gym.spaces.Dict)
    return {
        "obs": {key: seen(own) for key, own in space.items()} if is_dict else seen(space),
        "actions": rng.integers(0, 2, steps),
        "rewards": rng.random(steps),
        "action_dist_inputs": rng.random((steps, 2), dtype=np.float32),
        "action_logp": rng.random(steps, dtype=np.float32),
    }


class Network(nn.Module):
    """Two layers of 64, after an LSTM for those with a state."""

    def __init__(self, kind):
        super().__init__()
        width = {"box4": 4, "images": 49 * 4, "dict": 15, "lstm": 64}[kind]
        self.kind = kind
        self.rnn = nn.LSTM(4, 64, batch_first=True) if kind == "lstm" else None
        layers = [nn.Linear(width, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)]
        self.net = nn.Sequential(*layers)

    def forward(self, seen, state=None):
        if self.kind == "images":
            seen = (seen[:, ::12, ::12].float() / 255).flatten(1)
        if self.kind == "dict":
            seen = torch.cat([seen["a"], seen["b"]], -1)
        if self.rnn is not None:
            seen, _ = self.rnn(seen, state)
        return self.net(seen).squeeze(-1)


def pipeline_of(backend, kind, has_values, count):
    """Prepare episodes; make a train batch of them as PPO does."""

    def of(name):
        return public(backend, name)

    class Module(of("TorchRLModule"), of("ValueFunctionAPI")):
        def setup(self):
            self.values = Network(kind)

        def is_stateful(self):
            return kind == "lstm"

        def get_initial_state(self):
            zeros = np.zeros(64, np.float32)
            return {"h": zeros, "c": zeros} if kind == "lstm" else {}

        def _forward(self, batch, **kwargs):
            return {}

        def compute_values(self, batch, embeddings=None):
            if not has_values:
                return torch.zeros(batch["obs"].shape[:-1])
            state = batch.get("state_in")
            if state is not None:
                state = state["h"].unsqueeze(0), state["c"].unsqueeze(0)
            with torch.no_grad():
                return self.values(batch["obs"], state)

    learns = {"as_learner_connector": True}
    pipeline = of("LearnerConnectorPipeline")(
        connectors=[
            of("AddOneTsToEpisodesAndTruncate")(),
            of("AddObservationsFromEpisodesToBatch")(**learns),
            of("AddColumnsFromEpisodesToTrainBatch")(),
            of("AddTimeDimToBatchAndZeroPad")(**learns),
            of("AddStatesFromEpisodesToBatch")(**learns),
            of("BatchIndividualItems")(multi_agent=False),
            of("NumpyToTensor")(**learns),
            of("GeneralAdvantageEstimation")(gamma=0.99, lambda_=0.95),
        ]
    )
    spec = of("RLModuleSpec")(
        module_class=Module,
        observation_space=SPACES[kind],
        action_space=gym.spaces.Discrete(2),
        model_config={"max_seq_len": ROW},
    )
    module = of("MultiRLModule")(rl_module_specs={"default_policy": spec})
    columns = columns_of(kind)
    seen = columns["obs"]
    if kind == "dict":
        items = [{key: own[step] for key, own in seen.items()} for step in range(EPISODE + 1)]
    else:
        items = list(seen)
    outputs = {name: list(columns[name]) for name in ("action_dist_inputs", "action_logp")}
    if kind == "lstm":
        outputs["state_out"] = [dict.fromkeys("hc", np.zeros(64, np.float32))] * EPISODE
    episode = of("SingleAgentEpisode")(
        observations=items,
        actions=list(columns["actions"]),
        rewards=list(columns["rewards"]),
        infos=[{} for _ in range(EPISODE + 1)],
        extra_model_outputs=outputs,
        len_lookback_buffer=0,
    ).to_numpy()

    def prepare():
        episodes = [copy.deepcopy(episode) for _ in range(count)]
        for number, each in enumerate(episodes):
            each.id_ = f"e{number}"
            each.is_terminated = number % 2 == 0
        return episodes

    return prepare, lambda episodes: pipeline(
        rl_module=module, batch={}, episodes=episodes, shared_data={}
    )


def bare(kind, has_values, count):
    """Concatenate, predict and look back over all episodes side by side, in numpy and torch."""
    columns = columns_of(kind)
    network = Network(kind)
    rows = -(-(EPISODE + 1) // ROW)
    ends = np.zeros((count, EPISODE), np.float32)
    ends[::2, -1] = 1

    def joined(column, steps):
        wide = np.zeros((count, steps, *column.shape[1:]), column.dtype)
        wide[:, : len(column)] = column
        if kind == "lstm":
            padded = np.zeros((count, rows * ROW, *column.shape[1:]), column.dtype)
            padded[:, :steps] = wide
            wide = padded.reshape(count * rows, ROW, *column.shape[1:])
        else:
            wide = wide.reshape(count * steps, *column.shape[1:])
        return torch.from_numpy(wide)

    def values_of(seen):
        if not has_values:
            return np.zeros((count, EPISODE + 1), np.float32)
        if kind == "lstm":
            state = torch.zeros(1, count * rows, 64)
            found = network(seen, (state, state)).numpy().reshape(count, -1)
            return found[:, : EPISODE + 1]
        parts = [seen[key].split(2048) for key in seen] if kind == "dict" else [seen.split(2048)]
        split = zip(*parts, strict=True)
        asked = [
            dict(zip("ab", part, strict=True)) if kind == "dict" else part[0] for part in split
        ]
        return torch.cat([network(part) for part in asked]).numpy().reshape(count, -1)

    def call():
        steps = EPISODE + 1
        obs = columns["obs"]
        is_dict = isinstance(obs, dict)
        seen = {k: joined(own, steps) for k, own in obs.items()} if is_dict else joined(obs, steps)
        batch = {name: joined(own, steps) for name, own in columns.items() if name != "obs"}
        with torch.inference_mode():
            values = values_of(seen)
        rewards = np.broadcast_to(columns["rewards"], (count, EPISODE))
        delta = rewards + 0.99 * (1 - ends) * values[:, 1:] - values[:, :-1]
        advantages = np.empty((EPISODE, count))
        last = np.zeros(count)
        for step in range(EPISODE - 1, -1, -1):
            last = delta[:, step] + 0.99 * 0.95 * (1 - ends[:, step]) * last
            advantages[step] = last
        targets = advantages.T + values[:, :-1]
        spread = max(1e-4, advantages.std())
        return batch, (advantages - advantages.mean()) / spread, targets

    return call
