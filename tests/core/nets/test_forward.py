"""A described network gives the same in numpy and in torch as torch's own layers."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError, PieceError, RlconnectError
from rlconnect.core.nets import bind, network_of
from rlconnect.core.nets.arrays import ArrayNetwork
from rlconnect.core.nets.kinds import KINDS
from rlconnect.core.nets.numpy_layers import ACTIVATIONS, activation_name
from rlconnect.core.nets.tensors import TensorNetwork
from torch import nn

TORCH = {
    "elu": nn.ELU(),
    "gelu": nn.GELU(),
    "gelu_tanh": nn.GELU(approximate="tanh"),
    "hardtanh": nn.Hardtanh(),
    "leaky_relu": nn.LeakyReLU(),
    "linear": nn.Identity(),
    "log_softmax": nn.LogSoftmax(dim=-1),
    "mish": nn.Mish(),
    "relu": nn.ReLU(),
    "relu6": nn.ReLU6(),
    "selu": nn.SELU(),
    "sigmoid": nn.Sigmoid(),
    "silu": nn.SiLU(),
    "softmax": nn.Softmax(dim=-1),
    "softplus": nn.Softplus(),
    "softsign": nn.Softsign(),
    "tanh": nn.Tanh(),
}


def both(description, module, inputs, state=(), sequences=None):
    """What numpy and torch compute, held to one another; the numpy one."""
    weights = {name: part.numpy() for name, part in module.state_dict().items()}
    bound = bind(
        network_of(description),
        {name: part.shape for name, part in weights.items()},
        {name: part.shape[1:] for name, part in inputs.items()},
    )
    net = TensorNetwork(bound)
    assert list(net.state_dict()) == list(weights)
    with torch.no_grad():
        for name in weights:
            net.weight(name).copy_(torch.from_numpy(weights[name]))
        given = {name: torch.from_numpy(part) for name, part in inputs.items()}
        states = [torch.from_numpy(part) for part in state]
        theirs, after = net(given, states, sequences)
    before = {name: part.copy() for name, part in inputs.items()}
    ours, own_after = ArrayNetwork(bound, weights)(inputs, state, sequences)
    for name, part in ours.items():
        assert part.dtype == np.float32
        np.testing.assert_allclose(part, theirs[name].numpy(), rtol=1e-5, atol=2e-6)
    for own, other in zip(own_after, after, strict=True):
        np.testing.assert_allclose(own, other.numpy(), rtol=1e-5, atol=2e-6)
    for name, part in inputs.items():
        np.testing.assert_array_equal(part, before[name])
    return ours, own_after


def equal(found, want, atol=2e-6):
    np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-5, atol=atol)


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name != "exp"])
def test_activations(name, rng):
    """Each activation is torch's, from deep saturation to zero."""
    x = np.concatenate([np.linspace(-90, 90, 181), rng.normal(size=19)]).astype(np.float32)[None]
    layers = [{"activation": name}]

    found, _ = both(
        {"layers": layers, "outputs": {"logits": "activation_1"}}, nn.Module(), {"obs": x}
    )

    equal(found["logits"], TORCH[name](torch.from_numpy(x)), atol=1e-5 if "gelu" in name else 2e-6)


def test_names_of_activations():
    """Torch's class names and other spellings mean the same; unknown ones are told."""
    assert [activation_name(n) for n in ("ReLU", "Swish", None, " tanh ")] == [
        "relu",
        "silu",
        "linear",
        "tanh",
    ]
    with pytest.raises(ConfigError, match="did you mean 'relu'"):
        activation_name("relus")


