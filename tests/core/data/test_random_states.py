"""States of random generators: what they can be comes back, all else is told."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from rlconnect.core.data.random_states import (
    checked_bit_generator,
    checked_numpy_state,
    checked_python_state,
    checked_torch_state,
)
from rlconnect.core.errors import CorruptCheckpointError

KINDS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
NAME = "a file"


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _with(state, path, value):
    """A copy of a state in which one field is another."""
    key, *rest = path
    return {**state, key: _with(state[key], rest, value) if rest else value}


def _python():
    version, numbers, gauss = random.Random(3).getstate()
    return {"version": version, "numbers": np.asarray(numbers, np.uint64), "gauss": gauss}


def _numpy():
    kind, keys, position, has_gauss, cached = np.random.RandomState(3).get_state()
    return {
        "kind": kind,
        "keys": keys,
        "position": position,
        "has_gauss": has_gauss,
        "cached": cached,
    }


def _torch(used=0, values=0):
    generator = torch.Generator()
    generator.manual_seed(3)
    torch.rand(used, generator=generator)
    for _ in range(values):
        torch.randn(1, generator=generator)
    return generator.get_state().numpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("draws", [0, 1, 7])
def test_a_state_of_any_generator_comes_back(kind, draws):
    """What numpy gives of a generator is taken as it is, whatever was drawn before."""
    made = getattr(np.random, kind)(5)
    np.random.Generator(made).integers(2**30, size=draws, dtype=np.uint32)

    assert _plain(checked_bit_generator(made.state)) == _plain(made.state)


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("MT19937", ("state", "pos"), 2**31 - 1),
        ("MT19937", ("state", "pos"), 625),
        ("MT19937", ("state", "pos"), -1),
        ("MT19937", ("state", "pos"), "-1"),
        ("MT19937", ("state", "pos"), 1.5),
        ("MT19937", ("state", "key"), np.zeros(3, np.uint32)),
        ("MT19937", ("state", "key"), np.full(624, -1)),
        ("MT19937", ("state", "key"), np.full(624, 2**32)),
        ("MT19937", ("state", "key"), np.zeros(624)),
        ("MT19937", ("state", "key"), ["a"] * 624),
        ("MT19937", ("state",), None),
        ("Philox", ("buffer_pos",), 5),
        ("Philox", ("buffer_pos",), -(2**31)),
        ("Philox", ("buffer",), np.zeros(5, np.uint64)),
        ("Philox", ("state", "key"), np.zeros(3, np.uint64)),
        ("Philox", ("has_uint32",), 2),
        ("PCG64", ("state", "state"), -1),
        ("PCG64", ("state", "state"), 2**128),
        ("PCG64", ("state", "inc"), "9" * 100),
        ("PCG64", ("uinteger",), 2**32),
        ("PCG64", ("bit_generator",), "os.system"),
        ("PCG64", ("bit_generator",), ["PCG64"]),
        ("SFC64", ("state", "state"), np.zeros((2, 2), np.uint64)),
    ],
)
def test_a_generator_that_cannot_be_is_refused_by_its_field(kind, path, value):
    """Each field out of its range is damage, named by its place."""
    state = getattr(np.random, kind)(5).state

    with pytest.raises(CorruptCheckpointError, match="/".join(path)):
        checked_bit_generator(_with(state, path, value))


def test_a_state_is_of_the_generator_it_is_for():
    """The state of one kind does not go to a generator of another."""
    with pytest.raises(CorruptCheckpointError, match="expected MT19937, found PCG64"):
        checked_bit_generator(np.random.PCG64(0).state, "MT19937")


@pytest.mark.parametrize(("used", "values"), [(0, 0), (1, 0), (624, 0), (700, 1), (5, 2)])
def test_the_states_of_a_process_come_back(used, values):
    """Python's, numpy's and torch's states are taken as they are."""
    python, words = _python(), _torch(used, values)

    again = checked_python_state(python, name=NAME)
    numpy = checked_numpy_state(_numpy(), name=NAME)

    assert again == random.Random(3).getstate()
    assert numpy[1].tolist() == np.random.RandomState(3).get_state()[1].tolist()
    assert checked_torch_state(words, len(words), name=NAME).tolist() == words.tolist()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "PCG64"),
        ("keys", np.zeros(623, np.uint32)),
        ("position", 2**31 - 1),
        ("position", -1),
        ("has_gauss", 7),
        ("cached", float("nan")),
        ("cached", "1"),
    ],
)
def test_numpys_own_state_is_checked(field, value):
    """Each field of numpy's own generator is held to its range."""
    with pytest.raises(CorruptCheckpointError, match=f"numpy/{field}"):
        checked_numpy_state({**_numpy(), field: value}, ("numpy",), name=NAME)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2),
        ("numbers", np.zeros(624, np.uint64)),
        ("numbers", np.full(625, 2**40)),
        ("numbers", np.full(625, 625)),
        ("gauss", float("inf")),
        ("gauss", []),
    ],
)
def test_pythons_own_state_is_checked(field, value):
    """Each field of Python's own generator is held to its range."""
    with pytest.raises(CorruptCheckpointError, match=f"python/{field}"):
        checked_python_state({**_python(), field: value}, ("python",), name=NAME)


def test_a_missing_field_is_named():
    """A field that is not there is told by its place."""
    with pytest.raises(CorruptCheckpointError, match="numpy/kind: it is not there"):
        checked_numpy_state({}, ("numpy",), name=NAME)


@pytest.mark.parametrize(
    ("at", "kind", "value"),
    [
        (8, "<i4", 0),
        (8, "<i4", -5),
        (8, "<i4", 625),
        (12, "<i4", 9),
        (16, "<u8", 2**40),
        (16, "<u8", 623),
        (24, "<u8", 2**32),
        (5016, "<f8", float("nan")),
        (5040, "<i4", 3),
        (5052, "u1", 2),
    ],
)
def test_torchs_state_is_checked(at, kind, value):
    """A position from which torch would read beyond its table is refused, as other fields are."""
    data = bytearray(_torch().tobytes())
    data[at : at + np.dtype(kind).itemsize] = np.array(value, kind).tobytes()
    words = np.frombuffer(bytes(data), np.uint8)

    with pytest.raises(CorruptCheckpointError, match="torch"):
        checked_torch_state(words, len(words), ("torch",), name=NAME)


@pytest.mark.parametrize("state", [b"", np.zeros(5, np.uint8), np.full(5056, 300), None])
def test_torchs_state_has_its_size(state):
    """Bytes of another number, or that are none, are refused."""
    with pytest.raises(CorruptCheckpointError, match="torch"):
        checked_torch_state(state, 5056, ("torch",), name=NAME)
