"""Files of `torch.save` are read as numpy arrays, in all three layouts, without torch."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import torch
from rlconnect.core.errors import CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault.decode.constructors import CONSTRUCTORS
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.decode.pickle_machine import PickleMachine
from rlconnect.core.vault.decode.torch_file import decode_torch

from ..attacks.archives import _NUMBERS, _TENSOR
from ..attacks.arrays import zip_file

DTYPES = [
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32),
    *(torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128),
]


def decode(data, limits=None):
    budget = Budget(limits or Limits(), len(data))
    return decode_torch(data, lambda d: PickleMachine(d, budget, constructors=CONSTRUCTORS))


def saved(value, *, is_zip=True):
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=is_zip)
    return file.getvalue()


def as_numpy(tensor):
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).detach().numpy()


LAYOUTS = {
    "zip": saved,
    "stream": lambda value: saved(value, is_zip=False),
    "pickle": lambda value: pickle.dumps(value),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_in_every_layout(dtype, layout):
    """Values, shape and dtype are torch's own; bfloat16 comes as float32."""
    tensor = torch.arange(6).reshape(2, 3).to(dtype)

    got = decode(LAYOUTS[layout]({"w": tensor}))["w"]

    np.testing.assert_array_equal(got, as_numpy(tensor))
    assert got.dtype == as_numpy(tensor).dtype


@pytest.mark.parametrize("layout", LAYOUTS)
def test_views_are_read_through_their_strides(layout):
    """Transposed, sliced, empty, single and shared tensors."""
    base = torch.arange(24.0).reshape(4, 6)
    held = {
        "whole": base,
        "transposed": base.T,
        "sliced": base[1:3, ::2],
        "row": base[2],
        "number": base[3, 5],
        "empty": torch.zeros(0, 5),
        "parameter": torch.nn.Parameter(base + 1),
    }

    got = decode(LAYOUTS[layout](held))

    assert list(got) == list(held)
    for name, tensor in held.items():
        np.testing.assert_array_equal(got[name], as_numpy(tensor), err_msg=name)
        assert got[name].shape == tuple(tensor.shape)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_state_of_an_optimizer(layout):
    """Nested plain data around tensors survives."""
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()

    got = decode(LAYOUTS[layout](optimizer.state_dict()))

    want = optimizer.state_dict()
    assert got["param_groups"][0]["params"] == want["param_groups"][0]["params"]
    for index, state in want["state"].items():
        for name, tensor in state.items():
            np.testing.assert_array_equal(got["state"][index][name], as_numpy(tensor))


def test_expanded_tensors_stay_stand_ins():
    """A stride of 0 is how a few bytes become gigabytes; the rest of the file is read."""
    data = pickle.dumps({"w": torch.zeros(1).expand(10**9), "b": torch.ones(2)})

    got = decode(data)

    assert repr(got["w"]) == "<torch._utils._rebuild_tensor_v2 object>"
    np.testing.assert_array_equal(got["b"], [1, 1])


def test_compressed_archives_are_read():
    """Somebody zipped it again: slower, and within the budget."""
    members = {"a/data.pkl": _TENSOR, "a/data/0": _NUMBERS}

    np.testing.assert_array_equal(decode(zip_file(members, zipfile.ZIP_DEFLATED)), [1, 2])


def test_members_are_paid_for_by_their_unpacked_size():
    """A small archive may not unfold beyond the budget."""
    data = zip_file({"a/data.pkl": b"N" * 10**6 + b"."}, zipfile.ZIP_DEFLATED)

    with pytest.raises(LimitExceededError, match=r"data\.pkl"):
        decode(data, Limits(base_memory=10**5))


def test_cut_anywhere_is_corrupt():
    """No part of an archive or a stream passes for the whole."""
    for data in (saved({"w": torch.ones(2)}), saved({"w": torch.ones(2)}, is_zip=False)):
        for end in range(0, len(data), 5):
            with pytest.raises(CorruptCheckpointError):
                decode(data[:end])
