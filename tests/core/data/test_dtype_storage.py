"""Every plain dtype has a lossless stored layout, and no other name gets one."""

import numpy as np
import pytest
from rlconnect.core.data.dtype_storage import (
    STORED_DTYPES,
    dtype_from_name,
    dtype_name,
    from_stored,
    stored_layout,
    to_stored,
)


@pytest.mark.parametrize(
    ("spelling", "name", "stored", "tail"),
    [
        ("?", "bool", "bool", ()),
        ("u2", "uint16", "uint16", ()),
        ("<f8", "float64", "float64", ()),
        (">f4", ">f4", "float32", ()),
        (">i8", ">i8", "int64", ()),
        ("c8", "complex64", "float32", (2,)),
        (">c16", ">c16", "float64", (2,)),
        ("M8[ns]", "<M8[ns]", "int64", ()),
        ("m8[5D]", "<m8[5D]", "int64", ()),
        ("M8", "<M8", "int64", ()),
        ("S3", "|S3", "uint8", (3,)),
        ("U3", "<U3", "uint8", (12,)),
        ("V5", "|V5", "uint8", (5,)),
    ],
)
def test_layouts(spelling, name, stored, tail):
    """A dtype is recorded by a name that gives it back, and stored in one of twelve."""
    dtype = np.dtype(spelling)
    array = np.zeros((2, 1), dtype)

    again = from_stored(to_stored(array), dtype_from_name(name), array.shape)

    assert dtype_name(dtype) == name
    assert stored_layout(dtype, (2, 1)) == (np.dtype(stored), (2, 1, *tail))
    assert to_stored(array).dtype in STORED_DTYPES.values()
    assert again.dtype.str == dtype.str
    assert again.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ["O", "f4,f4", "(2,)f4", "longdouble", "U0"])
def test_dtypes_without_a_layout_have_no_name(dtype):
    """What cannot be kept exactly is refused before anything is written."""
    with pytest.raises(TypeError, match="no lossless plain layout"):
        dtype_name(np.dtype(dtype))


@pytest.mark.parametrize(
    "name",
    [
        *("O", "object", "f4,f4", "(2,)f4", "float128", "<f16", "V", "|V0", "<U0", "", "float32 "),
        *("|V999999999", "M8[parsec]", "<M8[99999999999s]", "i4\n", "datetime64", "{'a': 'f4'}"),
    ],
)
def test_unknown_names_are_refused(name):
    """A name out of a file never reaches numpy's own parser unless it is one of ours."""
    with pytest.raises(ValueError, match="unknown dtype"):
        dtype_from_name(name)
