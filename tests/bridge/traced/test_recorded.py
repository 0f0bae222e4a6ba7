"""What numpy does to one item, a trace does to a batch of them, in numpy and in torch."""

from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.bridge.traced.tape import Untraceable

from tests.bridge.traced.functions import held, traced

pytestmark = pytest.mark.torch  # what is recorded runs on tensors

W = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]])

ANY = [
    "x + 1",
    "x * 0.5",
    "2.0 - x",
    "x / 3",
    "x * np.float32(1.5)",
    "x - x.mean()",
    "abs(x + 0)",
    "-x if x.dtype.kind != 'b' and x.dtype != np.uint8 else x",
    "np.clip(x, 0, 2)",
    "x.clip(-0.5, 1.5)",
    "np.where(x > 0, x, 0)",
    "np.where(np.isfinite(x) & ~(x == 2), x, [7])",
    "np.maximum(x, 1)",
    "np.minimum(1.5, x)",
    "np.tanh(x)",
    "np.sign(x)",
    "np.sqrt(abs(x + 0) + 1)",
    "x % 3",
    "x // 2",
    "x ** 2",
    "x.astype(np.float32)",
    "np.rint(x.astype(float))",
    "np.round(x * 0.5, 1)",
    "np.nan_to_num(x / (x > 1))",
    "np.asarray(x, dtype=np.float64)",
    "np.array(x)",
    "np.float32(x) + np.float32(1)",
    "x > 1",
    "np.ravel(x)",
    "x.reshape(-1)",
    "np.expand_dims(x, 0)",
    "np.squeeze(x[None])",
    "x.T",
    "x.copy()",
    "np.zeros_like(x) + x",
    "np.stack([x, x])",
    "np.concatenate((x.ravel(), [1, 2]))",
    "np.hstack((x.ravel(), [0.5]))",
    "np.append(x, 3)",
    "np.insert(x.ravel(), 1, 9)",
    "np.delete(x.ravel(), 0)",
    "np.flip(x)",
    "np.roll(x, 1)",
    "np.repeat(x, 2)",
    "np.tile(x, 2)",
    "np.pad(x, 1)",
    "np.atleast_2d(x)",
    "np.broadcast_to(x, (2, *x.shape))",
    "x.sum() + x",
    "np.mean(x)",
    "x.max() - x.min()",
    "np.prod(np.tanh(x))",
    "np.any(x > 1)",
    "(x > 0).all()",
    "np.argmax(x)",
    "np.cumsum(np.tanh(x))",
    "np.std(x)",
    "np.linalg.norm(x.ravel())",
]
ONE_AXIS_OR_MORE = [
    "x[:-1]",
    "x[::-1]",
    "x[0]",
    "x[[0, -1]]",
    "x[..., None]",
    "x[..., 1:]",
    "np.take(x, [0, 0, 1], axis=-1)",
    "x.sum(axis=-1)",
    "np.mean(x, axis=0, keepdims=True)",
    "x.min(0)",
    "np.cumsum(np.tanh(x), axis=0)",
    "np.array([x[0], x[-1]])",
    "np.array(list(x))",
    "np.argmin(x, axis=0)",
    "np.moveaxis(x, 0, -1)",
    "np.split(x, [1])[0]",
    "np.dot(x, np.ones(x.shape[-1]))",
    "np.ones((2, x.shape[0])) @ x",
    "x @ np.eye(x.shape[-1], dtype=np.float32)",
]


@st.composite
def programs(draw):
    """An expression of x, each step a function of the one before, and rows of items."""
    shape = draw(st.sampled_from([(), (4,), (3, 2), (2, 3, 2)]))
    dtype = np.dtype(draw(st.sampled_from(["float32", "float64", "int64", "int32", "uint8"])))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    rows: Any = rng.normal(0, 3, (5, *shape)) if dtype.kind == "f" else None
    rows = rng.integers(0, 9, (5, *shape)) if rows is None else rows
    rows = rows.astype(dtype)
    steps = []
    item = rows[0]
    for _ in range(draw(st.integers(1, 5))):
        text = draw(st.sampled_from(ANY + (ONE_AXIS_OR_MORE if np.ndim(item) else [])))
        try:
            with np.errstate(all="ignore"):
                found = eval(text, {"np": np, "x": item})
        except (ValueError, IndexError, TypeError, np.exceptions.AxisError):
            continue
        if np.asarray(found).dtype.name not in ("uint64", "float16") and 0 < np.size(found) < 500:
            item = found
            steps.append(text)
    return steps, rows


