"""Choosing in an ONNX file costs one node, as what is taken off logits is part of a bias."""

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.bridge import Actor
from rlconnect.bridge.compiled.artifact import export_actor, fold_into_biases

from tests.bridge.compiled.chains import made

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.torch("2.9")


def run(model, **given):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, given)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_one_of_several_is_chosen_without_normalising(onnx_functions, tmp_path, rng):
    """Behind the last layer there is the choice alone, and it is the actor's."""
    policy = made(spaces.Box(-1, 1, (4,), np.float32), spaces.Discrete(3))
    fresh = policy.get_weights()
    policy.set_weights(
        {name: each if each.ndim > 1 else each + 0.5 for name, each in fresh.items()}
    )
    actor = Actor.from_policy(policy)
    obs = rng.normal(size=(50, 4)).astype(np.float32)

    export_actor(actor, tmp_path / "policy.onnx")

    model = onnx.load(tmp_path / "policy.onnx")
    assert [node.op_type for node in model.graph.node][-3:] == ["Gemm", "ArgMax", "Cast"]
    assert np.array_equal(run(model, obs=obs)[0], actor.act(obs))


GRAPH = """
<ir_version: 10, opset_import: ["" : 18]>
g (float[n, 2] x) => (float[n, 2] y, float[n, 2] z)
<float[2, 2] w = {1, 2, 3, 4}, float[2] b = {5, 6}, float one = {1}, float[2] two = {1, 2}>
{ BODY }
"""
BODIES = {
    "folded": ("a = Gemm (x, w, b)  y = Sub (a, one)  z = Identity (y)", 1),
    "without a bias": ("a = Gemm (x, w)  y = Sub (a, one)  z = Identity (y)", 1),
    "bias of two": ("a = Gemm (x, w, b)  y = Sub (a, one)  z = Gemm (x, w, b)", 1),
    "read twice": ("a = Gemm (x, w, b)  y = Sub (a, one)  z = Identity (a)", 0),
    "given": ("y = Gemm (x, w, b)  z = Sub (y, one)", 0),
    "taken from": ("a = Gemm (x, w, b)  y = Sub (one, a)  z = Identity (y)", 0),
    "scaled bias": ("a = Gemm <beta = 2.0> (x, w, b)  y = Sub (a, one)  z = Identity (y)", 0),
    "one each": ("a = Gemm (x, w, b)  y = Sub (a, two)  z = Identity (y)", 0),
    "no layer": ("a = Tanh (x)  y = Sub (a, one)  z = Identity (y)", 0),
    "computed": ("a = Gemm (x, w, b)  c = Neg (one)  y = Sub (a, c)  z = Identity (y)", 0),
}


@pytest.mark.parametrize("body", BODIES)
def test_a_graph_gives_what_it_gave(body, rng):
    """Whatever is folded, and only where nobody else sees the difference."""
    text, folded = BODIES[body]
    model = onnx.parser.parse_model(GRAPH.replace("BODY", text))
    before, obs = len(model.graph.node), rng.normal(size=(5, 2)).astype(np.float32)
    wanted = run(model, x=obs)

    fold_into_biases(model.graph)

    onnx.checker.check_model(model)
    assert before - len(model.graph.node) == folded
    for found, want in zip(run(model, x=obs), wanted, strict=True):
        np.testing.assert_allclose(found, want, atol=1e-6)
