"""Functions of one item and their formulas over batches, for tests."""

import numpy as np
import torch
from rlconnect.bridge.compiled.numpy_functions import batched
from rlconnect.core import array_namespace as xp
from rlconnect.core import nest
from rlconnect.core.arrays.batching import batch, unbatch


def expect_same(change, rows):
    """Compare a function with its formula, in numpy and torch, for several numbers of rows."""
    formula, constants = batched(change, rows)
    with np.errstate(all="ignore"):
        items = [nest.map_structure(np.asarray, change(item)) for item in unbatch(rows)]
    tensors = [xp.on_device(each, "cpu") for each in constants]
    for count in (1, 2, len(items)):
        wanted = batch(items[:count])
        some = nest.map_structure(lambda leaf, count=count: leaf[:count], rows)
        expect_alike(wanted, formula(some, *constants))
        found = formula(nest.map_structure(torch.from_numpy, some), *tensors)
        expect_alike(wanted, nest.map_structure(xp.to_numpy, found))
    return formula, constants


def expect_alike(wanted, found):
    """Equal form, shape, dtype and values."""
    paths, others = nest.flatten_with_path(wanted), nest.flatten_with_path(found)
    assert [path for path, _ in paths] == [path for path, _ in others]
    for (path, want), (_, got) in zip(paths, others, strict=True):
        assert (want.shape, want.dtype) == (got.shape, got.dtype), path
        assert np.allclose(want, got, 1e-5, 1e-5, equal_nan=True), path