def function_of(steps):
    """The steps as one function of an observation."""
    lines = "".join(f"    x = {step}\n" for step in steps)
    scope = {"np": np, "__name__": "somebodys"}
    exec(f"def change(x):\n{lines}    return x\n", scope)
    return scope["change"]


@settings(max_examples=400, derandomize=True, deadline=None)
@given(programs())
def test_a_trace_does_what_numpy_does_item_by_item(program):
    """Any chain of operations: values, shapes and dtypes, alone and in batches."""
    steps, rows = program

    # A sum of bytes is a uint64, which numpy 1 makes something else with the next step.
    may_be_refused = rows.dtype == np.uint8 and any("sum()" in step for step in steps)
    with suppress(Untraceable) if may_be_refused else nullcontext():
        held(function_of(steps), rows)


def _kept_and_changed(x):
    y = x.copy()
    y[1:] += 1
    y[0] = 7
    z = np.zeros(6)
    z[:4] = y
    z[z > 2] = -1
    return {"y": y, "z": z[::2]}


def _through_views(x):
    whole = x * 2
    table = whole.reshape(2, 2)
    row, column = table[1], table[:, 0]
    row[0] += 5
    column *= 2
    whole[-1] = whole[0]
    return np.concatenate([whole, row, column]), table.T


def _from_parts(x):
    a, b, *rest = x
    return np.array([a + b, np.float32(2), *rest]), (a, 3)


def _by_weights(x):
    return np.tanh(x[:2] @ W) if x.ndim == 1 else x


def _looked_up(x):
    place = np.argmax(x)
    row = np.eye(4, dtype=np.float32)[place]
    return row, W[int(place) % 2], np.array([5, 3, 1])[(x > 0).astype(int)]


def _numbers(x):
    return [int(x[0]), 1, float(x[1]) * 2]


@pytest.mark.parametrize(
    "change",
    [
        _kept_and_changed,
        _through_views,
        _from_parts,
        _by_weights,
        _looked_up,
        _numbers,
        lambda x: np.arange(3),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_whole_functions(change, dtype, rng):
    """Writes into own arrays and views, unpacked items, weights, tables, nests, constants."""
    held(change, rng.normal(0, 5, (6, 4)).astype(dtype))


def test_nested_observations(rng):
    """Dicts and tuples go in and come out."""
    rows = {"a": rng.normal(size=(4, 3)), "b": (np.arange(4), rng.normal(size=(4, 2, 2)))}

    held(lambda obs: np.concatenate([obs["a"][:2], [obs["b"][0]], obs["b"][1].ravel()]), rows)
    held(lambda obs: {"c": obs["b"], "d": {"e": obs["a"] * 2}}, rows)


def test_the_array_it_was_given_stays_as_it_is():
    """An environment's own array is not written into, be it through a view."""

    def into_the_given(x):
        x[0] = 1
        return x

    def into_a_view(x):
        part = x[:2]
        part += 5
        return part

    for change in (into_the_given, into_a_view):
        with pytest.raises(Untraceable, match="writes into the array it was given"):
            traced(change, np.ones((3, 4)))


@pytest.mark.torch
def test_a_formula_takes_the_shape_it_was_traced_with():
    """Other shapes are told, not broadcast."""
    part = traced(lambda x: x[:4], np.ones((3, 4)))

    with pytest.raises(ValueError, match=r"expected shape \(batch, 4\), found shape \(2, 6\)"):
        part.formula(np.ones((2, 6)), *part.constants)
