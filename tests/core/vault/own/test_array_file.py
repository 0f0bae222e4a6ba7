"""Files of the safetensors library are read exactly; only what is asked for is touched."""

import numpy as np
import pytest
from rlconnect.core.data.dtype_storage import STORED_DTYPES
from rlconnect.core.errors import CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault.decode.load_limits import Limits
from rlconnect.core.vault.own.array_file import ArrayFile
from safetensors.numpy import save


def test_reads_what_the_library_writes(rng):
    """Each stored dtype, 0-d and empty arrays, odd names and metadata."""
    arrays = {
        f"{dtype.name}/é {index}": rng.integers(0, 2, shape).astype(dtype)
        for dtype in STORED_DTYPES.values()
        for index, shape in enumerate([(), (0, 3), (5,), (2, 3, 4)])
    }

    file = ArrayFile(save(arrays, metadata={"format": "np"}))

    assert set(file.spans) == set(arrays)
    for name, array in arrays.items():
        again = file.read(name)
        assert (again.dtype, again.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(again, array)
        assert again.flags.writeable


def test_a_cut_file_is_damage():
    """Cut anywhere, the file is refused before any array is read."""
    data = save({"w": np.arange(10.0)})

    for length in range(len(data)):
        with pytest.raises(CorruptCheckpointError, match=r"x\.safetensors"):
            ArrayFile(data[:length], "x.safetensors")


def test_a_long_header_is_a_limit():
    """The header is structure, and bounded like it."""
    data = save({f"weights/{index}": np.zeros(1) for index in range(100)})

    with pytest.raises(LimitExceededError, match=r"header of arrays\.safetensors"):
        ArrayFile(data, limits=Limits(max_json_bytes=1000))
