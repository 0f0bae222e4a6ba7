"""Connectors of plain functions, and what their traces do to batches, for tests."""

import numpy as np
import torch
from rlconnect.bridge.traced.connectors import traced_observation
from rlconnect.core import array_namespace as xp
from rlconnect.core import nest
from rlconnect.core.arrays.batching import batch, unbatch
from rlconnect.legacy import register_lambda_agent_connector


def connector_of(change):
    """An agent connector that changes observations and nothing else."""

    def changed(data):
        data["new_obs"] = change(data["new_obs"])
        return data

    return register_lambda_agent_connector("Changed", changed)(None)


def traced(change, rows):
    """The trace of a function of one observation."""
    return traced_observation(connector_of(change), rows)[0]


def held(change, rows):
    """Hold a function's trace to the function, in numpy and torch, with each number of rows."""
    part = traced(change, rows)
    with np.errstate(all="ignore"):
        items = [nest.map_structure(np.asarray, change(item)) for item in unbatch(rows)]
    for count in {1, len(items)}:
        wanted = batch(items[:count])
        some = nest.map_structure(lambda leaf, count=count: leaf[:count], rows)
        tensors = nest.map_structure(torch.from_numpy, some)
        constants = [xp.on_device(each, "cpu") for each in part.constants]
        with np.errstate(all="ignore"):
            alike(wanted, part.formula(some, *part.constants))
        alike(wanted, nest.map_structure(xp.to_numpy, part.formula(tensors, *constants)))
    return part


def alike(wanted, found):
    """Equal form, shape, dtype and values."""
    paths, others = nest.flatten_with_path(wanted), nest.flatten_with_path(found)
    assert [path for path, _ in paths] == [path for path, _ in others]
    for (_, want), (_, got) in zip(paths, others, strict=True):
        assert (want.shape, want.dtype) == (got.shape, got.dtype)
        if want.dtype.kind == "f":
            close = 1e-2 if want.dtype == np.float16 else 1e-5
            assert np.allclose(want, got, close, close, equal_nan=True)
        else:
            assert np.array_equal(want, got)
