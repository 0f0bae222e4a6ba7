"""What an actor costs over the bare network, an adapter over bare numpy, an ONNX file over its net.

    python benchmarks/actor.py [--rounds 9] [--json]

CPU time a call, the median of rounds that alternate between the arms, one thread. Ratios compare
with the fastest bare arm of the same row: numpy, torch, and onnxruntime where it is installed. The
adapter is also measured against numpy in a vector wrapper of gymnasium's, written by hand.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np  # numpy and torch read the variables when they are loaded
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import VectorWrapper
from rlconnect.bridge import Actor
from rlconnect.bridge.compiled.artifact import export_actor
from rlconnect.core.adapters import (
    AdapterChain,
    DropFeatures,
    ExtendAction,
    Scale,
)
from rlconnect.legacy import Policy, create_connectors_for_policy

HIDDEN = (32, 64, 256)
ROWS = (1, 64, 4096)


def policy_of(hidden):
    """A policy of two tanh layers with biases, whose logits differ as a trained one's do."""
    spaces = Box(-np.inf, np.inf, (8,), np.float32), Discrete(4)
    config = {"seed": 0, "model": {"fcnet_hiddens": [hidden, hidden]}}
    weights = Policy(*spaces, config).get_weights()
    weights["_logits._model.0.weight"] = weights["_logits._model.0.weight"] * 100
    rng = np.random.default_rng(0)
    for name in [name for name in weights if name.endswith("bias")]:
        weights[name] = rng.normal(0, 0.1, weights[name].shape).astype(np.float32)
    policy = Policy(*spaces, config, weights=weights)
    create_connectors_for_policy(policy, config)
    return policy, weights


def bare_forms(weights):
    """The policy's network alone, in numpy and in torch: arrays in, arrays out."""
    names = ("_hidden_layers.0", "_hidden_layers.1", "_logits")
    layers = [(weights[f"{n}._model.0.weight"], weights[f"{n}._model.0.bias"]) for n in names]
    arrays = [(weight.T.copy(), bias) for weight, bias in layers]
    net = torch.nn.Sequential()
    for place, (weight, bias) in enumerate(layers):
        linear = torch.nn.Linear(*weight.T.shape)
        linear.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
        net.extend([linear, *([torch.nn.Tanh()] if place < 2 else [])])
    net.eval()

    def numpy_form(x):
        for weight, bias in arrays[:-1]:
            x = np.tanh(x @ weight + bias)
        return x @ arrays[-1][0] + arrays[-1][1]

    def torch_form(x):
        with torch.inference_mode():
            return net(torch.from_numpy(x)).numpy()

    return numpy_form, torch_form, net


def session_of(model):
    """A model in onnxruntime, on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def exported_net(net):
    """A bare network as torch exports it; None where nothing exports."""
    if not all(map(find_spec, ("onnx", "onnxscript", "onnxruntime"))):
        return None
    rows = {0: torch.export.Dim("batch")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's exporter calls what it has deprecated
        made = torch.onnx.export(
            net,
            (torch.zeros(3, 8),),
            dynamo=True,
            dynamic_shapes=(rows,),
            opset_version=18,
            input_names=["obs"],
            verbose=False,
        )
    return session_of(made.model_proto.SerializeToString())


def exported_actor(actor):
    """The whole step of an actor."""
    with tempfile.TemporaryDirectory() as place:
        export_actor(actor, Path(place) / "actor.onnx")
        return session_of((Path(place) / "actor.onnx").read_bytes())


def cases():
    """Arms by row: (name, {arm: call}); the first arm is ours."""
    rng = np.random.default_rng(0)
    chain = AdapterChain(
        obs=[DropFeatures([4, 5]), Scale((0.1, 0.2, 0.5, 1.0))], action=[ExtendAction([0.0])]
    )
    bound = chain.bind(Box(-10, 10, (6,), np.float32), Box(-1, 1, (1,), np.float32))
    scale = np.array([0.1, 0.2, 0.5, 1.0], np.float32)
    for rows in (1, 512):
        obs, action = np.ones((rows, 6), np.float32), np.zeros((rows, 1), np.float32)
        wide = np.zeros((rows, 2), np.float32)
        by_gymnasium = wrapped(rows, scale)

        def ours(obs=obs, action=action):
            bound.observe(obs)
            bound.act(action)

        def by_hand(obs=obs, action=action, wide=wide):
            obs[:, :4] * scale
            wide[:, :1] = action

        def wrapper(obs=obs, action=action, own=by_gymnasium):
            own.observations(obs)
            own.actions(action)

        yield f"adapter.n{rows}", {"rlconnect": ours, "numpy": by_hand, "wrapper": wrapper}
    for hidden in HIDDEN:
        policy, weights = policy_of(hidden)
        actor = Actor.from_policy(policy)
        numpy_form, torch_form, net = bare_forms(weights)
        alone = exported_net(net)
        whole = None if alone is None else exported_actor(actor)
        for rows in ROWS:
            obs = rng.normal(size=(rows, 8)).astype(np.float32)
            given = obs[0] if rows == 1 else obs
            assert np.array_equal(np.atleast_1d(actor.act(given)), numpy_form(obs).argmax(-1))
            arms = {
                "rlconnect": lambda a=actor, x=given: a.act(x),
                "numpy": lambda f=numpy_form, x=obs: f(x),
                "torch": lambda f=torch_form, x=obs: f(x),
            }
            if alone is not None:
                arms["onnxruntime"] = lambda s=alone, x=obs: s.run(None, {"obs": x})
            yield f"act.h{hidden}.n{rows}", arms
            if alone is not None and hidden == 64:
                yield (
                    f"onnx.h{hidden}.n{rows}",
                    {
                        "rlconnect": lambda s=whole, x=obs: s.run(None, {"obs": x}),
                        "onnxruntime": lambda s=alone, x=obs: s.run(None, {"obs": x}),
                    },
                )


def wrapped(rows, scale):
    """What one writes by hand for a vector environment of gymnasium's."""

    class ByHand(VectorWrapper):
        def __init__(self):
            self.appended = np.zeros((rows, 1), np.float32)

        def observations(self, observations):
            return observations[:, :4] * scale

        def actions(self, actions):
            return np.concatenate([actions, self.appended], axis=1)

    return ByHand()


def measured(arms, rounds, seconds):
    """The median time of a call by arm, in microseconds."""
    found = {name: [] for name in arms}
    calls = {}
    for name, call in arms.items():
        call()
        began = time.process_time()
        call()
        calls[name] = max(3, int(seconds / max(time.process_time() - began, 2e-6)))
    for _ in range(rounds):
        for name, call in arms.items():
            began = time.process_time()
            for _ in range(calls[name]):
                call()
            found[name].append((time.process_time() - began) / calls[name] * 1e6)
    return {name: statistics.median(times) for name, times in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.02, help="length of a round of an arm")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    torch.set_num_threads(1)
    rows = {}
    for name, arms in cases():
        times = rows[name] = measured(arms, args.rounds, args.seconds)
        best = min(value for arm, value in times.items() if arm != "rlconnect")
        if not args.json:
            parts = "  ".join(f"{arm} {value:9.1f} us" for arm, value in times.items())
            print(f"{name:14} x{times['rlconnect'] / best:4.2f} of the best bare   {parts}")
    if args.json:
        print(json.dumps({"microseconds": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
