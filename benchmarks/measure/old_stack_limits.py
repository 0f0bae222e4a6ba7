"""What the same work costs at the least: bare numpy, or bare torch, on networks of the same size.

A yardstick, not a bound: no ids, no history, no records, nothing to look up.
"""

import numpy as np

WIDTH = 64


def make(name, backend):
    """The bare work behind a case, None where there is no counterpart."""
    kind, policy, *rest = name.split(".")
    if kind in ("local_policy_inference", "batch_policy_inference"):
        rows = 1 if kind[0] == "l" else 256
        return {"numpy": in_numpy, "torch": in_torch}[backend](policy, rows)
    if backend == "numpy" and kind == "agent_pipeline" and rest:
        return stacked(policy, int(rest[0][1:]))
    return None


def sizes(policy):
    return (3, 2) if policy.startswith("pendulum") else (4, 2)


def in_numpy(policy, rows):
    inputs, outputs = sizes(policy)
    rng = np.random.default_rng(0)
    k = WIDTH if policy.endswith("lstm") else inputs

    def array(*shape):
        return rng.normal(0, 0.1, shape).astype(np.float32)

    w1, b1, w2, b2 = array(k, WIDTH), array(WIDTH), array(WIDTH, WIDTH), array(WIDTH)
    w3, b3 = array(WIDTH, outputs), array(outputs)
    wi, wh, bh = array(inputs, 4 * k), array(k, 4 * k), array(4 * k)
    h = c = np.zeros((rows, k), np.float32)
    obs, mean, std = array(rows, inputs), np.zeros(inputs), np.ones(inputs)

    def call():
        nonlocal h, c
        x = ((obs - mean) / std).astype(np.float32) if policy.endswith("filter") else obs
        if policy.endswith("lstm"):
            z = x @ wi + h @ wh + bh
            gate = 1 / (1 + np.exp(-z))
            c = gate[:, k : 2 * k] * c + gate[:, :k] * np.tanh(z[:, 2 * k : 3 * k])
            x = h = gate[:, 3 * k :] * np.tanh(c)
        return (np.tanh(np.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3).argmax(-1)

    return call


def in_torch(policy, rows):
    import torch

    torch.set_num_threads(1)
    inputs, outputs = sizes(policy)
    is_lstm = policy.endswith("lstm")
    lstm = torch.nn.LSTM(inputs, WIDTH, batch_first=True)
    net = torch.nn.Sequential(
        torch.nn.Linear(WIDTH if is_lstm else inputs, WIDTH),
        torch.nn.Tanh(),
        torch.nn.Linear(WIDTH, WIDTH),
        torch.nn.Tanh(),
        torch.nn.Linear(WIDTH, outputs),
    )
    obs, mean, std = np.zeros((rows, inputs), np.float32), np.zeros(inputs), np.ones(inputs)
    state = (torch.zeros(1, rows, WIDTH), torch.zeros(1, rows, WIDTH))

    def call():
        x = ((obs - mean) / std).astype(np.float32) if policy.endswith("filter") else obs
        with torch.inference_mode():
            tensor = torch.from_numpy(x)
            if is_lstm:
                tensor = lstm(tensor[:, None], state)[0][:, 0]
            return net(tensor).argmax(-1).numpy()

    return call


def stacked(policy, count):
    """The arrays a policy needs of its agents, stacked; filtered, with states beside them."""
    inputs, _ = sizes(policy)
    rows = [np.zeros(inputs, np.float32) for _ in range(count)]
    states = [np.zeros(WIDTH, np.float32) for _ in range(count)]
    mean, std = np.zeros(inputs), np.ones(inputs)

    def call():
        x = np.array(rows)
        if policy.endswith("filter"):
            x = ((x - mean) / std).astype(np.float32)
        return (x, np.array(states), np.array(states)) if policy.endswith("lstm") else x

    return call
