"""The cases of `benchmarks/legacy.py`: the same work for rlconnect, Ray and the bare limits."""

from importlib import import_module

import numpy as np

from . import old_stack_limits

RAY = {
    "Policy": "ray.rllib.policy.policy",
    "SampleBatch": "ray.rllib.policy.sample_batch",
    "local_policy_inference": "ray.rllib.utils.policy",
    "AgentConnectorDataType": "ray.rllib.utils.typing",
    "ActionConnectorDataType": "ray.rllib.utils.typing",
    "MeanStdFilter": "ray.rllib.utils.filter",
}
STEPPED = ("cartpole_mlp", "pendulum_filter", "cartpole_lstm")
NAMES = (
    *(f"local_policy_inference.{policy}" for policy in STEPPED),
    "local_policy_inference.cartpole_mlp.explore",
    *(f"agent_pipeline.{policy}.a{n}" for policy in STEPPED for n in (1, 16, 256)),
    *(f"batch_policy_inference.{policy}.a256" for policy in STEPPED),
    "action_pipeline.pendulum_filter",
    "filter.d64.update_apply.x64",
    "agent_pipeline.to_state",
)


def public(backend, name):
    """A public name of RLlib's, from Ray or from rlconnect."""
    return getattr(import_module("rlconnect.legacy" if backend == "rlconnect" else RAY[name]), name)


def make(name, backend, folder):
    """What to time for one case and backend; None where there is no such thing."""
    if backend in ("numpy", "torch"):
        return old_stack_limits.make(name, backend)
    kind, *parts = name.split(".")
    if name == "agent_pipeline.to_state":
        return loaded(backend, folder, "pendulum_filter").agent_connectors.to_state
    makers = {
        "local_policy_inference": local,
        "agent_pipeline": agents,
        "batch_policy_inference": batch,
        "action_pipeline": actions,
        "filter": observations_filter,
    }
    return makers[kind](backend, folder, *parts)


def loaded(backend, folder, name):
    found = public(backend, "Policy").from_checkpoint(str(folder / name))
    return next(iter(found.values())) if isinstance(found, dict) else found


def seen(name, count):
    rng = np.random.default_rng(0)
    if name.startswith("pendulum"):
        angle = rng.uniform(0, 2 * np.pi, count)
        speed = rng.uniform(-4, 4, count)
        return np.stack([np.cos(angle), np.sin(angle), speed], 1).astype(np.float32)
    return rng.uniform(-0.1, 0.1, (count, 4)).astype(np.float32)


def local(backend, folder, name, explore=""):
    policy = loaded(backend, folder, name)
    step = public(backend, "local_policy_inference")
    observations = list(seen(name, 256))
    place = 0
    step(policy, "env", "agent", observations[0], explore=bool(explore))

    def call():
        nonlocal place
        place = (place + 1) % 256
        step(
            policy,
            "env",
            "agent",
            observations[place],
            reward=1.0,
            terminated=False,
            truncated=False,
            info={},
            explore=bool(explore),
        )

    return call


def agents(backend, folder, name, count):
    pipeline = loaded(backend, folder, name).agent_connectors
    pipeline.in_eval()
    record = public(backend, "AgentConnectorDataType")
    observations = list(seen(name, int(count[1:])))
    steady = {"rewards": 1.0, "terminateds": False, "truncateds": False, "infos": {}}

    def prepare():
        return [
            record("env", f"agent {place}", {"new_obs": obs, **steady})
            for place, obs in enumerate(observations)
        ]

    return prepare, pipeline


def batch(backend, folder, name, count):
    policy = loaded(backend, folder, name)
    slots = int(count[1:])
    observations = seen(name, slots)
    ids, same = list(range(slots)), ["agent"] * slots
    steady = ([1.0] * slots, [False] * slots, [False] * slots, [{}] * slots)
    if backend == "rlconnect":
        from rlconnect.legacy import batch_policy_inference

        return lambda: batch_policy_inference(
            policy, ids, same, observations, *steady, explore=False
        )
    step = public(backend, "local_policy_inference")
    for env_id, obs in zip(ids, observations, strict=True):
        step(policy, env_id, "agent", obs, explore=False)
    return lambda: [
        step(policy, env_id, "agent", obs, 1.0, False, False, {}, explore=False)
        for env_id, obs in zip(ids, observations, strict=True)
    ]


def actions(backend, folder, name):
    pipeline = loaded(backend, folder, name).action_connectors
    record = public(backend, "ActionConnectorDataType")
    action = np.array([0.3], np.float32)
    return lambda: pipeline(record("env", "agent", {}, (action, [], {})))


def observations_filter(backend, folder, width, *_):
    filter_ = public(backend, "MeanStdFilter")((int(width[1:]),))
    rows = list(np.random.default_rng(0).random((64, int(width[1:]))))
    return lambda: [filter_(row) for row in rows]
