"""What numpy does to one item, a formula does to a batch of them, in numpy and in torch."""

import numpy as np
import pytest
import torch
from rlconnect.bridge.compiled.numpy_functions import Untraceable, batched

from tests.bridge.compiled.traced_functions import expect_same

# What torch's own tracer calls of torch is deprecated in places.
pytestmark = [
    pytest.mark.torch("2.9"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
W = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]])
ROWS = np.random.default_rng(0).normal(0, 3, (5, 4))


def _in_every_way(x):
    filled = np.zeros(6)
    filled[:4] = x
    copied = x.copy()
    copied[0] = 7
    return {
        "arithmetic": (x + 1, 2.0 - x, x * np.float32(1.5), x / 3, -x, abs(x), x**2),
        "bounds": (np.clip(x, 0, 2), np.maximum(x, 1), np.minimum(1.5, x), np.sign(x)),
        "functions": (np.sin(x), np.tanh(x), np.sqrt(abs(x)), np.where(x > 0, x, 0)),
        "compared": (x > 1, np.any(x > 1), (x > -9).all(), np.argmax(x)),
        "types": (x.astype(np.float32), np.asarray(x, dtype=np.float64), np.float32(1.5) + 1),
        "parts": (x[:-2], x[::2], x[0], x[..., None], x[[0, -1]], np.take(x, [0, 0, 1])),
        "joined": (
            np.concatenate([x, [1, 2]]),
            np.hstack((x, [0])),
            np.append(x, 3),
            np.stack([x, x]),
            np.vstack((x, np.zeros(4))),
            np.hstack((x > 0, [True])),
        ),
        "moved": (x.reshape(2, 2).T, np.ravel(x[None]), np.flip(x), np.roll(x, 1), np.tile(x, 2)),
        "reduced": (x.sum(), x - x.mean(), x.max() - x.min(), np.std(x), np.linalg.norm(x)),
        "product": (x[:2] @ W, np.dot(x, np.ones(4))),
        "constants": (np.arange(3), 3, W[0]),
        "written": (filled, copied),
    }


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_a_formula_does_what_numpy_does_item_by_item(dtype):
    """Values, shapes and dtypes of each operation, alone and in batches."""
    expect_same(_in_every_way, ROWS.astype(dtype))


def test_nested_observations():
    """Dicts and tuples go in and come out; a list is an array."""
    rows = {"a": ROWS[:, :3], "b": (np.arange(5), ROWS.reshape(5, 2, 2))}

    expect_same(lambda obs: {"c": obs["b"], "d": {"e": obs["a"] * 2}}, rows)
    expect_same(lambda obs: np.array([obs["a"][0], obs["a"][1]]), rows)
    formula, constants = batched(lambda obs: [obs["a"][0], 3], rows)
    assert np.array_equal(formula(rows, *constants)[:, 0], ROWS[:, 0])


def _by_sign(x):
    if x[0] > 0:
        return x
    return -x


def _into_some_places(x):
    z = x * 2
    z[z > 2] = x[0]
    return z


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_by_sign, r"decides by a value at test_numpy_functions.py, line \d+: if x\[0\] > 0:"),
        (_into_some_places, r"at test_numpy_functions.py, line \d+: z\[z > 2\] = x\[0\]"),
        (lambda x: x[x > 0], r"decides by a value at .*line \d+: \(lambda x: x\[x > 0\]"),
        (lambda x: x * float(x[0]), r"decides by a value at .*line \d+:"),
        (lambda x: np.fft.fft(x).real * np.busday_count("2020", "2021"), r"at .*line \d+:"),
    ],
)
def test_what_has_no_formula_says_where(change, reason):
    """The reason ends in the file, the number and the text of the user's line."""
    with pytest.raises(Untraceable, match=reason):
        batched(change, ROWS)


def test_values_given_stay_as_they_are():
    """A function that writes into its argument writes into a copy."""

    def into_the_given(x):
        x[0] = 1
        return x

    formula, constants = batched(into_the_given, ROWS)
    given = torch.from_numpy(ROWS.copy())
    constants = map(torch.from_numpy, constants)

    assert (formula(given, *constants)[:, 0] == 1).all()
    assert np.array_equal(given.numpy(), ROWS)


def test_a_formula_takes_the_shape_and_the_device():
    """Other shapes are refused, not broadcast; new arrays are made where the values are."""
    formula, constants = batched(lambda x: np.hstack((x[:3] * 2, np.zeros(2))), ROWS)

    with pytest.raises(ValueError, match=r"expected shape \(batch, 4\), found shape \(2, 6\)"):
        formula(np.ones((2, 6)), *constants)
    elsewhere = torch.from_numpy(ROWS).to("meta")
    assert formula(elsewhere, *(torch.from_numpy(each).to("meta") for each in constants)).is_meta