def test_images(rng):
    """Strides, paddings, dilation, groups, pools and batch norms over images."""
    torch.manual_seed(0)
    a = nn.Conv2d(4, 8, (5, 3), stride=(2, 1), padding=(2, 0))
    b = nn.Conv2d(8, 6, 3, dilation=2, groups=2, bias=False)
    norm = nn.BatchNorm2d(8).eval()
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2)
    out = nn.Linear(6 * 3 * 4, 3)
    module = nn.ModuleDict({"a": a, "norm": norm, "b": b, "out": out})
    x = rng.integers(0, 255, (5, 19, 19, 4)).astype(np.float32)
    description = {
        "layers": [
            {"divide": 255},
            {"permute": [2, 0, 1]},
            {"convolution": "a", "stride": [2, 1], "padding": [2, 0], "name": "first"},
            {"batch_norm": "norm", "activation": "relu"},
            {"pool": "max", "size": 3, "stride": [1, 2], "padding": 1},
            {"convolution": "b", "dilation": 2, "groups": 2},
            {"pool": "mean", "size": [2, 1], "stride": [2, 1]},
            {"flatten": True},
            {"dense": "out"},
        ],
        "outputs": {"logits": "out"},
    }
    image = torch.from_numpy(x / 255).permute(0, 3, 1, 2)
    hidden = nn.functional.max_pool2d(norm(a(image)).relu(), 3, (1, 2), 1)
    pooled = nn.functional.avg_pool2d(b(hidden), (2, 1))
    out = nn.Linear(pooled[0].numel(), 3)
    module["out"] = out

    found, _ = both(description, module, {"obs": x})

    equal(found["logits"], out(pooled.flatten(1)), atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_layers(kind, rng):
    """Two stacked layers, step by step and along sequences, from any state."""
    torch.manual_seed(0)
    layer = {"lstm": nn.LSTM, "gru": nn.GRU}[kind](5, 7, num_layers=2, batch_first=True)
    module = nn.ModuleDict({"rnn": layer})
    x = rng.normal(size=(3, 4, 5)).astype(np.float32)
    states = [rng.normal(size=(3, 7)).astype(np.float32) for _ in range(4 if kind == "lstm" else 2)]
    given = [torch.from_numpy(np.stack(states[i :: 2 if kind == "lstm" else 1])) for i in range(2)]
    want, last = layer(torch.from_numpy(x), tuple(given) if kind == "lstm" else given[0])
    last = torch.stack(last, 1).flatten(0, 1) if kind == "lstm" else last
    description = {"layers": [{kind: "rnn"}], "outputs": {"logits": "rnn"}}

    found, after = both(description, module, {"obs": x.reshape(12, 5)}, states, 3)

    equal(found["logits"].reshape(3, 4, 7), want)
    for own, other in zip(after, last, strict=True):
        equal(own, other)


def test_branches(rng):
    """Parts of an observation, sums, norms, tables, masks, slices, free parameters, dueling."""
    torch.manual_seed(0)
    module = nn.ModuleDict(
        {
            "a": nn.Linear(3, 6),
            "b": nn.Linear(6, 6),
            "norm": nn.LayerNorm(6),
            "table": nn.Embedding(4, 6),
            "out": nn.Linear(12, 5),
            "v": nn.Linear(6, 1),
        }
    )
    module.register_parameter("log_std", nn.Parameter(torch.randn(1, 2)))
    obs = {
        "obs.x": rng.normal(size=(8, 3)).astype(np.float32),
        "obs.kind": np.eye(4, dtype=np.float32)[rng.integers(0, 4, 8)],
        "obs.index": rng.integers(0, 4, (8,)).astype(np.float32),
        "obs.mask": rng.integers(0, 2, (8, 5)).astype(np.float32),
    }
    obs["obs.mask"][:, 0] = 1
    description = {
        "layers": [
            {"dense": "a", "input": "obs.x", "activation": "relu"},
            {"dense": "b", "activation": "tanh"},
            {"add": ["a", "b"], "name": "sum"},
            {"layer_norm": "norm", "input": "sum"},
            {"embedding": "table", "input": "obs.kind"},
            {"embedding": "table", "input": "obs.index", "name": "same"},
            {"multiply": ["table", "same"], "name": "both"},
            {"dense": "out", "input": ["norm", "both"]},
            {"slice": [1, 4], "name": "some"},
            {"parameter": "log_std", "name": "free"},
            {"clip": [-0.5, 0.5], "input": ["some", "free"], "name": "clipped"},
            {"mask": "obs.mask", "input": "clipped", "name": "logits"},
            {"dense": "v", "input": "sum"},
        ],
        "outputs": {"logits": "logits", "value": "v"},
    }
    x, kind, index, mask = (torch.from_numpy(part) for part in obs.values())
    with torch.no_grad():
        a = module["a"](x).relu()
        total = a + module["b"](a).tanh()
        both_tables = module["table"](kind.argmax(-1)) * module["table"](index.long())
        out = module["out"](torch.cat([module["norm"](total), both_tables], -1))
        joined = torch.cat([out[:, 1:4], module.log_std.expand(8, 2)], -1).clamp(-0.5, 0.5)
        want = joined + mask.log().clamp(min=torch.finfo(torch.float32).min)

    found, _ = both(description, module, obs)

    equal(found["logits"], want)
    equal(found["value"], module["v"](total)[:, 0])
    advantages = {"layers": [*description["layers"], {"dueling": ["out", "v"], "name": "q"}]}
    found, _ = both({**advantages, "outputs": {"q": "q"}}, module, obs)
    equal(found["q"], module["v"](total) + out - out.mean(-1, keepdim=True))


def test_weights_as_keras_has_them(rng):
    """Inputs stand first in a kernel, channels last in an image."""
    kernel, bias = rng.normal(size=(3, 3, 2, 4)), rng.normal(size=4)
    dense = rng.normal(size=(4 * 3 * 3, 5))
    weights = {
        "policy/conv/kernel:0": kernel,
        "policy/conv/bias:0": bias,
        "policy/out/kernel:0": dense,
        "policy/out/bias:0": np.zeros(5),
    }
    weights = {name: part.astype(np.float32) for name, part in weights.items()}
    module = nn.Module()
    for name, part in weights.items():
        module.register_parameter(name, nn.Parameter(torch.from_numpy(part)))
    x = rng.normal(size=(2, 5, 5, 2)).astype(np.float32)
    description = {
        "layers": [
            {"convolution": "policy/conv", "stride": 2, "padding": "same", "activation": "relu"},
            {"flatten": True},
            {"dense": "policy/out"},
        ],
        "outputs": {"logits": "policy/out"},
    }
    image = torch.from_numpy(x).permute(0, 3, 1, 2)
    filters = torch.from_numpy(kernel).float().permute(3, 2, 0, 1)
    hidden = nn.functional.conv2d(image, filters, torch.from_numpy(bias).float(), 2, 1).relu()

    found, _ = both(description, module, {"obs": x})

    equal(
        found["logits"],
        hidden.permute(0, 2, 3, 1).flatten(1) @ torch.from_numpy(dense).float(),
        1e-5,
    )


def test_a_missing_state_is_told(rng):
    """A recurrent network says that it needs its state."""
    module = nn.ModuleDict({"rnn": nn.LSTM(2, 3)})

    with pytest.raises(PieceError, match="needs its state"):
        both(
            {"layers": [{"lstm": "rnn"}], "outputs": {"logits": "rnn"}},
            module,
            {"obs": rng.normal(size=(2, 2)).astype(np.float32)},
        )


WORDS = st.sampled_from(
    ["obs", "fc", "out", "obs.x", "relu", "same", "", "max", "log_std", "prev_actions", "\x00", "w"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=6,
)
KEYS = st.sampled_from([*KINDS, "input", "name", "weights", "stride", "padding", "size", "epsilon"])


@settings(max_examples=300)
@given(
    layers=st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=4),
    shapes=st.dictionaries(
        st.sampled_from(["fc.weight", "fc.bias", "out.weight", "w.weight_ih_l0", "log_std"]),
        st.lists(st.integers(0, 5), max_size=4),
    ),
    outputs=st.dictionaries(st.sampled_from(["logits", "value", "q"]), WORDS, max_size=2),
    obs=st.lists(st.integers(0, 5), max_size=3),
)
def test_any_description_ends_typed(layers, shapes, outputs, obs):
    """Whatever stands in a description, it is a network that computes, or an error of ours."""
    try:
        network = network_of({"layers": layers, "outputs": outputs})
        bound = bind(network, shapes, {"obs": obs, "prev_actions": (3,)})
    except RlconnectError:
        return
    assert network_of(network.as_data()) == network
    weights = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    inputs = {name: np.ones((2, *shape), np.float32) for name, shape in bound.inputs.items()}
    with np.errstate(all="ignore"):
        ArrayNetwork(bound, weights)(inputs, [np.ones((2, *s), np.float32) for s in bound.states])
